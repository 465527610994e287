#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Traffic between two real GPUs beside nccl-tests: exchange, all-to-all, all-gather, reduce-scatter.

usage: traffic.py NCCL_TESTS FOLDER [TURNS]
    NCCL_TESTS: the folder with sendrecv_perf, alltoall_perf, all_gather_perf and reduce_scatter_perf
    FOLDER: where the reports go; muster and mpirun are found by PATH
    TURNS: runs of each, in turns (default 5)

The medians' ratio is printed for each, and has to be within 0.95 and 1.05. No value may be wrong in any run.
"""
import os
import statistics
import subprocess
import sys

from samples import load

MIB = 1 << 20
LEAST, MOST = 0.95, 1.05
# muster's metric, the program, and the size of both
PAIRS = (
    ("pair.exchange_gbps", "sendrecv_perf", 64 * MIB),
    ("nccl.alltoall_busbw_gbps", "alltoall_perf", 128 * MIB),
    ("nccl.allgather_busbw_gbps", "all_gather_perf", 128 * MIB),
    ("nccl.reducescatter_busbw_gbps", "reduce_scatter_perf", 128 * MIB),
)
WRONG = ("pair.exchange_wrong", "rank.alltoall_wrong", "rank.allgather_wrong", "rank.reducescatter_wrong")


def read_nccl_tests(text, size):
    """GB/s (busbw, out of place) of the line about a size: size, count, type, op, root, time, algbw, busbw, wrong, ..."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 9 and words[0] == str(size) and words[1].isdigit():
            if words[8] not in ("0", "N/A"):
                raise ValueError(f"wrong values: {line}")
            return float(words[7])
    raise ValueError(f"no line about {size} bytes")


def read_report(report):
    """{metric: [GB/s]} of a report; what is missing, null, wrong or of another size is a ValueError."""
    found = {}
    sizes = {(rank, str(labels)): value for rank, metric, labels, value in all_samples(report)
             if metric == "pair.exchange_bytes"}
    for rank, metric, labels, value in all_samples(report):
        if metric in WRONG and value != 0:
            raise ValueError(f"{metric} is {value}")
        for name, _, size in PAIRS:
            of = sizes.get((rank, str(labels))) if name == "pair.exchange_gbps" else labels.get("bytes")
            if metric == name and value is not None and of == size:
                found.setdefault(name, []).append(value)
    for name, _, size in PAIRS:
        if name not in found:
            raise ValueError(f"no {name} of {size} bytes")
    return found


def all_samples(report):
    """Number of the rank (None for the job), metric, labels and value of each sample."""
    for each in report["run"]["job"]["samples"]:
        yield None, each["metric"], each.get("labels", {}), each["value"]
    for node in report["run"]["nodes"]:
        for rank in node["ranks"]:
            for each in rank["samples"]:
                yield rank["rank"], each["metric"], each.get("labels", {}), each["value"]


def run_muster(path):
    subprocess.run(["mpirun", "--bind-to", "none", "-np", "2", "muster", "run", "--sku", "generic-nvidia", "--profile",
                    "standard", "--report", path], stdout=subprocess.PIPE, check=False, timeout=120)
    return read_report(load(path))


def run_nccl_tests(folder, program, size):
    done = subprocess.run([os.path.join(folder, program), "-g", "2", "-b", str(size), "-e", str(size)],
                          stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    return read_nccl_tests(done.stdout, size)


def compare(ours, theirs):
    """The lines to print, and whether all ratios are within the bounds."""
    lines, good = [], True
    for name, program, size in PAIRS:
        mine, other = statistics.median(ours[name]), statistics.median(theirs[name])
        within = LEAST <= mine / other <= MOST
        good = good and within
        lines.append(f"{'ok   ' if within else 'FAIL '} {name}, {size // MIB} MiB: {mine:.1f} GB/s, "
                     f"{program}: {other:.1f} GB/s, ratio {mine / other:.3f}; muster {min(ours[name]):.1f} to {max(ours[name]):.1f}, "
                     f"{program} {min(theirs[name]):.1f} to {max(theirs[name]):.1f}")
    return lines, good


def main():
    folder, out, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ours = {name: [] for name, _, _ in PAIRS}
    theirs = {name: [] for name, _, _ in PAIRS}
    for turn in range(turns):
        for name, values in run_muster(os.path.join(out, f"traffic-{turn}.json")).items():
            ours[name] += values
        for name, program, size in PAIRS:
            theirs[name].append(run_nccl_tests(folder, program, size))
    lines, good = compare(ours, theirs)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
