#!/usr/bin/python3
"""Simulated runs with every supervisor and every worker under valgrind: memcheck must have nothing to say.

usage: valgrind.py MUSTER     (exits with 77 when there is no valgrind, or MUSTER has a sanitizer in it)

What the run finds is not looked at: under valgrind a probe may be too slow for its deadline.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = ["--sku", "Standard_NC40ads_H100_v5", "--nodes", "2"]
RUN = ["--", "--profile", "quick", "--deadline", "300"]

CASES = [
    ("a healthy run", [*SMALL, *RUN]),
    ("workers that die and lie", [*SMALL, "--fault", "dies@rank0=nvmlDeviceGetTemperature:half-line",
                                  "--fault", "dies@rank0=dlopen:libcurl.so.4:exit",
                                  "--fault", "dies@rank1=cuInit:kill", *RUN]),
]


def complaints(muster, words, folder):
    """What memcheck wrote, of all processes, and how many there were."""
    command = ["valgrind", "-q", f"--log-file={folder}/log.%p", f"--suppressions={HERE}/valgrind.supp"]
    for name in glob.glob("/usr/share/openmpi/*valgrind*.supp"):
        command.append(f"--suppressions={name}")
    environment = dict(os.environ, TMPDIR=folder, MUSTER_SIM_WRAPPER=" ".join(command))
    report = os.path.join(folder, "report.json")
    ended = subprocess.run([muster, "sim", "--report", report] + words, capture_output=True, text=True, check=False,
                           env=environment)
    found, logs = "", glob.glob(f"{folder}/log.*")
    for name in logs:
        with open(name, encoding="utf-8", errors="replace") as file:
            found += file.read()
    if not os.path.exists(report):
        found += "there is no report\n" + ended.stdout + ended.stderr
    return found, len(logs)


def main():
    muster = sys.argv[1]
    with open(muster, "rb") as file:
        sanitized = b"__asan_init" in file.read()
    if sanitized or not shutil.which("valgrind"):
        print("a sanitizer is in this build" if sanitized else "there is no valgrind")
        return 77
    failed = 0
    for what, words in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found, processes = complaints(muster, words, folder)
        if processes < 6:  # sim-rank, supervisor and worker, of two ranks
            found += f"only {processes} processes ran under valgrind\n"
        print(f"{'FAILED' if found else 'ok    '} {what}: {processes} processes", flush=True)
        print(found[:20000], end="")
        failed += bool(found)
    return 1 if failed else 0


sys.exit(main())
