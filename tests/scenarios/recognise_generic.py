#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated machines judged by generic-nvidia.json, which knows no figure of any machine, only what links can carry.

usage: recognise_generic.py MUSTER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

MUSTER = os.path.abspath(sys.argv.pop(1))
SKU = "Standard_ND96asr_v4"
GENERIC = ["--sku", "generic-nvidia"]


class Generic(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = os.path.join(holder.name, "report.json")

    def run_muster(self, *words):
        done = subprocess.run([MUSTER, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=100)
        self.text = done.stdout
        return done.returncode

    def simulate(self, *faults, nodes=2):
        """The exit code, and (check, status, node, gpu or port) of each finding."""
        words = [word for fault in faults for word in ("--fault", fault)]
        code = self.run_muster("sim", "--sku", SKU, "--nodes", str(nodes), *words, "--report", self.path, "--",
                               "--profile", "quick", *GENERIC)
        with open(self.path, encoding="utf-8") as file:
            self.report = json.load(file)
        return code, [(f["check"], f["status"], f["where"].get("node"), f["where"].get("gpu") or f["where"].get("port"))
                      for f in self.report["findings"] if f["status"] != "skip"]

    def test_healthy_nodes_pass_without_any_figure(self):
        self.assertEqual(self.simulate(), (0, []))
        self.assertTrue(self.report["sku"]["observe"])
        self.assertIn("No thresholds of this machine type", self.text)
        shares = {c["check"]: (round(c["share"]["lowest"], 2), c["share"]["of"])
                  for c in self.report["checks"] if "share" in c and c["count"]["pass"]}
        self.assertEqual(shares["copy.h2d_pcie"], (0.83, "PCIe 4.0 x16"))
        self.assertEqual(shares["ring.network.64m"], (0.64, "network (8 x 25)"))
        self.assertIn("83 % of PCIe 4.0 x16", self.text)
        self.assertIn("64 % of network (8 x 25)", self.text)
        # the saved report is judged as before, unless told otherwise
        self.assertEqual(self.run_muster("check", self.path), 0)
        self.assertIn("MUSTER PASS sku=generic-nvidia ", self.text)
        self.assertEqual(self.run_muster("check", self.path, "--sku", "auto"), 0)
        self.assertIn(f"MUSTER PASS sku={SKU} ", self.text)
        # and nothing but its name leads to it
        overlay = os.path.join(os.path.dirname(self.path), "overlay.json")
        with open(overlay, "w", encoding="utf-8") as file:
            json.dump({"identify": {"vm_size": ["Standard_Other"], "gpu_name": ["none"]}}, file)
        self.assertEqual(self.run_muster("check", self.path, "--sku", "auto", "--overlay", overlay), 3)
        self.assertIn("MUSTER INCONCLUSIVE sku=unknown ", self.text)

    def test_a_slow_gpu_and_a_wrong_sum_are_found(self):
        code, findings = self.simulate("h2d-slow@node1/gpu4=11.2", "nccl-wrong-sum@rank3", nodes=1)
        self.assertEqual(code, 1)
        self.assertIn(("copy.h2d", "fail", "sim-1", "000b:00:00.0"), findings)
        self.assertIn(("ring.sum", "fail", "sim-1", None), findings)
        self.assertEqual({f[0] for f in findings}, {"copy.h2d", "ring.sum"})

    def test_a_ring_at_a_third_fails_by_physics(self):
        code, findings = self.simulate("nccl-slow@rank5=3", nodes=1)
        self.assertEqual((code, findings), (1, [("ring.nvlink.64m", "fail", None, None)]))
        [finding] = [f for f in self.report["findings"] if f["status"] == "fail"]
        self.assertEqual(finding["expected"], "at least 30 % of nccl.allreduce_limit_gbps (warning below 40 %)")
        self.assertIn("GB/s, 19 % of NVLink (12 x 25.0) (300 GB/s)", self.text)

    def test_copies_that_are_slow_on_every_gpu_fail_by_physics(self):
        faults = [f"h2d-slow@node1/gpu{i}=15" for i in range(8)]
        code, findings = self.simulate(*faults, nodes=1)
        self.assertEqual((code, {(f[0], f[1]) for f in findings}), (1, {("copy.h2d_pcie", "fail")}))

    def test_a_missing_gpu_is_found(self):
        code, findings = self.simulate("gpu-missing@node2/gpu4", nodes=3)
        self.assertEqual(code, 1)
        self.assertIn(("same.gpu_count", "fail", "sim-2", None), findings)
        self.assertIn(("launch.ranks_per_gpu", "fail", "sim-2", None), findings)

    def test_a_port_that_is_down_on_one_node_only_is_found(self):
        code, findings = self.simulate("ib-down@node1/mlx5_ib3")
        self.assertEqual(code, 1)
        self.assertIn(("ib.state", "warn", "sim-1", "mlx5_ib3/1"), findings)
        self.assertIn(("same.ib_state", "fail", "sim-1", "mlx5_ib3/1"), findings)
        self.assertIn("the same on all nodes: ACTIVE (15 of 16 ports)", self.text)

    def test_a_port_that_nobody_uses_is_a_warning(self):
        code, findings = self.simulate("ib-down@node1/mlx5_ib3", "ib-down@node2/mlx5_ib3")
        self.assertEqual((code, findings), (0, [("ib.state", "warn", "sim-1", "mlx5_ib3/1"),
                                                ("ib.state", "warn", "sim-2", "mlx5_ib3/1")]))


if __name__ == "__main__":
    unittest.main()
