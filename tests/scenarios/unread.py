#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A source that cannot be read turns no check off in silence: each is made unreadable on a node of its own, and every value
that the node lacks for that reason says so, and is in the summary or a finding.

usage: unread.py MUSTER SOURCES
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MUSTER, SOURCES = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
NODES = 16  # of one GPU

# What every machine answers with its own name or count: without it there is no GPU to speak of, which is a failure.
FILES = ("proc/driver/nvidia/version", "proc/driver/nvidia/params", "proc/cmdline", "proc/meminfo", "proc/mounts",
         "proc/sys/kernel/numa_balancing", "sys/class/infiniband/mlx5_ib0/ports/1/state",
         "sys/class/infiniband/mlx5_ib0/ports/1/rate", "sys/class/infiniband/mlx5_ib0/ports/1/link_layer",
         "sys/class/infiniband/mlx5_ib0/ports/1/counters/symbol_error",
         "sys/class/infiniband/mlx5_ib0/ports/1/counters/link_downed", "sys/class/infiniband/mlx5_ib0/fw_ver")


def functions():
    with open(os.path.join(SOURCES, "src/vendor/nvml_abi.h"), encoding="utf-8") as file:
        return re.findall(r"X\((nvml\w+),", file.read())


class Unread(unittest.TestCase):
    def run_with(self, faults, sku, nodes, profile):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            words = [MUSTER, "sim", "--sku", sku, "--nodes", str(nodes), "--report", report]
            words += [word for fault in faults for word in ("--fault", fault)]
            done = subprocess.run(words + ["--", "--profile", profile], stdout=subprocess.PIPE, check=False,
                                  stderr=subprocess.STDOUT, text=True, timeout=400, stdin=subprocess.DEVNULL)
            self.assertTrue(os.path.exists(report), done.stdout)
            with open(report, encoding="utf-8") as file:
                return json.load(file), done.stdout

    def check_node(self, report, number, source):
        """Values that are null because of this source have `unread`, and each check that wanted one of them has a finding.
        Returns how many checks that are."""
        node = next(node for node in report["run"]["nodes"] if node["name"] == f"sim-{number}")
        samples = node["samples"] + [s for rank in node["ranks"] for s in rank["samples"]]
        lost = [s for s in samples if s["value"] is None and re.search(rf"{source}\b", s["reason"])]
        self.assertEqual([s["metric"] for s in lost if "unread" not in s], [], f"{source}: in silence")
        wanted = {(s["metric"], *sorted(s.get("labels", {}).items())) for s in lost}
        judged = 0
        for tally in report["checks"]:
            skipped = tally["count"].get("skip", 0) == sum(tally["count"].values())
            where = tally.get("where", {}).items()
            if skipped and "skipped" in tally or not any(
                    tally.get("metric") == metric and all(label in labels for label in where)
                    for metric, *labels in wanted):
                continue
            judged += 1
            about = [f for f in report["findings"] if f["check"] == tally["check"] and
                     (f["where"].get("node") in (None, node["name"]) or f.get("unread")) or
                     f["status"] != "skip" and re.search(rf"{source}\b", f.get("observed", ""))]
            blocked = any(tally["check"] in f.get("blocked", []) for f in report["findings"])
            self.assertTrue(about or blocked, f"{source}: {tally['check']}: {tally}")
        return judged

    def check_report(self, report, text, lost):
        if any(f["status"] == "skip" and f.get("unread") for f in report["findings"]):
            self.assertTrue(report["summary"]["not_measured"])
            self.assertIn("\nnot measured: ", text)
        elif report["verdict"] == "pass" and lost:
            self.fail("a pass without a word of what was not measured")

    def check_each(self, sku, nodes, sources, fault, least, profile):
        seen = 0
        for begin in range(0, len(sources), nodes):
            part = sources[begin:begin + nodes]
            faults = [fault.format(number=i + 1, source=source) for i, source in enumerate(part)]
            report, text = self.run_with(faults, sku, nodes, profile)
            lost = 0
            for i, source in enumerate(part):
                with self.subTest(source=source):
                    lost += bool(self.check_node(report, i + 1, source))
            self.check_report(report, text, lost)
            seen += lost
        self.assertGreaterEqual(seen, least, "sources whose loss leaves a value out")

    def test_functions_of_nvml(self):
        self.check_each("Standard_NC40ads_H100_v5", NODES, functions(), "nvml-error@node{number}={source}:999", 25,
                        "standard")

    def test_files_of_the_kernel(self):
        self.check_each("Standard_ND96asr_v4", 4, FILES, "device-missing@node{number}=/{source}", 5, "quick")


unittest.main()
