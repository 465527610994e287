#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of tests/gpu/noise.py become a file that `muster sim --noise` plays, and tests/tools/detection.py.

usage: thin_noise.py [SECONDS] KIND=FILE[,FILE...]... > NAME.txt

Each KIND=FILE is a series, KIND one of copies, memory, product, allreduce, exchange, step. Of several files, one for each
GPU, that record the same operations, the slowest GPU counts. SECONDS: so much of each series is kept, all by default.
A row is the time in ms and a factor: so many times as long as the median of its size or direction does an operation take
from then on. Operations in a row whose factors differ by less than a tolerance are one row, with their mean.
"""
import csv
import gzip
import os
import statistics
import sys

TOLERANCE = {"copies": 0.05, "memory": 0.02, "product": 0.1, "allreduce": 0.1, "exchange": 0.1, "step": 0.05}
WARM_UP = 60  # operations at the start that do not count
SETTLED_MS = {"product": 1000}  # after the first one: until then the clock is higher, on all GPUs of a run at once


def factors(path):
    """(ms, factor) of each operation."""
    with gzip.open(path, "rt") as file:
        head, *rows = csv.reader(file)
    rows = rows[WARM_UP:]
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[1:-1]), []).append(float(row[-1]))
    medians = {group: statistics.median(values) for group, values in groups.items()}
    for row in rows:
        factor = float(row[-1]) / medians[tuple(row[1:-1])]
        yield float(row[0]), 1 / factor if head[-1] == "gbps" else factor


def slowest(paths):
    rows = [(gpus[0][0], max(factor for _, factor in gpus)) for gpus in zip(*map(factors, paths))]
    usual = statistics.median(factor for _, factor in rows)
    return [(ms - rows[0][0], factor / usual) for ms, factor in rows]


def thinned(rows, tolerance):
    since, total, count = rows[0][0], 0, 0  # of operations that are alike
    for ms, factor in rows:
        if count and abs(factor - total / count) > tolerance * total / count:
            yield since, total / count
            since, total, count = ms, 0, 0
        total, count = total + factor, count + 1
    yield since, total / count
    yield rows[-1][0] + 0.1, 1  # the end


def main():
    words = sys.argv[1:]
    most = float(words.pop(0)) * 1e3 if words and "=" not in words[0] else float("inf")
    for word in words:
        kind, _, paths = word.partition("=")
        paths = paths.split(",")
        print(f"# {', '.join(map(os.path.basename, paths))}\n{kind}")
        rows = [row for row in slowest(paths) if SETTLED_MS.get(kind, 0) <= row[0] <= most]
        rows = [(ms - rows[0][0], factor) for ms, factor in rows]
        lines = {}  # of rows at one printed time the last one holds
        for ms, factor in thinned(rows, TOLERANCE[kind]):
            lines[f"{ms:.1f}".removesuffix(".0")] = f"{factor:.3g}"
        print("\n".join(map(" ".join, lines.items())))


if __name__ == "__main__":
    main()
