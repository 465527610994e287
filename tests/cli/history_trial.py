#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster history trial` on a fleet of 200 nodes over 14 days (tools/fleet.py): whom drains would have taken, by the rule
as it is told here once more; how often a check is wrong; which thresholds no machine came near.

usage: history_trial.py MUSTER
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")

import json
import shutil
import subprocess
import tempfile
import time
import unittest

import fleet
from detection import limits
from report_commands import MUSTER

ASK = ("history", "trial", "--simulated", "--since", "2026-11-01")


def drains_of(runs):
    """{check: when it would have drained the node first}"""
    strikes, drained = {}, {}
    for started, found, _ in runs:
        strikes = {key: first for key, first in strikes.items() if found or started - first > 7 * fleet.DAY}
        for check, (part, fault) in found.items():
            first = strikes.setdefault((check, part), started)
            if fault == fleet.HARD or started - first >= 60:
                drained.setdefault(check, started)
    return drained


class Trial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.db = os.path.join(cls.folder, "fleet.db")
        cls.nodes = fleet.make(MUSTER, cls.db)

    def ask(self, *more):
        done = subprocess.run([MUSTER, *ASK, "--db", self.db, *more], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def tables(self, *more):
        table, tables = json.loads(self.ask("--format", "json", *more)), []
        while table:
            tables.append(table)
            table = table.get("next")
        return tables

    def test_exactly_the_bad_nodes_would_have_been_drained(self):
        wanted = []
        for node, runs in sorted(self.nodes.items()):
            for check, when in drains_of(runs).items():
                since = [bool(found) for started, found, _ in runs if started > when]
                wanted.append((node, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)), check, sum(since), len(since) - sum(since)))
        self.assertEqual([one[0] for one in wanted], sorted(fleet.BAD))
        self.assertEqual([(row["node"], row["time"], row["check"], row["failed_since"], row["passed_since"])
                          for row in self.tables()[1]["rows"]], wanted)
        self.assertEqual([row["proof"] for row in self.tables()[1]["rows"]], ["hard", "soft", "soft"])

    def test_each_check_has_its_rate_of_false_alarms(self):
        rows, total = self.tables()[0]["rows"], sum(map(len, self.nodes.values()))
        drained = [check for runs in self.nodes.values() for check in drains_of(runs)]
        for row in rows:
            check, failed, nodes, hour, passed = row["check"], 0, set(), 0, 0
            for node, runs in self.nodes.items():
                for started, found, _ in runs:
                    if check in found:
                        later = [other for at, other, _ in runs if 0 < at - started <= 3600]
                        failed, hour, passed = failed + 1, hour + bool(later), passed + ({} in later)
                        nodes.add(node)
            self.assertEqual([row[key] for key in ("runs", "nodes", "drained", "followed", "passed")],
                             [failed, len(nodes), drained.count(check), hour, passed], check)
            for key, value in zip(("false_alarms", "low", "high"), (100 * passed / hour, *limits(passed, hour))):
                self.assertAlmostEqual(row[key], value, delta=0.01)
        self.assertEqual([row["check"] for row in rows], ["copy.h2d", "gpu.count", "load.sustained", "step.compute"])
        self.assertEqual((rows[0]["passed"], rows[3]["false_alarms"]), (len(fleet.FLAPPY["gpu-010"][1]), 100))
        failed = sum(bool(found) for runs in self.nodes.values() for _, found, _ in runs)
        low, high = limits(failed, total)
        self.assertIn(f"{total} runs (one node in one report) of 200 nodes in 14 days, 2026-11-01 to 2026-11-14: {100 * failed / total:.2f} % of "
                      f"them failed a check of the machine (95 % limits: {low:.2f} to {high:.2f} %)", self.tables()[0]["notes"])

    def test_thresholds_that_no_machine_came_near(self):
        """Not copy.d2h, which healthy machines come near, nor copy.h2d, which a bad one passed."""
        table = self.tables()[2]
        self.assertEqual([(row["check"], row["bound"], row["threshold"]) for row in table["rows"]],
                         [("load.bf16", "at least", 165), ("gpu.remapped_rows", "at most", 511)])
        self.assertTrue(41 < table["rows"][0]["percent"] < 43 and table["rows"][1]["percent"] == 100, table["rows"])
        [command] = [note.split(": ", maxsplit=1)[1] for note in table["notes"] if "muster baseline" in note]
        done = subprocess.run([MUSTER, *command.split()[1:]], capture_output=True, text=True, cwd=self.folder, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lint = subprocess.run([MUSTER, "skus", fleet.SKU, "--overlay", fleet.SKU + ".json"], capture_output=True, cwd=self.folder, check=False)
        self.assertEqual(lint.returncode, 0, lint.stderr)

    def test_a_page_in_all_forms_and_of_some_nodes(self):
        text, page, table = self.ask(), self.ask("--format", "html"), self.ask("--format", "csv")
        for title in ("Nodes that would have been drained", "Thresholds that no machine came near"):
            self.assertIn(f"\n\n{title}\n", text)
            self.assertIn(f"<h2>{title}</h2>", page)
        self.assertEqual((page.count("<table"), len(table.split("\n\n"))), (3, 3))
        self.assertIn("1 more rows: --rows 0", self.ask("--rows", "2"))
        one = self.tables("--node", "gpu-077,gpu-078", "--since", "2026-11-08")
        self.assertEqual([row["time"][:10] for row in one[1]["rows"]], ["2026-11-08"])
        none = self.ask("--node", "gpu-001", "--sku", "other")
        self.assertIn("no run failed a check of the machine\n\nNodes that would have been drained\nnone\n", none)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
