#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The health check as Slurm itself runs it: every few seconds on idle nodes, and as slurmd starts.

usage: health.py MUSTER NAME
"""

import json
import os
import re
import subprocess
import sys

from cluster import SCRIPTS, check, check_equal, fresh, main
from node_scripts import add_setting, notes

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
    check(list(seen) == ["gpu-2"] and re.match(r"muster\(health\): reset-gpu: gpu\.recovery_action GPU 1 \S+: gpu-reset; expected neither", seen["gpu-2"]),
          "who is drained, and why", seen)
    wait_for_two_checks(cluster, "gpu-1")
    check_equal(cluster.drained(), seen, "after more checks")
    cluster.fault()
    cluster.wait_for("the node is given back", lambda: not cluster.drained())
    check_equal(cluster.wait(cluster.submit("-N2", "--exclusive", "--wrap", "srun true")).state, "COMPLETED", "a job on both")


@fresh
def test_trial_drains_nothing_and_fills_the_history(cluster):
    """Nor does it give back what muster drained before."""
    path = os.path.join(cluster.folder, "history.db")
    add_setting(cluster, f"MUSTER_DRAIN=trial\nMUSTER_HISTORY={path}\nMUSTER_DRAIN_AT_MOST=100%\nMUSTER_DRAIN_PER_HOUR=100%")
    before = "muster(health): gpu.recovery_action GPU 0001:00:00.0: gpu-reset; expected neither"
    cluster.ask("scontrol", "update", "NodeName=gpu-1", "State=DRAIN", f"Reason={before}")
    cluster.fault(BAD)
    start(cluster)

    def would_be_drained():
        done = subprocess.run([sys.argv[1], "history", "trial", "--db", path, "--simulated", "--format", "json"], capture_output=True,
                              text=True, check=False)
        rows = json.loads(done.stdout)["next"]["rows"] if done.returncode == 0 else []
        return [(row["node"], row["check"], row["proof"]) for row in rows]
    cluster.wait_for("the history names the bad node", lambda: would_be_drained() == [("gpu-2", "gpu.recovery_action", "hard")])
    for node in ("gpu-1", "gpu-2"):
        wait_for_two_checks(cluster, node)
    check_equal(cluster.drained(), {"gpu-1": before}, "who is drained: as before")
    check("health check, trial: scontrol update NodeName=gpu-2 State=DRAIN Reason='muster(health): reset-gpu: gpu.recovery_action" in
          notes(cluster, "gpu-2"), "the log", notes(cluster, "gpu-2"))


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
