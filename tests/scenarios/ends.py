#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ways in which a run ends early, or its report cannot be written: what rank 0 says then, what is on disk, and what
`muster assemble` makes of that.

usage: ends.py MUSTER NAME

Bounds are the deadline that the run was given, never speed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from processes import processes_of

TWO_NODES = ["--sku", "Standard_NC80adis_H100_v5", "--nodes", "2"]  # two GPUs each: ranks 0 to 3
COPIES = "copies host to device"
INTERRUPTED = ("run.interrupted", "inconclusive", None, None)


def missing(rank, status, what):
    return ("rank.missing", status, f"sim-{rank // 2 + 1}", rank, what)


def lost(*ranks, status="fail"):
    return [missing(rank, status, "its last message") for rank in ranks]


def leaderless(*ranks):
    why = "no member list from rank 0|no time left before the run's deadline"  # the second one where MPI took that time
    return [("probe.nccl_allreduce", "inconclusive", f"sim-{rank // 2 + 1}", rank, why) for rank in ranks]


def never_began(rank_2="MPI_Init had not returned", node="?", why="MPI_Init ", zero=False):
    found = [missing(1, "inconclusive", why), missing(3, "inconclusive", why)]
    return found + [("rank.missing", "inconclusive", node, 2, rank_2)] + [missing(0, "inconclusive", why)] * zero


# Who is sent what, when which rank comes to which step; the run's deadline; then rank 0's exit code and findings (None: it
# writes no report), and those of the report assembled from the disk. A finding is its check, status, node, rank, and part of
# what was observed, as a regular expression. wrapper: what happens on rank 2 before its supervisor is started. scale: muster's own deadlines are
# multiplied by it where nothing else is waited for; a_node_vanishes waits for them in full. most: the seconds that it may take,
# where otherwise a broken ring's deadline would have to pass. goes_on: the rank's worker is not stopped until the signal has come.
# says: part of a line of stderr. measured: metrics that every rank has a number of, in spite of the signal.
CASES = {
    "sigterm_to_all": dict(
        kill=(signal.SIGTERM, "run", range(4)), at=(0, COPIES), deadline=240,
        code=3, findings=[INTERRUPTED + (" received SIGTERM after ",)],
        disk_code=3, disk=[INTERRUPTED + (" received SIGTERM after ",)]),
    "sigint_to_one": dict(
        kill=(signal.SIGINT, "run", [3]), at=(3, COPIES), deadline=240,
        code=3, findings=[INTERRUPTED + ("rank 3 received SIGINT after ",)],
        disk_code=3, disk=[INTERRUPTED + ("rank 3 received SIGINT after ",)]),
    "sigusr1_to_rank_0_in_the_ring": dict(
        kill=(signal.SIGUSR1, "run", [0]), at=(0, "all-reduce"), deadline=240,
        code=3, findings=[INTERRUPTED + ("rank 0 received SIGUSR1 after ",)],
        disk_code=3, disk=[INTERRUPTED + ("rank 0 received SIGUSR1 after ",)]),
    "sigusr1_between_training_steps": dict(
        kill=(signal.SIGUSR1, "run", [0]), at=(0, "training step 50 of 4000"), deadline=240, options=["--steps", "4000"],
        goes_on=True, says="training steps: 80 s left",
        measured=["rank.step_p50_ms", "rank.step_compute_ms", "gpu.h2d_loaded_gbps"],
        code=3, findings=[INTERRUPTED + ("rank 0 received SIGUSR1 after ",)],
        disk_code=3, disk=[INTERRUPTED + ("rank 0 received SIGUSR1 after ",)]),
    "sigterm_to_the_launcher": dict(
        kill=(signal.SIGTERM, "sim", None), at=(0, COPIES), deadline=240,
        code=3, findings=[INTERRUPTED + (" received SIGTERM after ",)],
        disk_code=3, disk=[INTERRUPTED + (" received SIGTERM after ",)]),
    "sigkill_to_rank_0": dict(
        kill=(signal.SIGKILL, "run", [0]), at=(0, COPIES), scale=0.2, deadline=40,
        code=3, findings=None,
        disk_code=1, disk=lost(0) + leaderless(1, 2, 3)),
    "sigkill_to_all": dict(
        kill=(signal.SIGKILL, "run", range(4)), at=(2, COPIES), deadline=240,
        code=3, findings=None,
        disk_code=3, disk=[INTERRUPTED + ("no rank finished",)] + lost(0, 1, 2, 3, status="inconclusive")),
    "mpi_init_without_a_rank": dict(
        wrapper="kill -KILL $$", deadline=42,
        code=3, findings=[INTERRUPTED + ("MPI_Init did not return within 14 s: ",)] + never_began(),
        disk_code=3, disk=[INTERRUPTED + ("MPI_Init did not return within 14 s: ",)] +
        never_began("there is no result of this rank on disk", zero=True)),
    # it does not return either, instead of aborting the job
    "mpi_init_fails_on_a_rank": dict(
        wrapper="export OMPI_MCA_pmix=nope", deadline=42,
        code=3, findings=[INTERRUPTED + ("MPI_Init did not return within 14 s: ",)] + never_began("MPI_Init ", node="sim-2"),
        disk_code=3, disk=[INTERRUPTED + ("MPI_Init did not return within 14 s: ",)] +
        never_began("MPI_Init ", node="sim-2", zero=True)),
    # for the user's own MPI: plugins, CUDA, a folder that muster's has not, and one whose name begins as that of /usr/lib
    "mpi_settings_of_the_user": dict(
        wrapper="export OMPI_MCA_opal_cuda_support=true OMPI_MCA_mpi_cuda_support=1 OMPI_MCA_pml=nope OMPI_MCA_btl=openib,self "
        "OMPI_MCA_coll=hcoll OMPI_MCA_rcache=nope OMPI_MCA_mca_base_component_path=/none OPAL_PREFIX=/usr/libexec",
        deadline=240, code=0, findings=[], disk_code=0, disk=[]),
    "mpi_hangs_on_a_rank": dict(
        wrapper="export ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + os.environ.get("MUSTER_STUCK_MPI", "nowhere"),
        scale=0.2, deadline=40, code=1, findings=lost(2) + leaderless(3), disk_code=1, disk=lost(2) + leaderless(3)),
    "sigterm_in_mpi_init": dict(
        wrapper="exec sleep 15", kill=(signal.SIGTERM, "run", [0, 1, 3]), at=None, deadline=240,
        code=3, findings=[INTERRUPTED + ("rank 0 received SIGTERM after ",)] + never_began(),
        disk_code=3, disk=[INTERRUPTED + ("rank 0 received SIGTERM after ",)] +
        never_began("there is no result of this rank on disk", why=" received SIGTERM after ", zero=True)),
    "a_node_vanishes": dict(
        kill=(signal.SIGKILL, "run", [2, 3]), at=(2, COPIES), deadline=60,
        code=1, findings=lost(2, 3),
        disk_code=1, disk=lost(2, 3)),
    "a_node_vanishes_in_the_ring": dict(
        kill=(signal.SIGKILL, "run", [2, 3]), at=(2, "timed all-reduces of 8 MiB"), scale=0.2, deadline=240, most=60,
        code=1, findings=lost(2, 3),
        disk_code=1, disk=lost(2, 3)),
}


def mark_of(report):
    """What this run's processes have in their environment."""
    return f"MUSTER_MARK={report}"


def left_behind(mark, waiting=20.0):
    """What still runs of this run, after a while."""
    until = time.monotonic() + waiting
    while True:
        found = [(command, pid) for command in ("run", "worker", "sim-rank") for pid in processes_of(None, command, mark)]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


def unfold(finding):
    """One of several ranks of a node, "ranks 2-3: ...", as one for each of them."""
    check, status, node, rank, observed = finding
    parts = re.split(r"(?:^|; )ranks? ([0-9][0-9,-]*): ", observed)
    if rank is not None or parts[0] or len(parts) < 3:
        return [finding]
    spans = [(span.split("-"), text) for ranks, text in zip(parts[1::2], parts[2::2]) for span in ranks.split(",")]
    return [(check, status, node, one, text) for span, text in spans for one in range(int(span[0]), int(span[-1]) + 1)]


def findings_of(path):
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    folded = [(f["check"], f["status"], f["where"].get("node"), f["where"].get("rank"), f["observed"])
              for f in report["findings"] if f["status"] != "skip"]
    return [one for finding in folded for one in unfold(finding)]


def unmeasured(path, metrics):
    """What ranks of the report have no number for."""
    with open(path, encoding="utf-8") as file:
        ranks = [rank for node in json.load(file)["run"]["nodes"] for rank in node["ranks"]]
    return [f"rank {rank['rank']} has no {metric}" for rank in ranks for metric in metrics
            if not any(s["metric"] == metric and s["value"] is not None for s in rank["samples"])]


def compare(found, wanted):
    problems = [f"missing: {want}" for want in wanted
                if not any(want[:4] == have[:4] and re.search(want[4], have[4]) for have in found)]
    return problems + [f"too much: {have}" for have in found
                       if not any(have[:4] == want[:4] and re.search(want[4], have[4]) for want in wanted)]


def wait_for(spool, text, times=1):
    """It is on disk, so often, in lines that have been written to their end: a signal may cut the last one."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = 0
        for name in os.listdir(spool) if os.path.isdir(spool) else []:
            found += Path(spool, name).read_text(encoding="utf-8").rpartition("\n")[0].count(text)
        if found >= times:
            return True
        time.sleep(0.01)
    return False


def send(case, report):
    number, command, ranks = case["kill"]
    for rank in ranks or [None]:
        for pid in processes_of(rank, command, mark_of(report)):
            os.kill(pid, number)


def drive(process, case, report, spool):
    """Send the signal at its time. Returns what was printed, and whether that time came."""
    noise, sent = [], not case.get("kill")
    if not sent and not case["at"]:
        sent = wait_for(spool, '"spool": 2', times=3)
        send(case, report)
    for line in process.stderr:
        noise.append(line)
        if sent or f"rank {case['at'][0]}:" not in line or case["at"][1] not in line:
            continue
        if not case.get("goes_on"):
            for pid in processes_of(case["at"][0], "worker", mark_of(report)):  # it must not get on meanwhile
                os.kill(pid, signal.SIGSTOP)
            wait_for(spool, case["at"][1])
        wait_for(spool, '"gpu.name"', times=4)  # other ranks may be behind
        send(case, report)
        sent = True
    return noise, sent


def wrapper_of(case, folder):
    path = os.path.join(folder, "wrapper")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
[ "$2" = run ] && [ "$OMPI_COMM_WORLD_RANK" = 2 ] && {{ {case["wrapper"]}; }}
exec {os.environ.get("MUSTER_SIM_WRAPPER", "")} "$@"
""")
    os.chmod(path, 0o755)
    return path


def run(muster, case, folder):
    report, spool = os.path.join(folder, "report.json"), os.path.join(folder, "spool")
    deadline = case["deadline"]
    words = [muster, "sim"] + TWO_NODES + ["--report", report, "--", "--spool", spool, "--deadline", str(deadline)]
    words += case.get("options", [])
    environment = dict(os.environ, MUSTER_TRACE="1", MUSTER_MARK=report, MUSTER_TEST_TIME_SCALE=str(case.get("scale", 1)))
    if "wrapper" in case:
        environment["MUSTER_SIM_WRAPPER"] = wrapper_of(case, folder)
    started = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        noise, sent = drive(process, case, report, spool)
        text = process.stdout.read()
    took = time.monotonic() - started
    problems = [] if sent else ["the moment for the signal never came"]
    # an interrupted run must not wait for its deadline; one with a dead rank may need all of it, and 5 seconds to end
    interrupted = "kill" in case and case["kill"][0] != signal.SIGKILL
    most = case.get("most", deadline / 2 if interrupted else deadline + 15)
    if took > most:
        problems.append(f"took {took:.1f} s of {most}")
    if not any(case.get("says", "") in line for line in noise):
        problems.append(f"not said: {case['says']}")
    if process.returncode != case["code"]:
        problems.append(f"exit code {process.returncode}, not {case['code']}")
    if case["findings"] is None:
        problems += ["rank 0 is dead, and there is a report"] if os.path.exists(report) else []
    else:
        problems += compare(findings_of(report), case["findings"])
        problems += unmeasured(report, case.get("measured", []))
        word = {0: "MUSTER PASS ", 1: "MUSTER FAIL ", 3: "MUSTER INCONCLUSIVE "}[case["code"]]
        if not text.rstrip().rpartition("\n")[2].startswith(word):
            problems.append(f"the last line is not {word}")
    problems += [f"left running: {found}" for found in left_behind(mark_of(report))]
    problems += assemble(muster, case, folder, spool)
    problems += [f"left behind: {name}" for name in os.listdir(folder)
                 if name not in ("report.json", "spool", "assembled.json", "wrapper")]
    return problems + ([text] + noise[-30:] if problems else [])


def assemble(muster, case, folder, spool):
    path = os.path.join(folder, "assembled.json")
    done = subprocess.run([muster, "assemble", spool, "--report", path], capture_output=True, text=True, timeout=100)
    if done.returncode != case["disk_code"]:
        return [f"assemble: exit code {done.returncode}, not {case['disk_code']}", done.stdout, done.stderr]
    problems = [f"assemble: {problem}" for problem in compare(findings_of(path), case["disk"])]
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    ranks = {rank["rank"]: rank for node in report["run"]["nodes"] for rank in node["ranks"]}
    if sorted(ranks) != [0, 1, 2, 3] or not report["run"]["job"].get("assembled"):
        problems.append(f"assemble: ranks {sorted(ranks)}, marked {report['run']['job'].get('assembled')}")
    # What was measured before is there.
    for number, rank in ranks.items() if case.get("at") else []:
        if not any(sample["metric"] == "gpu.name" for sample in rank["samples"]):
            problems.append(f"assemble: rank {number} has lost what it had measured")
    return problems


def main():
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            problems = run(sys.argv[1], CASES[sys.argv[2]], folder)
        # mpirun lost its connection to a rank that ended while they met, and with it what other ranks had printed
        if not any("PMIX ERROR: UNREACHABLE" in problem for problem in problems):
            break
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
