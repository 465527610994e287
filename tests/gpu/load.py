#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of gpu_load beside those of load_reference.cu, and whether all GPUs and runs have the same bits.

usage: load.py FOLDER     (with load-*.json and reference.jsonl, as run.sh leaves them)
"""

import glob
import json
import os
import statistics
import sys

from samples import holders, load

# A figure, the reference's name for it, and the least and the most that it may be of it. Muster's kernels may be faster
# than plain ones.
FIGURES = (
    ("gpu.memory_write_gbps", "write_gbps", 0.97, 1.10),
    ("gpu.memory_read_gbps", "read_gbps", 0.97, 1.60),
    ("gpu.gemm_bf16_tflops", "bf16_tflops", 0.95, 1.10),
    ("gpu.memory_tested_mib", "mib", 0.99, 1.01),
)


def main():
    folder, bad = sys.argv[1], 0
    with open(os.path.join(folder, "reference.jsonl"), encoding="utf-8") as file:
        references = [line for line in map(json.loads, file) if line.get("what") == "load"]
    reports = map(load, sorted(glob.glob(os.path.join(folder, "load-*.json"))))
    found = [s for report in reports for holder in holders(report) for s in holder.get("samples", [])]
    if not references or not found:
        print("FAIL  no figures")
        sys.exit(1)
    for metric, name, least, most in FIGURES:
        ours = statistics.median(s["value"] for s in found if s["metric"] == metric)
        theirs = statistics.median(r[name] for r in references)
        good = least <= ours / theirs <= most
        bad += not good
        print(f"{'ok  ' if good else 'FAIL'}  {metric} {ours:.1f}, reference {theirs:.1f}: {ours / theirs:.3f}")
    for metric in ("gpu.memory_wrong", "gpu.gemm_wrong"):
        wrong = [s for s in found if s["metric"] == metric and s["value"] != 0]
        bad += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '}  {metric}: {len(wrong)} not 0")
    sums = {(s["labels"]["made_by"], s["value"]) for s in found if s["metric"] == "gpu.gemm_checksum"}
    makers = {maker for maker, _ in sums}
    bad += len(sums) != len(makers) or not sums
    print(f"{'ok  ' if len(sums) == len(makers) and sums else 'FAIL'}  {len(sums)} checksum for {len(makers)} maker")
    sys.exit(1 if bad else 0)


main()
