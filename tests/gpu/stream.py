#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpu.stream_gbps on a real GPU beside a bare loop (stream_reference.cu), in turns: at most 5 % below it, and no wrong word.

usage: stream.py FOLDER [TURNS [MIB]]
    FOLDER: on the disk, writable and with direct I/O; TURNS: of muster and of the loop (default 5); MIB: of the file (default 1024)

muster is found by PATH, nvcc compiles the loop. The first GPU of CUDA_VISIBLE_DEVICES is used, or GPU 0. A virtual disk may have
other rates from one second to the next: both programs' rates of all turns are printed, and their medians are compared.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from samples import load, samples

HERE = os.path.dirname(os.path.abspath(__file__))
BELOW, ABOVE = 0.05, {"host": 0.05, "disk": 0.30} # muster keeps more reads of a disk under way
KINDS = [(source, loaded) for source in ("host", "disk") for loaded in ("alone", "products")]


def streams(report):
    """{(source, load): GB/s or None} of the report's only GPU, and the reasons of those that are null."""
    found = {(s["labels"]["source"], s["labels"]["load"]): s for s in samples(report, "gpu.stream_gbps")}
    reasons = {s["reason"] for s in found.values() if s["value"] is None}
    return {kind: found[kind]["value"] if kind in found else None for kind in KINDS}, reasons


def wrong_words(report):
    """What is not 0 of gpu.stream_wrong and gpu.cufile_wrong."""
    return [s for metric in ("gpu.stream_wrong", "gpu.cufile_wrong") for s in samples(report, metric) if s["value"]]


def compare(ours, theirs):
    """(kind, median of ours, median of theirs, whether they agree) of each kind; ours, theirs: {kind: [GB/s]}."""
    rows = []
    for kind in KINDS:
        mine = [value for value in ours[kind] if value is not None]
        other = theirs[kind]
        if not mine or not other:
            rows.append((kind, None, None, False))
            continue
        a, b = statistics.median(mine), statistics.median(other)
        rows.append((kind, a, b, -BELOW <= a / b - 1 <= ABOVE[kind[0]]))
    return rows


def run_muster(folder, mib, path):
    subprocess.run(["muster", "node", "--sku", "generic-nvidia", "--profile", "quick", "--storage", folder,
                    "--storage-bytes", f"{mib}M", "--report", path], stdout=subprocess.DEVNULL, timeout=300)
    return load(path)


def run_loop(program, folder, mib):
    done = subprocess.run([program, folder, str(mib)], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def main():
    folder = os.path.abspath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    mib = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    ours, theirs, bad, last = {kind: [] for kind in KINDS}, {kind: [] for kind in KINDS}, 0, None
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "loop")
        subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=native", "-o", program, os.path.join(HERE, "stream_reference.cu"),
                        "-lcublas"], check=True)
        for _ in range(turns):
            loop = run_loop(program, folder, mib)
            last = run_muster(folder, mib, os.path.join(scratch, "report.json"))
            found, reasons = streams(last)
            for reason in sorted(reasons):
                print(f"null  {reason}")
            for kind in KINDS:
                ours[kind].append(found[kind])
                theirs[kind].append(loop["_".join(kind)])
            wrong = wrong_words(last)
            bad += bool(wrong)
            for sample in wrong:
                print(f"FAIL  {sample}")
    for kind, mine, other, good in compare(ours, theirs):
        bad += not good
        if mine is None:
            print(f"FAIL  {', '.join(kind)}: not measured")
        else:
            print(f"{'ok  ' if good else 'FAIL'}  {', '.join(kind)}: muster {mine:.2f} GB/s, loop {other:.2f}: {mine / other:.3f}")
        print(f"      muster {ours[kind]}, loop {theirs[kind]}")
    for metric in ("gpu.h2d_gbps", "gpu.cufile_gbps", "gpu.cufile_path", "gpu.stream_tested_mib"):
        for sample in samples(last, metric):
            print(f"      {metric}: {sample['value'] if sample['value'] is not None else sample.get('reason')}")
    left = os.listdir(folder)
    print(f"      left in {folder}: {left}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
