#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whose settings the environment probe records: the user's, not those that muster or MPI add for themselves, in a first
worker and in one that replaces it; and on simulated nodes those of the scenario.

usage: environment.py MUSTER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

MUSTER = os.path.abspath(sys.argv.pop(1))

# a worker that ends at once, the first time in each rank
WRAPPER = """#!/bin/sh
mkdir "${0%/*}/rank-$OMPI_COMM_WORLD_RANK" 2>/dev/null && exit 7
exec "$@"
"""


def settings(rank):
    """What is set for a rank, with its origin."""
    found = {}
    for name in ("rank.setting", "rank.setting_from"):
        for sample in rank["samples"]:
            if sample["metric"] == name and sample["value"] != "not set":
                found.setdefault(sample["labels"]["name"], []).append(sample["value"])
    return {name: tuple(texts) for name, texts in found.items()}


def from_environment(rank):
    """The same, without what this machine's own files of NCCL set."""
    return {name: value for name, (value, origin) in settings(rank).items() if origin == "environment"}


def facts(node, *names):
    return [s["value"] for name in names for s in node["samples"] if s["metric"] == name]


class Environment(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        foreign = ("SLURM", "PMI", "OMPI", "NCCL", "UCX", "CUDA")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
        self.environment.update(MUSTER_METADATA_URL="", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def nodes(self, words, **more):
        report = os.path.join(self.folder, "report.json")
        if os.path.exists(report):
            os.remove(report)
        words = [report if word == "REPORT" else word for word in words]
        done = subprocess.run(words, env=dict(self.environment, **more), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
        self.assertTrue(os.path.exists(report), done.stdout)
        with open(report, encoding="utf-8") as file:
            return json.load(file)["run"]["nodes"]

    def ranks(self, *mpirun, **more):
        """Two ranks of this machine."""
        [node] = self.nodes(["mpirun", "--oversubscribe", "-np", "2", *mpirun, MUSTER, "run", "--sku", "generic-nvidia",
                             "--profile", "quick", "--report", "REPORT"], **more)
        self.assertEqual([rank["rank"] for rank in node["ranks"]], [0, 1])
        return node["ranks"]

    def replaced(self, *mpirun, **more):
        """The same, with the first worker of each rank dead."""
        wrapper = os.path.join(self.folder, "wrapper.sh")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(WRAPPER)
        os.chmod(wrapper, 0o755)
        ranks = self.ranks(*mpirun, MUSTER_WORKER_WRAPPER=wrapper, **more)
        for rank in ranks:
            [gpu] = [o for o in rank["probes"] if o["probe"] == "gpu"]
            self.assertEqual(gpu["status"], "crashed", gpu)
        return ranks

    def test_what_muster_sets_for_its_own_mpi_is_not_the_users(self):
        for run in (self.ranks, self.replaced):
            for rank in run():
                self.assertEqual(from_environment(rank), {}, run.__name__)

    def test_what_the_user_sets_is(self):
        wanted = {
            "OMPI_MCA_coll_hcoll_enable": "1",
            "UCX_TLS": "rc,self",
            "NCCL_DEBUG": "VERSION",
            "NCCL_MIN_NCHANNELS": "32",
        }
        mine = {"UCX_TLS": "rc,self", "NCCL_DEBUG": "VERSION", "NCCL_MIN_NCHANNELS": "32"}
        for run in (self.ranks, self.replaced):
            for rank in run("--mca", "coll_hcoll_enable", "1", **mine):
                self.assertEqual(from_environment(rank), wanted, run.__name__)

    def test_simulated_nodes_have_the_settings_and_disks_of_the_scenario(self):
        faults = ["env@node2=NCCL_TOPO_FILE", "env@node2=NCCL_DEBUG=WARN", "disk-missing@node2=nvme5n1"]
        words = [MUSTER, "sim", "--sku", "Standard_ND96asr_v4", "--nodes", "2", "--report", "REPORT"]
        for fault in faults:
            words += ["--fault", fault]
        words += ["--", "--profile", "quick"]
        healthy = {
            "NCCL_IB_PCI_RELAXED_ORDERING": ("1", "/etc/nccl.conf"),
            "NCCL_TOPO_FILE": ("/opt/microsoft/ndv4/topo.xml", "/etc/nccl.conf"),
            "NCCL_IGNORE_CPU_AFFINITY": ("1", "/etc/nccl.conf"),
        }
        broken = dict(healthy, NCCL_DEBUG=("WARN", "environment"))
        del broken["NCCL_TOPO_FILE"]
        # this machine's own settings are not the simulated ones
        nodes = self.nodes(words, NCCL_P2P_DISABLE="1", UCX_TLS="tcp", CUDA_VISIBLE_DEVICES="3")
        for node, wanted in zip(nodes, (healthy, broken)):
            self.assertEqual(len(node["ranks"]), 8)
            for rank in node["ranks"]:
                self.assertEqual(settings(rank), wanted, node["name"])
        names = ["node.topo_file", "node.topo_file_agrees", "node.nvme_disks", "node.nvme_gb", "node.temp_disk_gb"]
        self.assertEqual(facts(nodes[0], *names), ["/opt/microsoft/ndv4/topo.xml", True, 8, 7680, 3006])
        self.assertEqual(facts(nodes[1], *names), [None, None, 7, 6720, 3006])

    def test_a_stale_topology_file_is_told_with_every_gpu_that_it_misplaces(self):
        [node] = self.nodes([MUSTER, "sim", "--sku", "Standard_ND96asr_v4", "--fault", "topo-stale@node1", "--report",
                             "REPORT", "--", "--profile", "quick"])
        places = [("0001", 0, 1), ("0002", 0, 1), ("0003", 1, 0), ("0004", 1, 0)]
        differs = "; ".join(f"GPU {gpu}:00:00.0: NUMA node {wrong} in the file, {right} in the kernel"
                            for gpu, wrong, right in places)
        self.assertEqual(facts(node, "node.topo_file_agrees", "node.topo_file_differs"), [False, differs])

    def test_every_supervisor_of_a_simulated_run_knows_that_it_is_one_and_how_long_to_wait(self):
        prepared = os.path.join(self.folder, "prepared")
        subprocess.run([MUSTER, "sim", "--sku", "Standard_NC40ads_H100_v5", "--nodes", "2", "--prepare", prepared], check=True,
                       env=self.environment, timeout=100)
        done = subprocess.run(["mpirun", "--oversubscribe", "-np", "2", MUSTER, "sim-rank", prepared, "--", "env"],
                              env=dict(self.environment, MUSTER_TEST_TIME_SCALE="0.2"), stdout=subprocess.PIPE, text=True,
                              timeout=100, check=True)
        lines = done.stdout.splitlines()
        self.assertEqual(lines.count(f"MUSTER_SIM_CLUSTER={prepared}/cluster.json"), 2, done.stdout)
        self.assertEqual(lines.count("MUSTER_TEST_TIME_SCALE=0.2"), 2, done.stdout)


unittest.main()
