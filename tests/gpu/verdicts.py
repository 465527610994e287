#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts on real GPUs: a healthy host's figures are judged healthy, and beside another process's work that process fails.

usage: verdicts.py GPUS FOLDER SKU...     (FOLDER: where the reports go; muster and mpirun are found by PATH)

Without a second GPU there is no ring: then only the healthy host is judged. What a virtual machine with a part of a host
lacks (GPUs, InfiniBand, settings of an image) fails there as it must: only findings about speeds count here.
"""

import os
import subprocess
import sys
import time

from samples import load

SPEEDS = ("gpu.h2d", "gpu.d2h", "nccl.allreduce")
# Multiplies matrices on the first GPU until its standard input ends, and says when it has begun.
STRANGER = """
import sys, threading, torch
a = torch.randn(8192, 8192, device="cuda:0", dtype=torch.bfloat16)
held = torch.empty(20 << 30, dtype=torch.uint8, device="cuda:0")
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
for _ in range(20):
    a @ a
torch.cuda.synchronize()
print("computing", flush=True)
while not ended.is_set():
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
"""


def measure(gpus, sku, report):
    """The report, its text, and its exit code."""
    done = subprocess.run(["mpirun", "--bind-to", "none", "-np", str(gpus), "muster", "run", "--sku", sku, "--deadline", "60",
                           "--report", report], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=120)
    return load(report), done.stdout, done.returncode


def speeds(report):
    """Findings about speeds that are no pass, one line each."""
    return [f"{f['status']} {f['check']}: {f.get('observed')}, {f.get('expected')}" for f in report["findings"]
            if f["status"] in ("fail", "warn", "inconclusive") and str(f.get("metric", "")).startswith(SPEEDS)]


def busbw(report):
    return {s["labels"]["bytes"] >> 20: round(s["value"], 1) for s in report["run"]["job"]["samples"]
            if s["metric"] == "nccl.allreduce_busbw_gbps" and s["value"] is not None}


def main():
    gpus, folder, skus = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    bad = 0
    for sku in skus:
        report, text, code = measure(gpus, sku, os.path.join(folder, f"healthy-{sku}.json"))
        found = speeds(report)
        bad += bool(found)
        print(text)
        print(f"{'FAIL' if found else 'ok'}    healthy, {sku}: exit code {code}, busbw by MiB {busbw(report)}; {found}")
    if gpus < 2:
        sys.exit(1 if bad else 0)
    with subprocess.Popen([sys.executable, "-c", STRANGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as stranger:
        begun = stranger.stdout.readline().strip()
        time.sleep(1)
        for sku in skus:
            report, text, code = measure(gpus, sku, os.path.join(folder, f"stranger-{sku}.json"))
            found = speeds(report)  # blocked: the stranger explains them
            named = [f["check"] for f in report["findings"] if f["status"] == "fail"]
            bad += not (good := begun == "computing" and "gpu.strangers" in named and not found)
            print(text)
            print(f"{'ok' if good else 'FAIL'}    beside a stranger, {sku}: exit code {code}, failed: {named}, "
                  f"busbw by MiB {busbw(report)}; {found}")
        stranger.stdin.close()
        stranger.wait(timeout=30)
    sys.exit(1 if bad else 0)


main()
