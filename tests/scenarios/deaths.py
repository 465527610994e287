#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kill one process of a simulated run, and compare what muster finds with what must be found: the dead one, nobody else.

usage: deaths.py MUSTER NAME
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from processes import processes_of

SIM = ["sim", "--sku", "Standard_ND96asr_v4", "--nodes", "2"]

# A dead supervisor is noticed by its silence; muster's own deadlines are multiplied by this, so that it is soon. (In full:
# a_node_vanishes of ends.py.)
SCALE = 0.2

# What is killed, of which rank, at which of its steps, the run's profile; then the findings: check, status, node, rank,
# and a part of what was observed. The rank's first copy takes 5 s: a busy machine comes to the kill in time.
COPIES = "copies host to device"
SLOW_COPY = "cuda-slow@node{}/gpu{}=cuMemcpyHtoDAsync_v2#1:5s"
MIDDLE = "leader_while_rank_0_receives_its_records"
CASES = {
    "worker_in_the_ring": (
        "worker", 10, "timed all-reduces of 8 MiB", "standard",
        [("probe.nccl_allreduce", "fail", "sim-2", 10, "signal 9")]),
    "worker_while_it_copies": (
        "worker", 3, COPIES, "quick",
        [("probe.gpu_copy", "fail", "sim-1", 3, "signal 9")]),
    "supervisor": (
        "run", 11, COPIES, "quick",
        [("rank.missing", "fail", "sim-2", 11, "no further message arrived")]),
    "leader": (
        "run", 8, COPIES, "quick",
        [("rank.missing", "fail", "sim-2", 8, "no further message arrived"),
         ("probe.nccl_allreduce", "inconclusive", "sim-2", None, "no member list from rank 0")]),
    MIDDLE: (
        "run", 8, "read the error counters again", "quick",
        [("rank.missing", "fail", "sim-2", 8, "no further message arrived")]),
}


def hold_rank_0(mark):
    """Rank 0 sees nothing for a while; what is sent to it has begun to arrive then, and cannot come to its end."""
    for pid in processes_of(0, "run", mark):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3 * SCALE)


def run(muster, name, report):
    command, rank, step, profile, wanted = CASES[name]
    scale = SCALE if command == "run" else 1  # workers die at full time
    environment = dict(os.environ, MUSTER_TRACE="1", MUSTER_DEATHS=report, MUSTER_TEST_TIME_SCALE=str(scale))
    fault = ["--fault", SLOW_COPY.format(rank // 8 + 1, rank % 8)] if step == COPIES else []
    words = [muster] + SIM + fault + ["--report", report, "--", "--profile", profile]
    killed = False
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stderr:
            if not killed and f"rank {rank}:" in line and step in line:
                mark = f"MUSTER_DEATHS={report}"
                if name == MIDDLE:
                    hold_rank_0(mark)
                for pid in processes_of(rank, command, mark):
                    os.kill(pid, signal.SIGKILL)
                for pid in processes_of(0, "run", mark):
                    os.kill(pid, signal.SIGCONT)
                killed = True
        text = process.stdout.read()
    if not killed:
        return [f"rank {rank} never came to: {step}"]
    with open(report, encoding="utf-8") as file:
        findings = [f for f in json.load(file)["findings"] if f["status"] != "skip"]
    found = [(f["check"], f["status"], f["where"].get("node"), f["where"].get("rank"), f["observed"]) for f in findings]
    problems = [f"missing: {want}" for want in wanted
                if not any(want[:4] == have[:4] and want[4] in have[4] for have in found)]
    problems += [f"too much: {have}" for have in found if not any(have[:4] == want[:4] for want in wanted)]
    if process.returncode != 1:
        problems.append(f"exit code {process.returncode}, not 1")
    return problems + ([text] if problems else [])


def main():
    _, muster, name = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        problems = run(muster, name, os.path.join(folder, "report.json"))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
