#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where Slurm knows which switch a node is in, the report says so.

usage: topology.py MUSTER NAME
"""

import json
import os

from cluster import check, check_equal, main


def options(_):
    return "--conf", "TopologyPlugin=topology/tree"


def test_each_node_stands_under_its_switch(cluster):
    code, text = cluster.run("srun", "-N2", "--exclusive", "--ntasks-per-node=1", "--gpus-per-node=2", "muster", "run",
                             "--profile", "quick")
    check_equal(code, 1, "the exit code: one rank for two GPUs")
    check("\nplaced by Slurm\n  core.leaf-1: gpu-1\n  core.leaf-2: gpu-2\n\n" in text, "the summary", text)
    with open(os.path.join(cluster.folder, "muster-report.json"), encoding="utf-8") as file:
        nodes = json.load(file)["run"]["nodes"]
    check_equal([sample["value"] for node in nodes for sample in node["samples"]
                 if sample["metric"] == "node.slurm_topology"], ["core.leaf-1", "core.leaf-2"], "the metric")


main(globals())
