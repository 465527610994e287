# SPDX-License-Identifier: Apache-2.0
"""What noise.sh has left in a folder: how noisy each series is, and how many healthy runs say what.

usage: findings.py FOLDER     exit status 1 when a run of the new muster failed
"""
import collections
import pathlib
import sys

from samples import load

sys.path.append(str(pathlib.Path(__file__).parent.parent / "tools"))
from detection import share  # noqa: E402  pylint: disable=wrong-import-position
from thin_noise import factors  # noqa: E402  pylint: disable=wrong-import-position


def show_series(folder):
    print("\n| series | operations | below 80 % of the median | below 60 % | longest |\n|---|---|---|---|---|")
    for path in sorted(folder.glob("*.csv.gz")):
        found = [factor for _, factor in factors(path)]
        below = [sum(factor > 1 / limit for factor in found) / len(found) for limit in (0.8, 0.6)] if found else [0, 0]
        print(f"| {path.name.removesuffix('.csv.gz')} | {len(found)} | {below[0]:.2%} | {below[1]:.2%} | {max(found, default=0):.1f} medians |")


def show_runs(folder):
    """How many runs of the new muster failed."""
    groups = collections.defaultdict(list)
    for path in sorted(folder.glob("*-*gpu-*-*.json")):
        findings = load(path)["findings"]
        groups[path.stem.rpartition("-")[0]].append({(one["check"], one["status"]) for one in findings if one["status"] in ("warn", "fail")})
    print("\n| muster, GPUs, profile | failed | only warned | by check |\n|---|---|---|---|")
    new = 0
    for name, runs in groups.items():
        failed = sum(any(status == "fail" for _, status in run) for run in runs)
        new += failed * name.startswith("new")
        counts = collections.Counter(f"{check} {status}" for run in runs for check, status in run)
        said = ", ".join(f"{check} {count}" for check, count in counts.most_common())
        print(f"| {name} | {share(failed, len(runs))} | {share(sum(map(bool, runs)) - failed, len(runs))} | {said or 'none'} |")
    return new


if __name__ == "__main__":
    show_series(pathlib.Path(sys.argv[1]))
    sys.exit(1 if show_runs(pathlib.Path(sys.argv[1])) else 0)
