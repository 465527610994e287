#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many nodes turn slow at once: only so many of a rack and of an hour are drained, and what is not is said.

usage: racks.py MUSTER NAME
"""

import os

from cluster import check, check_equal, fresh, main
from node_scripts import NEEDS, add_setting, age, health_check, notes

NODES = 4
SLOW = [f"h2d-slow@node{number}/gpu1=11.2" for number in (1, 2, 3, 4)]


def options(_):
    return "--conf", "TopologyPlugin=topology/tree"


def put_into_racks(cluster, *racks):
    with open(os.path.join(cluster.environment["MUSTER_CLUSTER"], "etc/topology.conf"), "w", encoding="utf-8") as file:
        file.writelines(f"SwitchName=leaf-{number} Nodes={nodes}\n" for number, nodes in enumerate(racks))
        file.write(f"SwitchName=core Switches=leaf-[0-{len(racks) - 1}]\n")
    cluster.ask("scontrol", "reconfigure")
    cluster.wait_for("the racks are known", lambda: f"Nodes={racks[0]}" in cluster.ask("scontrol", "show", "topology"))


def check_all(cluster):
    for number in "1234":
        health_check(cluster, number)


@fresh
def test_rack_that_turns_slow_is_drained_up_to_the_limit(cluster):
    put_into_racks(cluster, "gpu-[1-3]", "gpu-4")
    add_setting(cluster, "MUSTER_DRAIN_PER_HOUR=100% MUSTER_DRAIN_AT_MOST=100%")
    cluster.fault(*SLOW)
    check_all(cluster)
    check_equal(cluster.drained(), {}, "who is drained after a first strike")
    for number in "1234":
        age(cluster, f"gpu-{number}", "strikes", 2)
    check_all(cluster)
    check_equal(sorted(cluster.drained()), ["gpu-1", "gpu-2", "gpu-4"], "who is drained: two of the rack of three, and one of the other")
    said = notes(cluster, "gpu-3")
    check("gpu-3: muster has drained 2 others of 3 nodes of one rack or switch within an hour, and at most 2 may be drained" in said,
          "what is said of the third", said)


@fresh
def test_few_nodes_of_a_cluster_are_drained_in_an_hour(cluster):
    """By default a tenth of a partition, but one node."""
    cluster.fault(*SLOW)
    check_all(cluster)
    for number in "1234":
        age(cluster, f"gpu-{number}", "strikes", 2)
    check_all(cluster)
    check_equal(list(cluster.drained()), ["gpu-1"], "who is drained")
    for number in "234":
        check("muster has drained 1 other of " in notes(cluster, f"gpu-{number}"), "what is said of the others", notes(cluster, f"gpu-{number}"))


main(globals())
