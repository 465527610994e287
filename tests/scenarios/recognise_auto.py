#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster run` without --sku: recognised by the metadata service, by the GPUs, or not at all.

usage: recognise_auto.py MUSTER
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest

MUSTER = os.path.abspath(sys.argv.pop(1))
SKU = "Standard_ND96asr_v4"
AUTO = ["--sku", "auto", "--profile", "quick"]


class Auto(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def file(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        return path

    def muster(self, *words, exit_code, report=True, **environment):
        """Run it and return the report, or what it printed."""
        path = os.path.join(self.directory, "report.json")
        environment = dict({k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "PMI", "OMPI"))},
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **environment)
        at = words.index("--") if "--" in words else len(words)
        done = subprocess.run([MUSTER, *words[:at], "--report", path, *words[at:]], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
        self.assertEqual(done.returncode, exit_code, done.stdout)
        self.text = done.stdout
        if not report:
            self.assertFalse(os.path.exists(path))
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_simulated_nodes_are_recognised_by_their_metadata(self):
        report = self.muster("sim", "--sku", SKU, "--nodes", "2", "--", *AUTO, exit_code=0)
        self.assertEqual(report["sku"]["name"], SKU)
        self.assertTrue(report["sku"]["origin"].endswith(f"(detected by vmSize {SKU} of the metadata service)"))
        self.assertEqual([f for f in report["findings"] if f["status"] != "skip"], [])
        sizes = [s["value"] for n in report["run"]["nodes"] for s in n["samples"] if s["metric"] == "node.vm_size"]
        self.assertEqual(sizes, [SKU, SKU])

        saved = self.file("saved.json", report)  # what was measured is recognised alike, later and elsewhere
        self.assertEqual(self.muster("check", saved, "--sku", "auto", exit_code=0), report)
        overlay = self.file("overlay.json", {"checks": {"gpu.count": {"equals": 9, "source": "a wish"}}})
        judged = self.muster("check", saved, "--sku", "auto", "--overlay", overlay, exit_code=1)
        self.assertEqual({f["check"] for f in judged["findings"] if f["status"] == "fail"}, {"gpu.count"})
        overlay = self.file("overlay.json", {"identify": {"vm_size": ["Standard_Other"]}})
        judged = self.muster("check", saved, "--sku", "auto", "--overlay", overlay, exit_code=3)
        self.assertEqual(self.findings(judged), {"sku.unknown": ("inconclusive", None)})
        self.assertEqual(self.assert_ways_out(judged),
                         f"no expectation file fits this machine (vmSize {SKU} on sim-1, sim-2)")

    def test_an_overlay_is_laid_over_what_was_recognised(self):
        overlay = self.file("overlay.json", {"checks": {"gpu.count": {"equals": 9, "source": "a wish"}}})
        report = self.muster("sim", "--sku", SKU, "--", *AUTO, "--overlay", overlay, exit_code=1)
        self.assertEqual({f["check"] for f in report["findings"] if f["status"] == "fail"}, {"gpu.count"})

    def findings(self, report):
        """What is worth reading, by check: (status, node)."""
        return {f["check"]: (f["status"], f["where"].get("node")) for f in report["findings"] if f["status"] != "skip"}

    def assert_ways_out(self, report):
        [unknown] = [f for f in report["findings"] if f["check"] == "sku.unknown"]
        self.assertEqual((unknown["status"], report["sku"]["name"]), ("inconclusive", "unknown"))
        for words in "--sku NAME (muster skus", "--sku FILE", "--sku generic-nvidia":
            self.assertIn(words, unknown["advice"])
        self.assertIn(unknown["advice"], " ".join(self.text.split()))  # in the summary too
        self.assertIn(unknown["observed"], " ".join(self.text.split()))
        return unknown["observed"]

    def test_what_holds_anywhere_is_judged_on_an_unknown_machine(self):
        answer = self.file("metadata.json", {"compute": {"vmSize": "Standard_Other"}})
        report = self.muster("sim", "--sku", SKU, "--fault", "nccl-wrong-sum@rank3", "--", *AUTO,
                             exit_code=1, MUSTER_METADATA_URL="file://" + answer)
        self.assertEqual(self.findings(report)["ring.sum"], ("fail", "sim-1"))
        self.assertIn("vmSize Standard_Other on sim-1", self.assert_ways_out(report))

    def test_without_a_service_the_gpus_tell(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, and nobody listens
            for url in "", f"http://127.0.0.1:{unused.getsockname()[1]}/":
                report = self.muster("sim", "--sku", SKU, "--", *AUTO, exit_code=0, MUSTER_METADATA_URL=url)
                self.assertEqual(report["sku"]["name"], SKU)
                self.assertTrue(report["sku"]["origin"].endswith(
                    "(detected by 8 x NVIDIA A100-SXM4-40GB on each node (no metadata service))"))
                self.assertEqual(self.findings(report), {})
                self.assertNotIn("metadata service", self.text)  # not a word about what is normal

    def test_a_node_that_has_lost_a_gpu_is_a_broken_one_of_the_others_type(self):
        report = self.muster("sim", "--sku", SKU, "--nodes", "2", "--fault", "gpu-missing@node1/gpu4", "--", *AUTO,
                             exit_code=1, MUSTER_METADATA_URL="")
        self.assertEqual(report["sku"]["name"], SKU)
        self.assertEqual(self.findings(report)["gpu.count"], ("fail", "sim-1"))
        self.assertNotIn("same.gpu_count", self.findings(report))  # one cause, one finding

    def test_one_gpu_of_another_kind_is_named(self):
        report = self.muster("sim", "--sku", SKU, "--nodes", "2", "--fault", "gpu-name@node2/gpu3", "--", *AUTO,
                             exit_code=1, MUSTER_METADATA_URL="")
        self.assertEqual(self.findings(report), {"gpu.name": ("fail", "sim-2")})

    def test_gpus_that_no_file_has_are_judged_by_what_holds_anywhere(self):
        report = self.muster("sim", "--sku", SKU, "--fault", "gpu-name@node1/gpu3", "--", *AUTO, exit_code=3,
                             MUSTER_METADATA_URL="")
        self.assertIn("(8 x NVIDIA A100-SXM4-40GB on sim-1)", self.assert_ways_out(report))

    def test_the_node_of_another_size_fails_by_the_majoritys_word(self):
        report = self.muster("sim", "--sku", SKU, "--nodes", "3", "--fault", "vm-size@node2=Standard_Other", "--",
                             *AUTO, exit_code=1)
        self.assertEqual(self.findings(report),
                         {"same.vm_size": ("fail", "sim-2"), "sku.unknown": ("inconclusive", None)})
        self.assertEqual(report["summary"]["failed_nodes"], ["sim-2"])
        self.assertEqual(self.assert_ways_out(report), "the nodes have different machine types: "
                         f"vmSize {SKU} on sim-1, sim-3 (detected as {SKU}); vmSize Standard_Other on sim-2 (no file fits)")

    def test_an_overlay_that_fits_nothing_calls_the_run_off(self):
        overlay = self.file("overlay.json", {"checks": {"no.such.check": None}})
        self.muster("sim", "--sku", SKU, "--", *AUTO, "--overlay", overlay, exit_code=2, report=False)
        self.assertIn("no.such.check", self.text)

    def test_a_size_that_contradicts_the_sku_is_a_warning(self):
        answer = self.file("metadata.json", {"compute": {"vmSize": "Standard_Other"}})
        report = self.muster("run", "--sku", SKU, "--profile", "quick", exit_code=1,
                             MUSTER_METADATA_URL="file://" + answer)
        [finding] = [f for f in report["findings"] if f["check"] == "node.vm_size"]
        self.assertEqual(finding["status"], "warn")
        self.assertIn("Standard_Other", finding["observed"])

    def test_an_unknown_size_is_named_with_the_ways_out(self):
        answer = self.file("metadata.json", {"compute": {"vmSize": "Standard_Other"}})
        report = self.muster("run", "--profile", "quick", exit_code=1, MUSTER_METADATA_URL="file://" + answer)
        self.assertIn("vmSize Standard_Other on ", self.assert_ways_out(report))


if __name__ == "__main__":
    unittest.main()
