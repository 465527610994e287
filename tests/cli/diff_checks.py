#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`muster diff` with every check of every shipped configs file: each on a node of its own, from pass to fail (or to a
warning, where it can warn) and back. The types of their metrics do not matter.

usage: diff_checks.py MUSTER CONFIGS
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, node, report, save, tally

MUSTER, CONFIGS = sys.argv[1:3]
# What says how steady a speed is, or how long something took to start: a warning of it is "changed".
UNSTEADY = {"nccl.allreduce_p99_us", "rank.step_p99_ms", "gpu.slow_windows", "rank.slow_windows", "node.slow_windows",
            "job.slow_windows", "rank.cuda_start_ms", "rank.nccl_init_ms"}
NUMBERS = ("bytes", "nodes", "ranks", "numa_node")
VALUES = {"number": (100, 50), "string": ("a", "b"), "boolean": (True, False)}


def output(*arguments):
    return json.loads(subprocess.run([MUSTER, *arguments, "--format", "json"], capture_output=True, check=True, timeout=60).stdout)


METRICS = {metric["name"]: metric for metric in output("metrics")}


def name_of(config):
    return os.path.basename(config).removesuffix(".json")


def made(checks, status=None):
    """A node for each check; its value is the other one where the check has this status."""
    nodes, findings, of_job, tallies = [], [], [], []
    for rank, check in enumerate(checks):
        metric = METRICS[check["metric"]]
        value = VALUES[metric["type"]][status is not None]
        labels = {label: 1 if label in NUMBERS else label for label in metric.get("labels", ())}
        sample = {"metric": check["metric"], **({"labels": labels} if labels else {}), "value": value,
                  **({"values": [value, value]} if metric["type"] == "number" else {})}
        name = f"node-{rank}"
        nodes.append(node(name, rank))
        if metric["scope"] == "job":
            of_job.append(sample)
        else:
            (nodes[-1] if metric["scope"] in ("node", "port") else nodes[-1]["ranks"][0])["samples"].append(sample)
        if status:
            findings.append(finding(status, check["check"], None if metric["scope"] == "job" else name,
                                    metric=check["metric"], **{key: labels[key] for key in ("gpu", "port") if key in labels}))
        tallies.append(tally(check["check"], check["metric"], check["expected"]))
    whole = report([one["name"] for one in nodes], findings, checks=tallies)
    whole["run"]["nodes"] = nodes
    whole["run"]["job"]["samples"] = of_job
    return whole


class Checks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def changes(self, before, after, code):
        done = subprocess.run([MUSTER, "diff", before, after, "--format", "json"], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout[-2000:])
        return json.loads(done.stdout)["changes"]

    def told(self, changes, kind, rank, check):
        """As a finding, or as the value that it is about."""
        place = None if METRICS[check["metric"]]["scope"] == "job" else f"node-{rank}"
        return any(change["kind"] == kind and change["what"] in (check["check"], check["metric"]) and
                   change["where"].get("node") == place for change in changes)

    def test_each_check(self):
        seen = set()
        for config in [name_of(path) for path in sorted(glob.glob(os.path.join(CONFIGS, "Standard_*.json")))] + \
                ["generic-nvidia"]:
            checks = output("skus", config)["checks"]
            seen.update(check["check"] for check in checks)
            for status in ("fail", "warn"):
                chosen = [check for check in checks if status == "fail" or check["severity"] == "warn" or
                          "warning" in check["expected"]]
                before = save(self.directory.name, "before", made(chosen))
                after = save(self.directory.name, "after", made(chosen, status))
                there = self.changes(before, after, 1)
                back = subprocess.run([MUSTER, "diff", after, before, "--format", "json"], capture_output=True,
                                      timeout=60, check=False)
                back = json.loads(back.stdout)["changes"]
                for rank, check in enumerate(chosen):
                    with self.subTest(config=config, check=check["check"], status=status):
                        kinds = ("changed", "changed") if status == "warn" and check["metric"] in UNSTEADY else \
                            ("worse", "better")
                        self.assertTrue(self.told(there, kinds[0], rank, check))
                        self.assertTrue(self.told(back, kinds[1], rank, check))
        named = set()
        for config in glob.glob(os.path.join(CONFIGS, "*.json")):
            with open(config, encoding="utf-8") as file:
                named.update(json.load(file).get("checks", {}))
        self.assertEqual(named - seen, set(), "checks of no machine type")


unittest.main(argv=sys.argv[:1])
