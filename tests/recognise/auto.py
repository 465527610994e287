#!/usr/bin/python3
"""`muster run` without --sku: recognised by the metadata service, by the GPUs, or not at all.

usage: auto.py MUSTER
"""

import json
import os
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
        self.assertTrue(report["sku"]["origin"].endswith(f"(recognised by vmSize {SKU} of the metadata service)"))
        self.assertEqual([f for f in report["findings"] if f["status"] != "skip"], [])
        sizes = [s["value"] for n in report["run"]["nodes"] for s in n["samples"] if s["metric"] == "node.vm_size"]
        self.assertEqual(sizes, [SKU, SKU])

    def test_an_overlay_is_laid_over_what_was_recognised(self):
        overlay = self.file("overlay.json", {"checks": {"gpu.count": {"equals": 9, "source": "a wish"}}})
        report = self.muster("sim", "--sku", SKU, "--", *AUTO, "--overlay", overlay, exit_code=1)
        self.assertEqual({f["check"] for f in report["findings"] if f["status"] == "fail"}, {"gpu.count"})

    def test_a_healthy_machine_that_no_file_claims_is_inconclusive(self):
        overlay = self.file("overlay.json", {"identify": {"vm_size": ["Standard_Other"]}})
        report = self.muster("sim", "--sku", SKU, "--nodes", "2", "--", *AUTO, "--overlay", overlay, exit_code=3)
        self.assertEqual(report["verdict"], "inconclusive")
        self.assertIn(f"no expectation file fits this machine (vmSize {SKU} on sim-1, sim-2)", report["sku"]["origin"])

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
        report = self.muster("run", "--profile", "quick", exit_code=3, MUSTER_METADATA_URL="file://" + answer)
        self.assertEqual(report["sku"]["name"], "unknown")
        for words in "vmSize Standard_Other on ", "--sku NAME", "--sku observe", "identify":
            self.assertIn(words, report["sku"]["origin"])
        self.assertIn(report["sku"]["origin"], self.text)


if __name__ == "__main__":
    unittest.main()
