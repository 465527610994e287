#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A preflight that is not left to come to its end has a report all the same, and says what ended it.

usage: ends.py MUSTER NAME
"""

import os
import re
import signal
import time

from cluster import LONG, PATIENT, SCRIPTS, check, check_equal, fresh, main

COPIES = "host and device copies"


def files(cluster):
    return sorted(name.partition(".")[2] for name in os.listdir(cluster.folder))


def observed(job, name):
    """What the findings of this check say, by node."""
    return [(f["where"].get("node"), f["observed"]) for f in job.report()["findings"] if f["check"] == name]


def ended_by_signal(job):
    check_equal(job.report()["verdict"], "inconclusive", "the verdict")
    seen = observed(job, "run.interrupted")
    check(len(seen) == 1 and re.match(r"rank \d+ received SIGTERM after", seen[0][1]), "who ended it", seen)
    check("MUSTER INCONCLUSIVE" in job.read("txt"), "the text")


def test_killed_supervisor(cluster):
    """The report that is built of what the job has left is about the job's nodes, though their list is a file's name too."""
    cluster.fault(LONG)
    with open(os.path.join(cluster.folder, "gpu-[1-2]"), "w", encoding="utf-8") as file:
        file.write("gpu-7\n")
    number = cluster.preflight_at(COPIES, *PATIENT)
    cluster.signal(3, signal.SIGKILL)
    job = cluster.wait(number)
    check_equal(files(cluster), ["", "json", "log", "spool", "txt"], "the files")
    check_equal(sorted(node["name"] for node in job.report()["run"]["nodes"]), ["gpu-1", "gpu-2"], "the nodes of the report")
    check("muster did not finish: building the report from" in job.read("log"), "the log says so")
    failed = [f for f in job.report()["findings"] if f["status"] == "fail"]
    check_equal(failed, [], "nothing has failed, though a supervisor may have noted that its worker was killed first")
    check_equal((job.state, job.exit_code), ("FAILED", 3), "the job's end")
    check_equal(len(job.report()["summary"]["missing_ranks"]), 4, "Slurm ended all of them")
    check(any(node == "gpu-2" and "did not finish" in text for node, text in observed(job, "rank.missing")),
          "what is known of the second node", observed(job, "rank.missing"))


def test_killed_supervisor_under_mpirun(cluster):
    cluster.rank_variable = "OMPI_COMM_WORLD_RANK"
    cluster.fault(LONG.replace("300s", "8s"))
    number = cluster.preflight_at(COPIES, *PATIENT, MUSTER_LAUNCHER="mpirun")
    cluster.signal(3, signal.SIGKILL)
    job = cluster.wait(number, 240)
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    check_equal(files(cluster), ["json", "log", "txt"], "the files")
    check_equal(job.report()["summary"]["missing_ranks"], [3], "the others went on")


def test_cancelled_job(cluster):
    cluster.fault(LONG)
    number = cluster.preflight_at(COPIES, *PATIENT)
    cluster.ask("scancel", str(number))
    job = cluster.wait(number)
    check_equal(job.state, "CANCELLED", "the job's end")
    ended_by_signal(job)


def test_signal_to_the_script_alone(cluster):
    """As --signal=B:TERM@60 and scancel --batch do: the tasks hear nothing of it from Slurm."""
    cluster.fault(LONG)
    for launcher in ("srun", "mpirun"):
        number = cluster.preflight_at(COPIES, *PATIENT, MUSTER_LAUNCHER=launcher)
        cluster.ask("scancel", "--batch", "--signal=TERM", str(number))
        job = cluster.wait(number, 120)
        check_equal((job.state, job.exit_code), ("FAILED", 3), "the job's end under " + launcher)
        check("preflight: received SIGTERM" in job.read("log"), "the log", job.read("log"))
        seen = observed(job, "run.interrupted")
        check(len(seen) == 1 and re.match(r"rank \d+ received SIGUSR1 after", seen[0][1]), "the tasks ended themselves", seen)
        check(not os.path.exists(job.path("spool")), "no spool is left")


def test_time_limit(cluster):
    """Slurm looks for jobs that are late twice a minute. One rank has not begun by then, so that nobody has come any further."""
    number = cluster.submit("-N2", "--time=10", os.path.join(SCRIPTS, "preflight.sbatch"), "--deadline", "600",
                            SIMULATED_LATE_RANK="3")
    cluster.wait_for("the tasks have been started", lambda: len(list(cluster.supervisors(2))) == 1)
    soon = cluster.ask("date", "-d", "10 seconds", "+%Y-%m-%dT%H:%M:%S")
    cluster.ask("scontrol", "update", f"JobId={number}", f"EndTime={soon}")
    job = cluster.wait(number, 150)
    check_equal(job.state, "TIMEOUT", "the job's end")
    ended_by_signal(job)


@fresh
def test_slurmd_that_dies_takes_nothing_with_it(cluster):
    cluster.fault(LONG.replace("300s", "8s"))  # else the copies may be over before anybody reads of them
    number = cluster.preflight_at(COPIES)
    check_equal(cluster.script("kill", "2")[0], 0, "cluster.sh kill")
    cluster.wait_for("the preflight ends", lambda: "preflight: srun exited" in cluster.log(number))
    check_equal(cluster.script("start", "2")[0], 0, "cluster.sh start")
    job = cluster.wait(number)
    check_equal((job.state, job.exit_code, job.report()["verdict"]), ("COMPLETED", 0, "pass"), "the job's end")


@fresh
def test_lost_node_is_named(cluster):
    cluster.fault("nccl-hang@rank3=init")  # so that the node is lost before the run is over
    number = cluster.preflight_at("inventory", "--profile", "quick", "--deadline", "60")
    begin = time.monotonic()
    check_equal(cluster.script("lose", "2")[0], 0, "cluster.sh lose")
    job = cluster.wait(number, 140)
    check(time.monotonic() - begin < 95, "the deadline holds", f"{time.monotonic() - begin:.0f} s")
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    check_equal({(name, node) for name, status, node in job.problems() if status == "fail"},
                {("rank.missing", "gpu-2")}, "what fails")
    check_equal(job.report()["summary"]["missing_ranks"], [2, 3], "the missing ranks")


main(globals())
