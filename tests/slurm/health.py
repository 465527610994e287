#!/usr/bin/python3
"""The health check as Slurm itself runs it: every few seconds on idle nodes, and as slurmd starts.

usage: health.py MUSTER NAME
"""

import os
import re

from cluster import SCRIPTS, check, check_equal, fresh, main

NEEDS = ("node", "drain", "resume")
BAD = "recovery-action@node2/gpu1=gpu-reset"


def options(_):
    return ("--conf", f"HealthCheckProgram={SCRIPTS}/healthcheck", "--conf", "HealthCheckInterval=6",
            "--conf", "HealthCheckNodeState=IDLE,CYCLE")


def start(cluster):
    """Slurm gives a health check no environment, and this slurm.conf is not where Slurm would look for it."""
    folder = cluster.environment["MUSTER_CLUSTER"]
    with open(os.path.join(folder, "etc/default/muster"), "a", encoding="utf-8") as file:
        file.write(f"export SLURM_CONF={folder}/etc/slurm.conf\nPATH={folder}/bin:$PATH\n")


def measured(cluster, node):
    """When the node's last health check wrote its report; 0: none has."""
    path = os.path.join(cluster.environment["MUSTER_CLUSTER"], "log", "muster-" + node, "healthcheck.json")
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0


def wait_for_two_checks(cluster, node):
    for _ in range(2):
        last = measured(cluster, node)
        cluster.wait_for(f"a health check of {node}", lambda seen=last: measured(cluster, node) != seen)


@fresh
def test_bad_node_is_drained_and_given_back(cluster):
    start(cluster)
    wait_for_two_checks(cluster, "gpu-2")
    check_equal(cluster.drained(), {}, "who is drained while all is well")
    cluster.fault(BAD)
    seen = cluster.wait_for("a node is drained", lambda: cluster.drained())
    check(list(seen) == ["gpu-2"] and re.match(r"muster\(health\): reset-gpu: gpu\.recovery_action GPU \S+: gpu-reset; expected neither", seen["gpu-2"]),
          "who is drained, and why", seen)
    wait_for_two_checks(cluster, "gpu-1")
    check_equal(cluster.drained(), seen, "after more checks")
    cluster.fault()
    cluster.wait_for("the node is given back", lambda: not cluster.drained())
    check_equal(cluster.wait(cluster.submit("-N2", "--exclusive", "--wrap", "srun true")).state, "COMPLETED", "a job on both")


@fresh
def test_running_job_is_left_alone_even_when_slurmd_starts_again(cluster):
    """To the end of this test: a slurmd that cluster.sh starts again has a network in which the job cannot report."""
    cluster.submit("-N1", "-w", "gpu-2", "--exclusive", "--gpus-per-node=2", "--wrap", "touch started; sleep 600")
    cluster.wait_for("the job has started", lambda: os.path.exists(os.path.join(cluster.folder, "started")))
    start(cluster)
    cluster.fault(BAD)
    wait_for_two_checks(cluster, "gpu-1")
    check_equal(cluster.script("kill", "2")[0], 0, "cluster.sh kill")
    check_equal(cluster.script("start", "2")[0], 0, "cluster.sh start")
    wait_for_two_checks(cluster, "gpu-1")
    check_equal((measured(cluster, "gpu-2"), cluster.drained()), (0, {}), "what was done while the job runs")


main(globals())
