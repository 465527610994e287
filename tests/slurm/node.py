#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prolog, epilog and health check on a real Slurm: a bad node is drained, and only that.

usage: node.py MUSTER NAME
"""

import os
import re
import subprocess

from cluster import HERE, SCRIPTS, check, check_equal, main
from node_scripts import BAD, NEEDS, SLOW, WHOLE, add_setting, age, check_drained, checked, health_check, notes, options


def test_good_nodes_run_the_job(cluster):
    job = cluster.wait(cluster.submit("-N2", *WHOLE, "--wrap", "srun hostname"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained")
    cluster.wait_for("the epilogs have run", lambda: all("epilog" in notes(cluster, node) for node in ("gpu-1", "gpu-2")))
    for node in ("gpu-1", "gpu-2"):
        check_equal(re.findall(rf"(prolog|epilog) of job {job.number}: exit (\d)", notes(cluster, node)),
                    [("prolog", "0"), ("epilog", "0")], f"what {node} noted")


def test_prolog_and_epilog_ask_nothing_of_slurm(cluster):
    folder = os.path.join(cluster.base, "commands")
    os.mkdir(folder)
    for command in ("scontrol", "squeue", "sinfo", "sacct", "srun"):
        with open(os.path.join(folder, command), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho {command} >>{cluster.folder}/asked\n")
        os.chmod(file.name, 0o755)
    add_setting(cluster, f"PATH={folder}:$PATH")
    health_check(cluster, "1")
    with open(os.path.join(cluster.folder, "asked"), encoding="utf-8") as file:
        check_equal(file.read(), "scontrol\nsqueue\n", "what the health check asked: the stand-ins are found")
    os.unlink(os.path.join(cluster.folder, "asked"))
    number = cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true")
    cluster.wait(number)
    cluster.wait_for("the epilog has run", lambda: f"epilog of job {number}: exit 0" in notes(cluster, "gpu-1"))
    check(f"prolog of job {number}: exit 0" in notes(cluster, "gpu-1"), "the prolog has run", notes(cluster, "gpu-1"))
    check(not os.path.exists(os.path.join(cluster.folder, "asked")), "what prolog and epilog asked")


def test_prolog_drains_the_bad_node_alone(cluster):
    """A job of each node for itself: one of both may start on the first while the second's prolog still runs."""
    cluster.fault(BAD)
    bad = cluster.submit("-N1", "-w", "gpu-2", *WHOLE, "--wrap", "touch started-2")
    good = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "touch started-1"))
    cluster.wait_for("a node is drained", lambda: cluster.drained())
    check_drained(cluster, "prolog")
    check("MUSTER FAIL" in notes(cluster, "gpu-2"), "why", notes(cluster, "gpu-2"))
    cluster.wait_for("the job is requeued and held", lambda: re.search(
        r"Priority=0 .* JobState=PENDING ", cluster.ask("scontrol", "show", "job", "-o", str(bad))))
    cluster.ask("scancel", str(bad))
    check_equal((good.state, [name for name in sorted(os.listdir(cluster.folder)) if name.startswith("started")]),
                ("COMPLETED", ["started-1"]), "which jobs have started")


def test_epilog_drains_the_bad_node_alone(cluster):
    number = cluster.submit("-N2", *WHOLE, "--wrap", "touch started; while [ ! -e go ]; do sleep 0.2; done")
    cluster.wait_for("the job has started", lambda: os.path.exists(os.path.join(cluster.folder, "started")))
    cluster.fault(BAD)
    open(os.path.join(cluster.folder, "go"), "w", encoding="utf-8").close()
    check_equal(cluster.wait(number).state, "COMPLETED", "the job")
    cluster.wait_for("a node is drained", lambda: cluster.drained())
    check_drained(cluster, "epilog")


def test_node_that_has_lost_all_gpus_is_drained(cluster):
    cluster.fault("gpu-missing@node2/gpu0", "gpu-missing@node2/gpu1")
    job = cluster.submit("-N1", "-w", "gpu-2", "--gpus=2", "--wrap", "true")
    cluster.wait_for("gpu-2 is drained", lambda: cluster.drained())
    check_drained(cluster, "prolog", "reboot: gpu.count")
    cluster.run("scancel", str(job))


def test_job_on_a_part_of_a_node_is_left_alone(cluster):
    cluster.fault(BAD)
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-2", "--gpus=1", "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained")
    check("check skipped: the job has 1 of 2 GPUs" in notes(cluster, "gpu-2"), "why", notes(cluster, "gpu-2"))


def test_without_a_verdict_nobody_is_drained(cluster):
    add_setting(cluster, "MUSTER_NODE_OPTIONS='--sku no-such-machine'")
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "without a machine type")
    add_setting(cluster, "MUSTER=/no/such/muster")
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "without a program")
    check("program /no/such/muster not found" in notes(cluster, "gpu-1"), "the note", notes(cluster, "gpu-1"))


def test_health_check_drains_and_gives_back(cluster):
    cluster.fault(BAD)
    health_check(cluster, "1")
    health_check(cluster, "2")
    check_drained(cluster, "health")
    check("reset-gpu" in cluster.ask("sinfo", "-R", "--noheader", "--format=%E"), "the code in sinfo -R")
    cluster.fault()
    health_check(cluster, "2")
    check_equal(cluster.drained(), {}, "who is drained when the fact is gone")


def test_slow_copies_drain_in_a_second_run_and_come_back_after_two_passes(cluster):
    """The job after the prolog's first strike starts; the health check finds it again."""
    cluster.fault(SLOW)
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-2", *WHOLE, "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained after its prolog and epilog")
    cluster.wait_for("the epilog has run", lambda: f"epilog of job {job.number}: exit 1" in notes(cluster, "gpu-2"))
    check(re.search(rf"prolog of job {job.number}: # gpu-2: not drained: copy\.h2d is a first strike; ", notes(cluster, "gpu-2")),
          "the log", notes(cluster, "gpu-2"))
    age(cluster, "gpu-2", "strikes", 2)
    health_check(cluster, "2")
    check_drained(cluster, "health", "replace-node: copy.h2d GPU 1 0002:00:00.0: 11.2 GB/s; expected at least 48 GB/s")
    cluster.fault()
    health_check(cluster, "2")
    check_equal(list(cluster.drained()), ["gpu-2"], "after one pass")
    age(cluster, "gpu-2", "passes", 9)
    health_check(cluster, "2")
    check_equal(list(cluster.drained()), ["gpu-2"], "after two passes, some nine minutes apart")
    age(cluster, "gpu-2", "passes", 2)
    health_check(cluster, "2")
    check_equal(cluster.drained(), {}, "after two passes that are ten minutes apart")


def busy_job(cluster, node):
    """A job that has a whole node until there is a file called go."""
    number = cluster.submit("-N1", "-w", node, *WHOLE, "--wrap", "touch started; while [ ! -e go ]; do sleep 0.2; done")
    cluster.wait_for("the job has started", lambda: os.path.exists(os.path.join(cluster.folder, "started")))
    return number


def let_go(cluster):
    open(os.path.join(cluster.folder, "go"), "w", encoding="utf-8").close()


def test_health_check_measures_nothing_beside_a_job(cluster):
    number = busy_job(cluster, "gpu-2")
    cluster.fault(BAD)
    health_check(cluster, "2")
    check_equal(cluster.drained(), {}, "who is drained while the job runs")
    check(not os.path.exists(checked(cluster, "gpu-2")), "nothing was measured")
    let_go(cluster)
    check_equal(cluster.wait(number).state, "COMPLETED", "the job")


def slow_health_check(cluster):
    """One that measures for a minute, and measures now."""
    program, real = os.path.join(cluster.base, "slow"), cluster.environment["MUSTER_CLUSTER"] + "/bin/muster"
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\ncase \"$*\" in\n*healthcheck.json*) : >{cluster.folder}/measures && exec sleep 60 ;;\n"
                   f"esac\nexec {real} \"$@\"\n")
    os.chmod(program, 0o755)
    add_setting(cluster, f"MUSTER={program}")
    running = subprocess.Popen([os.path.join(HERE, "cluster.sh"), "on", "2", os.path.join(SCRIPTS, "healthcheck")],
                               env=cluster.environment, cwd=cluster.folder, stdin=subprocess.DEVNULL)
    cluster.wait_for("the check measures", lambda: os.path.exists(os.path.join(cluster.folder, "measures")))
    return running


def test_job_without_gpus_ends_a_health_check(cluster):
    """Its prolog does not, nor would there be one without muster's."""
    with slow_health_check(cluster) as running:
        number = cluster.submit("-N1", "-n1", "-w", "gpu-2", "--wrap", "while [ ! -e go ]; do sleep 0.2; done")
        check_equal(running.wait(30), 0, "the health check's exit code")
    check(f"health check: check skipped: job {number} has begun" in notes(cluster, "gpu-2"), "the log", notes(cluster, "gpu-2"))
    let_go(cluster)
    check_equal((cluster.wait(number).state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained")
    check(f"prolog of job {number}: check skipped: the job has no GPU" in notes(cluster, "gpu-2"), "the prolog", notes(cluster, "gpu-2"))


def test_prolog_ends_a_health_check(cluster):
    """The prolog has its own measurement, and the node is drained by neither."""
    with slow_health_check(cluster) as running:
        job = cluster.wait(cluster.submit("-N1", "-w", "gpu-2", *WHOLE, "--wrap", "true"))
        check_equal(running.wait(30), 0, "the health check's exit code")
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained")
    check(f"prolog of job {job.number}: exit 0: MUSTER PASS" in notes(cluster, "gpu-2"), "the prolog measures", notes(cluster, "gpu-2"))


def test_health_check_leaves_an_administrators_reason(cluster):
    cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=fan is loud")
    health_check(cluster, "2")
    check_equal(cluster.drained(), {"gpu-2": "fan is loud"}, "after a pass")
    cluster.fault(BAD)
    health_check(cluster, "2")
    check_equal(cluster.drained(), {"gpu-2": "fan is loud"}, "after a fail")


main(globals())
