#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rings on real GPUs: trial rings one after the other in a process, and what a rank that dies or stops in a ring costs.

usage: rings.py GPUS FOLDER     (FOLDER: where the reports go; muster and mpirun are found by PATH)

Each GPU is a node of its own to muster, by a name in the environment, so that trials have nodes to try.
"""

import os
import signal
import subprocess
import sys
import time

from samples import load

RANK = """export SLURMD_NODENAME=gpu-$OMPI_COMM_WORLD_RANK CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK; exec "$@" """
STEP = "timed all-reduces of 256 MiB"

# what happens, to which process of the last rank, by which signal; then the findings about it, and whether there are trials
CASES = [
    ("healthy, with trials", None, None, [], True),
    ("a worker is killed in the ring", "worker", signal.SIGKILL, ["probe.nccl_allreduce fail"], False),
    ("a worker stops in the ring", "worker", signal.SIGSTOP, ["probe.nccl_allreduce fail"], False),
    ("a supervisor is killed in the ring", "run", signal.SIGKILL, ["rank.missing fail"], False),
]


def processes_of(rank, command):
    """The rank's `muster run` or `muster worker`."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
            with open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace") as file:
                environment = file.read().split("\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] == command and f"OMPI_COMM_WORLD_RANK={rank}" in environment:
            yield int(entry)


def run(case, gpus, report):
    """Run one case; what is wrong with it, one line each."""
    _, command, number, wanted, trials = case
    last = gpus - 1
    words = ["mpirun", "--enable-recovery", "--bind-to", "none", "-np", str(gpus), "sh", "-c", RANK, "sh", "muster", "run",
             "--sku", "generic-nvidia", "--deadline", "60", "--report", report]
    words += ["--localise", "always"] if trials else []
    done = command is None
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, MUSTER_TRACE="1")) as process:
        for line in process.stderr:
            if not done and f"rank {last}:" in line and STEP in line:
                for victim in processes_of(last, command):
                    os.kill(victim, number)
                done = True
        text = process.stdout.read()
    if not done:
        return [f"rank {last} never came to: {STEP}", text]
    report = load(report)
    ranks = [s["value"] for s in report["run"]["job"]["samples"] if s["metric"] == "nccl.ring_ranks"]
    rates = [s["value"] for s in report["run"]["job"]["samples"]
             if s["metric"] == "nccl.allreduce_busbw_gbps" and s["value"] is not None]
    tried = [f"{t['kind']} {' '.join(t['nodes'])} {t['status']} {t.get('busbw_gbps')}" for t in report["run"].get("trials", [])]
    found = [f"{f['check']} {f['status']}" for f in report["findings"] if f["status"] in ("fail", "inconclusive")
             and f["check"] in ("probe.nccl_allreduce", "rank.missing", "ring.suspect", "ring.link", "ring.split")]
    print(f"      ring of {ranks} ranks, busbw {[round(rate, 1) for rate in rates]} GB/s, "
          f"{report['run']['job']['elapsed_s']} s; {found}; trials: {tried}")
    problems = [] if found == wanted else [f"findings {found}, not {wanted}"]
    expected = gpus if command is None else last
    if ranks != [expected] or (expected > 1 and not rates):
        problems.append(f"the ring that was measured in the end: {ranks} ranks, not {expected}, busbw {rates}")
    if trials and (len(tried) < gpus or not all(" ok " in t for t in tried)):
        problems.append(f"trials: {tried}")
    for victim in [*processes_of(last, "worker"), *processes_of(last, "run")]:
        problems.append(f"process {victim} is left")
        os.kill(victim, signal.SIGKILL)
    return problems + ([text] if problems else [])


def main():
    gpus, folder = int(sys.argv[1]), sys.argv[2]
    failed = 0
    for index, case in enumerate(CASES):
        began = time.monotonic()
        problems = run(case, gpus, os.path.join(folder, f"rings-{index}.json"))
        print(f"{'FAIL ' if problems else 'ok   '} {case[0]}: {time.monotonic() - began:.1f} s", flush=True)
        for problem in problems:
            print("      " + problem.replace("\n", "\n      "))
        failed += bool(problems)
    return 1 if failed else 0


sys.exit(main())
