#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rates of the probe scratch beside those of fio, on one folder.

usage: fio.py MUSTER [FOLDER] [ROUNDS] [GIB]     default: /var/tmp, 5 rounds, 4 GiB

In each round muster node --storage measures, then fio with the same requests: one file of the same size, written and read twice,
the better of both counts, as for muster; 1 MiB, direct, 4 jobs with 16 requests in flight each, each on its part of the
file, through io_uring. The order changes from round to round. Prints each round, and the ratio of the medians.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

MUSTER = os.path.abspath(sys.argv[1])
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "/var/tmp"
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
GIB = int(sys.argv[4]) if len(sys.argv) > 4 else 4
JOBS = 8 if len(os.sched_getaffinity(0)) >= 16 else 4


def run_muster():
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        subprocess.run([MUSTER, "node", "--sku", "generic-nvidia", "--profile", "quick", "--storage", FOLDER, "--storage-bytes",
                        f"{GIB}G", "--report", report], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(report, encoding="utf-8") as file:
            samples = json.load(file)["run"]["nodes"][0]["samples"]
    values = {sample["metric"]: sample for sample in samples if sample["metric"].startswith("node.scratch_")}
    for name in ("node.scratch_write_gbps", "node.scratch_read_gbps"):
        if name not in values or values[name]["value"] is None:
            sys.exit(f"{name}: {values.get(name)}")
    return (values["node.scratch_write_gbps"]["value"], values["node.scratch_read_gbps"]["value"],
            values["node.scratch_io"]["value"])


def fio(way, path):
    part = GIB * (1 << 30) // JOBS
    done = subprocess.run(
        ["fio", "--name=scratch", f"--filename={path}", f"--rw={way}", "--bs=1M", "--direct=1", "--ioengine=io_uring",
         f"--numjobs={JOBS}", "--iodepth=16", f"--size={part}", f"--offset_increment={part}", "--group_reporting",
         "--thread", "--output-format=json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0][way]["bw_bytes"] / 1e9


def run_fio():
    path = os.path.join(FOLDER, f".muster-fio-{os.getpid()}")
    try:
        rates = [(fio("write", path), fio("read", path)) for _ in range(2)]
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return max(write for write, _ in rates), max(read for _, read in rates)


def main():
    ours, theirs = [], []
    for number in range(ROUNDS):
        for who in (0, 1) if number % 2 == 0 else (1, 0):
            (theirs if who else ours).append(run_fio() if who else run_muster())
        print(f"round {number + 1}: muster writes {ours[-1][0]:.2f}, reads {ours[-1][1]:.2f} GB/s ({ours[-1][2]}); "
              f"fio {theirs[-1][0]:.2f}, {theirs[-1][1]:.2f}", flush=True)
    for place, way in enumerate(("written", "read")):
        mine, other = (statistics.median(rates[place] for rates in both) for both in (ours, theirs))
        print(f"{way}: muster {mine:.2f}, fio {other:.2f} GB/s: {mine / other:.3f} of it")


if __name__ == "__main__":
    main()
