#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of a build with AddressSanitizer and UndefinedBehaviorSanitizer: no process of any of them may have a complaint.

usage: leaks.py MUSTER     (exits with 77 when MUSTER has no sanitizer in it)

A worker's complaint would be lost with its output, so that all of them go to files. Leaks are looked for where
supervisors and workers end; that they are found is shown by a stand-in that loses memory.
"""

import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ONE_NODE = ["--sku", "Standard_ND96asr_v4", "--nodes", "1"]
SMALL = ["--sku", "Standard_NC80adis_H100_v5", "--nodes", "2"]
QUICK = ["--", "--profile", "quick"]
TEMPORARY = os.path.realpath(tempfile.gettempdir())  # root follows no link to write

# what it is, the command line, what its complaints must hold (None: there must be none)
CASES = [
    ("a leak in a worker is found", ["sim", *SMALL, "--fault", "dies@rank3=cuInit:leak", *QUICK], "4321 byte(s)"),
    ("two small nodes", ["sim", *SMALL, "--", "--profile", "standard"], None),
    ("the path of the data", ["sim", *SMALL, "--", "--storage", "--checkpoint", TEMPORARY,
                              "--expect-path", "/shared/apps"], None),
    ("a disk that fails", ["sim", *SMALL, "--fault", "bit-rot@node1", "--fault", "io-uring-refused@node1", "--fault",
                           "scratch-read-only@node2", *QUICK, "--storage"], None),
    ("an NVLink rack", ["sim", "--sku", "Standard_ND128isr_NDR_GB200_v6", "--nodes", "2", *QUICK], None),
    ("faults everywhere", ["sim", *ONE_NODE, "--fault", "gpu-missing@node1/gpu3", "--fault", "ib-down@node1/mlx5_ib3",
                           "--fault", "lib-missing@node1=libnccl.so.2", "--fault", "topo-stale@node1", *QUICK], None),
    ("workers that die", ["sim", *ONE_NODE, "--fault", "dies@rank0=ibv_open_device:segv",
                          "--fault", "dies@rank1=nvmlDeviceGetTemperature:segv",
                          "--fault", "dies@rank2=nvmlDeviceGetTemperature:garbage",
                          "--fault", "dies@rank3=nvmlDeviceGetTemperature:flood",
                          "--fault", "dies@rank4=cuInit:abort", *QUICK], None),
]


def has_sanitizer(muster):
    with open(muster, "rb") as file:
        return b"__asan_init" in file.read()


def complaints(muster, words, folder):
    logs = os.path.join(folder, "log")
    report = os.path.join(folder, "report.json")
    environment = dict(os.environ, TMPDIR=folder, MUSTER_LEAKS="1")
    environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + f":detect_leaks=1:fast_unwind_on_malloc=0:log_path={logs}"
    environment["UBSAN_OPTIONS"] = f"log_path={logs}:print_stacktrace=1"
    environment["LSAN_OPTIONS"] = f"suppressions={HERE}/leaks.supp:print_suppressions=0"
    words = words[:1] + ["--report", report] + words[1:]
    ended = subprocess.run([muster] + words, capture_output=True, text=True, check=False, env=environment)
    found = ""
    for name in glob.glob(logs + "*"):
        with open(name, encoding="utf-8", errors="replace") as file:
            found += file.read()
    if not os.path.exists(report):
        found += "there is no report\n" + ended.stdout + ended.stderr
    return found


def main():
    muster = sys.argv[1]
    if not has_sanitizer(muster):
        print("this build has no AddressSanitizer")
        return 77
    failed = 0
    for what, words, wanted in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = complaints(muster, words, folder)
        good = wanted in found if wanted else not found
        print(f"{'ok    ' if good else 'FAILED'} {what}", flush=True)
        if not good:
            print(found[:20000] or "no complaint")
        failed += not good
    return 1 if failed else 0


sys.exit(main())
