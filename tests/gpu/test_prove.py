#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""prove.py and thief.c on simulated GPUs, and the statistics on made-up runs.

usage: test_prove.py FOLDER     where muster is
"""
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock as mock
import xml.etree.ElementTree as ElementTree

import prove

MUSTER = os.path.abspath(sys.argv.pop(1))


def a_run(number, taken, h2d, trial=False):
    return {"report": f"{number}.json", "taken": taken, "trial": trial, "speeds": {"gpu.h2d_gbps": h2d}}


class Prove(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_tool(self, *words):
        return subprocess.run([sys.executable, "-B", prove.__file__, *words], env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)

    def test_simulated_thefts_are_measured_and_shown(self):
        sku = "Standard_NC80adis_H100_v5"
        few = {name: theft._replace(losses=theft.losses[::4]) for name, theft in prove.THEFTS.items()}
        words = ["prove.py", self.folder, "--sim", f"--sku {sku}", "--gpus", "2", "--sku", sku, "--runs", "20", "--minutes", "60"]
        with mock.patch.object(prove, "THEFTS", few), mock.patch.object(sys, "argv", words), mock.patch.dict(
                os.environ, PATH=f"{MUSTER}:{os.environ['PATH']}"), contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(prove.main(), 0, said.getvalue())
        path = os.path.join(self.folder, "prove.json")
        proved = prove.load(path)
        self.assertEqual((proved["simulated"], proved["lost_runs"]), (True, 0), said.getvalue())
        self.assertEqual(proved["healthy"][sku]["any"]["seen"], 0)
        for name, theft in few.items():
            levels = proved["thefts"][name]
            for level, percent in zip(levels, theft.losses[-len(levels):]):
                self.assertAlmostEqual(100 * level["most"], percent, delta=0.5)
            self.assertFalse(any(level["judges"][sku]["seen"] for level in levels if level["most"] < 0.05), name)
            self.assertGreater(levels[-1]["judges"][sku]["seen"], 0, name)
            self.assertEqual(set(levels[-1]["lost"]), set(theft.metrics))
        ElementTree.parse(os.path.join(self.folder, "prove.svg"))
        page = os.path.join(self.folder, "page.md")
        prove.write_whole(page, "before\n<!-- prove: begin -->\nold\n<!-- prove: end -->\nafter\n")
        self.assertEqual(self.run_tool("--write-docs", page, path).returncode, 0)
        with open(page, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"(?s)\Abefore\n<!-- prove: begin -->\n.*all of it simulated.*\| all \|.*<!-- prove: end -->\nafter\n\Z")

    def test_runs_that_fail_are_noted_and_more_follow(self):
        prove.write_whole(os.path.join(self.folder, "muster"), "#!/bin/sh\necho no GPU; exit 2\n")
        os.chmod(os.path.join(self.folder, "muster"), 0o755)
        done = self.run_tool(self.folder, "--runs", "3")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no healthy run has speeds", done.stdout)
        runs = prove.load(os.path.join(self.folder, "runs.json"))["runs"]
        self.assertEqual([("no GPU" in run["error"], run["speeds"]) for run in runs], [(True, {})] * 3)

    def test_losses_come_from_medians_and_findings_are_counted_by_theft(self):
        runs = [a_run(0, {}, 50), a_run(1, {}, 100), a_run(2, {}, 101), a_run(3, {"copies": 0.1}, 90), a_run(4, {"copies": 0.1}, 10),
                a_run(5, {"copies": 0.1}, 91), a_run(6, {"copies": 0.1}, 1, trial=True)]
        found = {f"{number}.json": set() for number in range(6)}
        found["3.json"] = {("copy.h2d", "gpu.h2d_gbps", "fail"), ("load.bf16", "gpu.gemm_bf16_tflops", "fail")}
        found["4.json"], found["1.json"] = {("copy.h2d", "gpu.h2d_gbps", "warn")}, {("load.bf16", "gpu.gemm_bf16_tflops", "warn")}
        proved = prove.summary(runs, {"a": found, "b": {"1.json": set()}})
        level, = proved["thefts"]["copies"]
        self.assertAlmostEqual(level["most"], 0.1)
        self.assertEqual(level["judges"]["a"], {"runs": 3, "seen": 2, "failed": 1, "checks": "copy.h2d fail 1, copy.h2d warn 1"})
        self.assertEqual([proved["healthy"]["a"][kind]["seen"] for kind in ("any", "copies", "products")], [1, 0, 1])
        self.assertEqual((proved["healthy"]["b"]["any"]["runs"], level["judges"]["b"]["runs"]), (1, 0))
        self.assertEqual([prove.cell(level["judges"][name]) for name in "ab"], ["2 (21–94) / 1 (6–79)", ""])

    def test_amounts_follow_from_two_trials(self):
        theft = prove.Theft("", (), 10, (1, 10, 50), "load")  # each product takes 0.05 of its time more once, and 0.01 for each unit
        amounts = prove.amounts_for(theft, {10: 0.15 / 1.15, 2: 0.07 / 1.07})
        self.assertEqual(amounts, [6.11, 95.0])  # 1 % is less than what it takes once
        self.assertEqual(prove.amounts_for(theft, {10: 0.0, 2: 0.0}), [1.01, 11.1, 100.0])
        self.assertEqual(prove.amounts_for(theft, {}), [1.01, 11.1, 100.0])

    def test_a_round_has_each_amount_and_healthy_runs(self):
        amounts = {"copies": [1, 2, 3], "memory": [4, 5, 6], "products": [7, 8, 9]}
        drawn = [taken for taken, _ in zip(prove.rounds(random.Random(1), amounts), range(8))]
        for several, phase in ((drawn[:4], "memory"), (drawn[4:], "products")):
            self.assertEqual(sorted(taken.get("copies", 0) for taken in several), [0, 1, 2, 3])
            self.assertEqual(sorted(taken.get(phase, 0) for taken in several), [0, *amounts[phase]])
        self.assertEqual(json.dumps(drawn), json.dumps([taken for taken, _ in zip(prove.rounds(random.Random(1), amounts), range(8))]))


if __name__ == "__main__":
    unittest.main()
