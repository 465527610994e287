#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cluster.sh itself: it takes nothing for its own that is not, and leaves nothing behind.

usage: clusters.py MUSTER NAME
"""

import os
import subprocess

import shared
from cluster import Cluster, check, check_equal, fresh, main

SKU = "Standard_NC40ads_H100_v5"
NODES = 1


def processes(folder):
    """Those that were started for the cluster in this folder."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if b"MUSTER_CLUSTER=" + folder.encode() in variables and int(entry) != os.getpid():
            found.append(entry)
    return found


def traces(cluster):
    """What there is of a cluster: its folder, processes, and links of the machine's own network."""
    folder = cluster.environment["MUSTER_CLUSTER"]
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    return os.path.exists(folder), processes(folder), [line for line in links.splitlines() if line.startswith(("br0", "veth1"))]


def another(cluster):
    return Cluster(cluster.environment["MUSTER_PROGRAM"], NODES, SKU)


def test_second_up_in_one_folder_is_refused(cluster):
    code, text = cluster.script("up", "1", SKU)
    check(code == 2 and "a cluster is already up in" in text, "the refusal", text)
    check_equal(cluster.ask("srun", "hostname"), "gpu-1", "the cluster goes on")


def test_two_clusters_know_nothing_of_each_other(cluster):
    other = another(cluster)
    try:
        other.up()
        other.ask("scontrol", "update", "NodeName=gpu-1", "State=DRAIN", "Reason=elsewhere")
        check_equal(cluster.ask("srun", "hostname"), "gpu-1", "the first cluster")
    finally:
        other.down()
    check_equal(cluster.ask("srun", "hostname"), "gpu-1", "the first cluster, after the other has gone")


def test_cluster_that_nobody_holds_ends_by_itself(cluster):
    """As when its test is killed."""
    other = another(cluster)
    other.environment["MUSTER_CLUSTER_LINGER"] = "1"
    other.up()
    other.submit("--wrap", "sleep 100")
    os.close(other.lock)
    cluster.wait_for("the other cluster is gone", lambda: not os.path.exists(other.home), 120)
    cluster.wait_for("its processes too", lambda: traces(other) == (False, [], []), 120)


def test_next_test_would_see_what_this_one_leaves(cluster):
    """Each of these is found; all but the process, which ends by itself, is put right."""
    check_equal(shared.leftovers(cluster), [], "what a new cluster has")
    first = shared.first_process(cluster)
    number = cluster.submit("--exclusive", "--wrap", "sleep 100")
    cluster.ask("scontrol", "update", "NodeName=gpu-1", "State=DRAIN", "Reason=fan is loud")
    cluster.fault("gpu-missing@node1/gpu0")
    for name in ("etc/default/muster", "bin/srun", "log/muster-gpu-1/log", "tmp/left", "nodes/gpu-1/left"):
        os.makedirs(os.path.dirname(shared.folder(cluster, name)), exist_ok=True)
        with open(shared.folder(cluster, name), "a", encoding="utf-8") as file:
            file.write("changed\n")
    check_equal(cluster.script("on", "1", "sh", "-c", ": >/dev/shm/left; nohup sleep 3 >/dev/null 2>&1 &"), (0, ""), "a stray")
    found = " ".join(shared.leftovers(cluster))
    for words in (f"job {number} ", "node gpu-1 is ", "fan is loud", "changed: the simulation", "changed: etc/default/muster",
                  "changed: bin/srun", "log/muster-gpu-1", "tmp/left", "nodes/gpu-1/left", "/dev/shm/left", "(sleep)"):
        check(words in found, words, found)
    for name in ("tmp/left", "nodes/gpu-1/left"):
        os.unlink(shared.folder(cluster, name))
    check_equal(cluster.script("on", "1", "rm", "/dev/shm/left"), (0, ""), "rm")
    check_equal((shared.leave(cluster), shared.first_process(cluster)), ([], first), "what is left, in the same cluster")


def test_failed_up_leaves_nothing(cluster):
    other = another(cluster)
    try:
        code, text = other.script("up", "1", SKU, "--conf", "NoSuchKey=1")
        check(code == 2 and "did not" in text and "NoSuchKey" in text, "why it failed", text)
        check_equal(traces(other), (False, [], []), "what is left")
        code, text = other.script("up", "1", "Standard_NoSuch_v1")
        check(code != 0 and "Standard_NoSuch_v1" in text, "an unknown machine type", text)
        check_equal(traces(other), (False, [], []), "what is left")
    finally:
        other.down()


def test_folder_that_is_no_clusters_is_left_alone(cluster):
    other = another(cluster)
    folder = other.environment["MUSTER_CLUSTER"]
    try:
        os.mkdir(folder)
        with open(os.path.join(folder, "thesis"), "w", encoding="utf-8") as file:
            file.write("years of work")
        check_equal(other.script("up", "1", SKU)[0], 2, "cluster.sh up")
        other.script("down")
        check_equal(os.listdir(folder), ["thesis"], "the folder")
    finally:
        other.down()


@fresh
def test_down_leaves_nothing(cluster):
    cluster.submit("--wrap", "sleep 100")
    cluster.wait_for("the job runs", lambda: cluster.ask("squeue", "-h", "-o", "%T") == "RUNNING")
    check(len(processes(cluster.environment["MUSTER_CLUSTER"])) > 3, "its processes are found while it is up")
    check_equal(cluster.script("down"), (0, ""), "cluster.sh down")
    check_equal(traces(cluster), (False, [], []), "what is left")
    check_equal(cluster.script("down"), (0, ""), "cluster.sh down, when nothing is up")


main(globals())
