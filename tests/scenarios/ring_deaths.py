#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stop or kill one process of a simulated run at a step of the ring: the others end early, and are measured without it.

usage: rings.py MUSTER
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from processes import processes_of

SIM = ["sim", "--sku", "Standard_NC80adis_H100_v5", "--nodes", "3"]
# The call after the step takes so long that the signal comes in time on a busy machine.
SLOW = {"checked all-reduce": "cuMemcpyDtoDAsync_v2:5s"}
RING_DEADLINE_S = 60  # the probe's own: nobody waits for so long for one that is known to be dead

# what is done, by which signal, to which process of rank 3, at which of its steps; the finding's check, a part of what
# was observed, and whether the others must not have waited
CASES = [
    ("a worker that dies in the ring", signal.SIGKILL, "worker", "checked all-reduce", "probe.nccl_allreduce",
     "signal 9", True),
    ("a worker that aborts in the ring", signal.SIGABRT, "worker", "checked all-reduce",
     "probe.nccl_allreduce", "signal 6", True),
    ("a rank that never arrives at the ring", signal.SIGSTOP, "run", "copies host to device", "rank.missing",
     "no further message arrived", True),
    ("a worker that stops in the ring", signal.SIGSTOP, "worker", "checked all-reduce", "probe.nccl_allreduce",
     "no answer within its deadline", False),
]


def look(case, report, returncode):
    """What is wrong with the report, one line each."""
    _, _, _, _, check, observed, early = case
    found = [(f["check"], f["status"], f["where"].get("node"), f["where"].get("rank")) for f in report["findings"]
             if f["status"] != "skip"]
    texts = [f["observed"] for f in report["findings"] if f["check"] == check and f["status"] != "skip"]
    job = report["run"]["job"]
    ring = [s["value"] for s in job["samples"] if s["metric"] == "nccl.ring_ranks"]
    busbw = [s for s in job["samples"] if s["metric"] == "nccl.allreduce_busbw_gbps" and s["value"]]
    problems = []
    if found != [(check, "fail", "sim-2", 3)] or observed not in texts[0]:
        problems.append(f"found {found}: {texts}")
    if ring != [5] or not busbw:
        problems.append(f"the ring of those that are left: {ring} ranks, {busbw}")
    if early and job["elapsed_s"] > RING_DEADLINE_S:
        problems.append(f"the others waited: {job['elapsed_s']} s")
    if returncode != 1:
        problems.append(f"exit code {returncode}, not 1")
    return problems


def run(muster, case, path):
    _, number, command, step, _, _, early = case
    mark = f"MUSTER_RINGS={path}"
    environment = dict(os.environ, MUSTER_TRACE="1", MUSTER_RINGS=path, MUSTER_TEST_TIME_SCALE="0.2")
    words = [muster] + SIM + ([f"--fault=dies@rank3={SLOW[step]}"] if step in SLOW else []) + ["--report", path, "--", "--max-bytes", "1M"]
    words += [] if early else ["--deadline", "40"]  # the ring waits for a part of it
    done, targets = False, []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stderr:
            if not done and "rank 3:" in line and step in line:
                targets = list(processes_of(3, command, mark))
                for target in targets:
                    os.kill(target, number)
                done = True
            if "rank 0:" in line and "leaving MPI" in line and command == "run":
                for target in targets:  # the report is written; mpirun waits for the last of its processes
                    os.kill(target, signal.SIGKILL)
        text = process.stdout.read()
    if not done:
        return [f"rank 3 never came to: {step}"]
    with open(path, encoding="utf-8") as file:
        problems = look(case, json.load(file), process.returncode)
    return problems + ([text] if problems else [])


def main():
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            problems = run(sys.argv[1], case, os.path.join(folder, "report.json"))
        print(f"{'FAILED' if problems else 'ok    '} {case[0]}", flush=True)
        for problem in problems:
            print("    " + problem.replace("\n", "\n    "))
        failed += bool(problems)
    return 1 if failed else 0


sys.exit(main())
