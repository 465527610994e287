#!/usr/bin/python3
"""How often does a healthy machine fail, and how small a loss is seen? By reports whose speeds are drawn from recorded noise.

usage: detection.py MUSTER REPORT... [--healthy N] [--loss 3,5,10,20,30,50 [--runs N]] [--noise NAME|FILE] [--window best|single]
                    [--once] [--seed TEXT]

REPORT is a healthy one of `muster run` or `muster sim`, whose speeds count as what the parts can do. For each run the windows of
each speed are drawn from the noise, all GPUs of a node from one moment on, and `muster check` judges the report. Window best: quick has
windows at 0, 60 and 350 ms, standard and full three each at 0, 300 and 700 ms; the best one counts, and what is then found is measured
again 1.5 s later (not with --once). Window single: five copies in a row, the mean of 20 collectives, and so on. Not drawn: percentiles, the memory
of the host, disks.
--loss: so many percent are lost in one GPU's copies, memory or products, in one edge, or in the whole ring, of RUNS runs each: how many warn or
fail, fail, and have a finding that names the part. Intervals are those of Wilson, 95 %. Exit status 0, whatever is found.
"""
import argparse
import bisect
import collections
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "sim", "noise")
# The series of the noise, ms of an operation, operations of a window; of a single window, and whether their mean counts.
KINDS = {
    r"gpu\.(h2d|d2h)(_together|_loaded)?_gbps|gpu\.bidirectional_gbps": ("copies", 1.27, 3, 5, False),
    r"gpu\.memory_(write|read)_gbps": ("memory", 0.5, 3, 3, False),
    r"gpu\.gemm_\w+_tflops|rank\.(step_)?compute_ms": ("product", 0.5, 3, 5, False),
    r"nccl\.allreduce_(us|algbw_gbps|busbw_gbps)|rank\.allreduce_us": ("allreduce", 0.067, 7, 20, True),
    r"nccl\.(alltoall|allgather|reducescatter)_busbw_gbps|pair\.exchange_(gbps|us)": ("exchange", 0.26, 5, 20, True),
    r"rank\.step_p50_ms": ("step", 0.9, 3, 10, False),
}
LOSSES = {
    "copies": r"gpu\.(h2d|d2h|bidirectional)\w*_gbps",
    "memory": r"gpu\.memory_(write|read)_gbps",
    "products": r"gpu\.gemm_\w+_tflops|rank\.(step_)?compute_ms",
    "edge": r"pair\.exchange_(gbps|us)",
    "ring": r"nccl\.(allreduce|alltoall|allgather|reducescatter)_(us|algbw_gbps|busbw_gbps)|rank\.allreduce_us",
}
DERIVED = re.compile(r".*\.slow_windows|job\.step_spread")  # `muster check` derives them from the others
BAD = ("warn", "fail")
LATER_MS = 1500


class Series:
    """What `muster sim` plays (src/sim/noise.c): an operation gets on at the rate 1 / factor."""

    def __init__(self, rows):
        self.times = [ms for ms, _ in rows]
        self.factors = [factor for _, factor in rows]
        self.work = [0.0]  # done until each time
        for i in range(len(rows) - 1):
            self.work.append(self.work[-1] + (self.times[i + 1] - self.times[i]) / self.factors[i])

    def end(self, begin, ms):
        """When an operation of so many ms ends that begins then."""
        rounds, at = divmod(begin, self.times[-1])
        i = bisect.bisect_right(self.times, at) - 1
        more, work = divmod(self.work[i] + (at - self.times[i]) / self.factors[i] + ms, self.work[-1])
        i = min(bisect.bisect_right(self.work, work), len(self.work) - 1) - 1
        return (rounds + more) * self.times[-1] + self.times[i] + (work - self.work[i]) * self.factors[i]

    def window(self, begin, ms, count, mean=False):
        """The factor of a window, and its end."""
        ends = [begin]
        for _ in range(count):
            ends.append(self.end(ends[-1], ms))
        factors = [(after - before) / ms for before, after in zip(ends, ends[1:])]
        return (statistics.fmean if mean else statistics.median)(factors), ends[-1]


def read_noise(name):
    series = collections.defaultdict(list)
    with open(name if "/" in name else os.path.join(FOLDER, name + ".txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 1 and words[0] != "#":
                rows = []
                series[words[0]].append(rows)
            elif len(words) == 2 and words[0] != "#":
                rows.append(tuple(map(float, words)))
    return {kind: [Series(rows) for rows in several] for kind, several in series.items()}


def factors_of(options, kind, series, begin, quick):
    """Of each window of a metric."""
    _, ms, count, single, mean = kind
    if options.window == "single":
        return [series.window(begin, ms, single, mean)[0]]
    found = []
    for moment in (0, 60, 350) if quick else (0, 300, 700):
        at = begin + moment
        for _ in range(1 if quick else 3):
            factor, at = series.window(at, ms, count)
            found.append(factor)
    return found


class Healthy:
    """A report, and its speeds: (sample, kind, node's number, GPU's number on it, rank's GPU; None where the job has it)."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.report = json.load(file)
        run = self.report["run"]
        self.report.update(findings=[], checks=[])
        self.quick = run["job"]["profile"] == "quick"
        self.nodes = len(run["nodes"])
        places = [(run["job"]["samples"], None, None)]
        for n, node in enumerate(run["nodes"]):
            places += [(rank["samples"], n, g) for g, rank in enumerate(node["ranks"])]
        self.name = f"{self.nodes} × {len(run['nodes'][0]['ranks'])} GPUs, {run['job']['profile']}".replace("1 GPUs", "1 GPU")
        self.speeds, self.gpus = [], {}
        for samples, n, g in places:
            samples[:] = [one for one in samples if not DERIVED.fullmatch(one["metric"])]
            self.gpus.update({(n, g): one["labels"]["gpu"] for one in samples if one["metric"] == "gpu.uuid"})
            for one in samples:
                kind = next((kind for metric, kind in KINDS.items() if re.fullmatch(metric, one["metric"])), None)
                if kind and isinstance(one["value"], (int, float)):
                    self.speeds.append((one, kind, n, g, one["value"]))

    def lose(self, rng, part):
        """The speeds that have the loss, and texts of which the finding that names the part has one."""
        (n, g), gpu = rng.choice(sorted(self.gpus.items()))
        found = [speed for speed in self.speeds if re.fullmatch(LOSSES[part], speed[0]["metric"])]
        if part == "ring":
            return found, ['"check": "ring.', '"metric": "nccl.']
        if part != "edge":
            return [speed for speed in found if speed[2:4] == (n, g)], [f'"gpu": "{gpu}"']
        found = [speed for speed in found if speed[0]["labels"]["kind"] == "edge" and speed[2] == n]
        peer = next((one["labels"]["peer_gpu"] for one, _, _, mine, _ in found if mine == g), None)
        ends = {(gpu, peer), (peer, gpu)}
        return [s for s in found if (self.gpus[s[2:4]], s[0]["labels"]["peer_gpu"]) in ends], [gpu, str(peer)]


def draw(options, noise, healthy, begins, lost, again):
    """Set all speeds of the report; again: those series have windows more, after the others."""
    places = {}  # of a metric in the run: the same for all ranks
    for speed in healthy.speeds:
        one, kind, n, g, value = speed
        place = 10 * places.setdefault((one["metric"].split("_")[0], one.get("labels", {}).get("bytes")), len(places))
        several = noise.get(kind[0], [])
        factors = [1.0] * 9
        for delay in (0, LATER_MS) if kind[0] in again else (0,):
            hosts = [factors_of(options, kind, several[(g or 0) % len(several)], begins[i] + place + delay, healthy.quick)
                     for i in (range(healthy.nodes) if n is None else [n])] if several else [factors]
            factors = [max(of_hosts) for of_hosts in zip(*hosts)] + (factors if delay else [])
        less = one["metric"].endswith(("_us", "_ms"))
        value *= 1 if id(one) not in lost else 1 / (1 - lost[id(one)]) if less else 1 - lost[id(one)]
        values = [value * factor if less else value / factor for factor in factors]
        one["value"] = min(values) if less else max(values)
        if len(values) > 1:
            one["values"] = values
        else:
            one.pop("values", None)


def judge(options, healthy, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(healthy.report, file)
    done = subprocess.run([options.muster, "check", path, "--report", path + ".judged"], stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"muster check: exit code {done.returncode}")
    with open(path + ".judged", encoding="utf-8") as file:
        return [finding for finding in json.load(file)["findings"] if finding["status"] in BAD]


def one_run(task):
    """The findings of a run, and whether one of them names the part."""
    options, path, part, percent, number = task
    if path not in one_run.healthy:
        one_run.healthy[path] = Healthy(path)
    healthy = one_run.healthy[path]
    one_run.noise = one_run.noise or read_noise(options.noise)
    rng = random.Random(f"{options.seed} {os.path.basename(path)} {part} {percent} {number}")
    begins = [rng.uniform(0, 1e6) for _ in range(healthy.nodes)]
    speeds, texts = healthy.lose(rng, part) if part else ([], [])
    lost = {id(speed[0]): percent / 100 for speed in speeds}
    with tempfile.TemporaryDirectory() as scratch:
        where = os.path.join(scratch, "report.json")
        draw(options, one_run.noise, healthy, begins, lost, ())
        findings = judge(options, healthy, where)
        if findings and options.window == "best" and not options.once:
            metrics = {finding.get("metric", "").split(" ")[0] for finding in findings}
            again = {kind[0] for one, kind, *_ in healthy.speeds if one["metric"] in metrics}
            draw(options, one_run.noise, healthy, begins, lost, again)
            findings = judge(options, healthy, where)
    return ({(finding["check"], finding["status"]) for finding in findings},
            any(text in json.dumps(finding) for finding in findings for text in texts))


one_run.healthy, one_run.noise = {}, None


def share(count, total):
    """With the limits of Wilson."""
    z, p = 1.96, count / total
    middle, half = p + z * z / 2 / total, z * math.sqrt(p * (1 - p) / total + z * z / 4 / total / total)
    low, high = (100 * (middle + sign * half) / (1 + z * z / total) for sign in (-1, 1))
    return f"{count} of {total} ({abs(low):.1f} to {high:.1f} %)"


def statuses(runs):
    """How many failed, and how many only warned."""
    failed = sum(any(status == "fail" for _, status in found) for found, _ in runs)
    return failed, sum(bool(found) for found, _ in runs) - failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("muster")
    parser.add_argument("reports", nargs="+")
    parser.add_argument("--healthy", type=int, default=0)
    parser.add_argument("--loss", type=lambda text: [float(word) for word in text.split(",")], default=[])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--noise", default="noisy-a")
    parser.add_argument("--window", choices=("best", "single"), default="best")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seed", default="muster")
    options = parser.parse_args()
    options.muster = os.path.realpath(options.muster)
    reports = [os.path.realpath(path) for path in options.reports]
    with multiprocessing.Pool() as pool:
        def runs_of(path, part, percent, count):
            return pool.map(one_run, [(options, path, part, percent, number) for number in range(count)], 4)

        if options.healthy:
            print("| healthy | failed | only warned | by check |\n|---|---|---|---|")
        for path in reports if options.healthy else []:
            runs = runs_of(path, None, 0, options.healthy)
            failed, warned = statuses(runs)
            checks = collections.Counter(f"{check} {status}" for found, _ in runs for check, status in found)
            said = ", ".join(f"{check} {count}" for check, count in checks.most_common())
            print(f"| {Healthy(path).name} | {share(failed, len(runs))} | {share(warned, len(runs))} | {said or 'none'} |", flush=True)
        if options.loss:
            print("\n| loss | of | in | warned or failed | failed | named |\n|---|---|---|---|---|---|")
        for path, part, percent in ((r, p, loss) for r in reports if options.loss for p in LOSSES for loss in options.loss):
            runs = runs_of(path, part, percent, options.runs) if Healthy(path).lose(random, part)[0] else []
            if not runs:
                continue
            failed, warned = statuses(runs)
            print(f"| {percent:g} % | {part} | {Healthy(path).name} | {share(failed + warned, len(runs))} | {share(failed, len(runs))} | "
                  f"{share(sum(named for _, named in runs), len(runs))} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
