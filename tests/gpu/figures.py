# SPDX-License-Identifier: Apache-2.0
"""Muster's figures beside those of other programs on the same host: usage: figures.py FOLDER (as run.sh leaves it).

Exit status 1 when a comparison that must hold does not.
"""
import json
import pathlib
import statistics
import sys

from samples import load, samples, values

BUSBW_WITHIN = 0.05  # at JUDGED bytes, against NCCL in one process
COPY_WITHIN = 0.10   # against PyTorch's pinned copies
JUDGED = 256 << 20
WALL_SECONDS = 4.0  # besides what mpirun takes for nothing


def read_lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def references(folder):
    return [json.loads(line) for line in read_lines(folder / "reference.jsonl") if line.startswith("{")]


def best(lines, **wanted):
    """The best figure of the reference lines with these members, or None."""
    fitting = (line for line in lines if all(line.get(key) == value for key, value in wanted.items()))
    return max((line["gbps"] for line in fitting), default=None)


class Judge:
    def __init__(self):
        self.failed = 0

    def __call__(self, holds, text):
        self.failed += 0 if holds else 1
        print(f"{'ok  ' if holds else 'FAIL'}  {text}")


def show_copies(report, lines, judge):
    uuids = values(report, "gpu.uuid", "gpu")
    for what in ("h2d", "d2h"):
        alone, together = (values(report, f"gpu.{what}{how}_gbps", "gpu") for how in ("", "_together"))
        for gpu, gbps in alone.items():
            text = f"{what} {gpu}: {gbps:.1f} GB/s alone"
            if isinstance(together.get(gpu), (int, float)):
                text += f", {together[gpu]:.1f} with all"
            other = best(lines, by="torch", what=what, gpu=uuids[gpu].removeprefix("GPU-"))
            if other:
                text += f"; PyTorch {other:.1f}, ratio {gbps / other:.3f}"
            judge(not other or gbps >= other * (1 - COPY_WITHIN), text)
    intact = values(report, "gpu.copy_intact")
    judge(intact and all(intact), f"{sum(map(bool, intact))} of {len(intact)} GPUs brought back what was sent")
    for sample in samples(report, "gpu.copy_numa_node"):
        place = f"NUMA node {sample['value']} {sample.get('reason', '')}"
        print(f"      pinned memory of {sample['labels']['gpu']}: {place}")


def show_ring(report, lines, judge):
    for sample in samples(report, "nccl.allreduce_busbw_gbps"):
        bytes_, gbps = int(sample["labels"]["bytes"]), sample["value"]
        if gbps is None:
            print(f"      {bytes_ >> 20:5} MiB: none: {sample['reason']}")
            continue
        text, holds = f"{bytes_ >> 20:5} MiB: busbw {gbps:.1f} GB/s", True
        for name in ("nccl", "torch"):
            other = best(lines, by=name, what="busbw", bytes=bytes_)
            if other:
                text += f"; {name} {other:.1f}, ratio {gbps / other:.3f}"
            if other and name == "nccl" and bytes_ == JUDGED:
                holds = abs(gbps / other - 1) <= BUSBW_WITHIN
        judge(holds, text)
    wrong = values(report, "rank.allreduce_wrong")
    judge(wrong and not any(wrong), f"wrong values in {len(wrong)} checked sums: {sum(map(int, wrong))}")
    for metric in ("rank.nccl_transport", "rank.nccl_hcas", "rank.nccl_init_ms"):
        print(f"      {metric}: {values(report, metric)}")


def show_times(folder, judge):
    times = {}
    for line in read_lines(folder / "times.txt"):
        name, seconds = line.split()
        times.setdefault(name, []).append(float(seconds))
    for name, seconds in times.items():
        text = f"{name}: {', '.join(f'{each:.2f}' for each in seconds)} s, median {statistics.median(seconds):.2f} s"
        many = name.startswith("muster-") and name != "muster-1"
        judge(not many or min(seconds) - min(times.get("mpirun", [0])) <= WALL_SECONDS, text)


def main(folder):
    folder, judge = pathlib.Path(folder), Judge()
    lines = references(folder)
    for path in sorted(folder.glob("report-*.json")):
        report = load(path)
        print(f"{path.name}:")
        judge(report["verdict"] == "pass", f"verdict {report['verdict']}")
        judge(not report["simulated"], "measured on real hardware" if not report["simulated"] else "SIMULATED")
        judge(bool(values(report, "node.ib_ports")), f"InfiniBand ports: {values(report, 'node.ib_ports')}")
        show_copies(report, lines, judge)
        show_ring(report, lines, judge)
        for rank in (rank for node in report["run"]["nodes"] for rank in node["ranks"]):
            took = ", ".join(f"{probe['probe']} {probe['elapsed_ms']:.0f}" for probe in rank["probes"])
            print(f"      rank {rank['rank']} probes, ms: {took}")
    show_times(folder, judge)
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
