#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs with recorded noise: detection.py on a small scale, and simulated runs that play it.

usage: test_detection.py MUSTER
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import detection
import thin_noise

MUSTER = sys.argv.pop(1)
SKU = "Standard_NC80adis_H100_v5"  # two GPUs


def simulate(report, *words, profile="standard"):
    return subprocess.run([MUSTER, "sim", "--sku", SKU, *words, "--report", report, "--", "--profile", profile], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)


class Detection(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = os.path.join(folder.name, "report.json")

    def run_tool(self, *words):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "detection.py")
        return subprocess.run([sys.executable, script, MUSTER, *words], text=True, stdout=subprocess.PIPE, check=True, timeout=300).stdout

    def test_healthy_runs_pass_and_a_large_loss_fails(self):
        simulate(self.report)
        said = self.run_tool(self.report, "--healthy", "20", "--loss", "50", "--runs", "4")
        self.assertRegex(said, r"(?m)^\| 1 × 2 GPUs, standard \| 0 of 20 \(0\.0 to 16\.1 %\) \|")
        found = dict(re.findall(r"^\| 50 % \| (\w+) \| 1 × 2 GPUs, standard \| (\d of 4 .*\| \d of 4 .*\| \d) of 4 ", said, re.M))
        self.assertEqual(list(found), [part for part in detection.LOSSES if part not in ("rail", "disk")], said)  # one node, no --storage
        counts = {part: re.findall(r"(\d)(?: of 4|$)", text) for part, text in found.items()}
        warned_failed_named = {"copies": ["4", "4", "4"], "memory": ["4", "4", "4"],
                               "products": ["4", "0", "4"], "edge": ["4", "0", "4"]}  # no value of H100 NVL is published: inferred
        self.assertEqual({part: counts[part] for part in warned_failed_named}, warned_failed_named)
        self.assertEqual(counts["ring"][::2], ["4", "4"])

    def test_the_table_comes_between_its_markers(self):
        page = self.report + ".md"
        with open(page, "w", encoding="utf-8") as file:
            file.write("before\n<!-- detection: begin -->\nan old one\n<!-- detection: end -->\nafter\n")
        self.run_tool("--table", page, "--quick")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"(?s)\Abefore\n<!-- detection: begin -->\n.*simulated.*<!-- detection: end -->\nafter\n\Z")
        self.assertIn("| NC80adis_H100_v5, 1 node | 0 of 20 (0.0 to 16.1 %) |", text)
        self.assertRegex(text, r"\| memory \| 10 % \| 50 % \|\n.*\n\| NC80adis_H100_v5, 1 node \| .* \| all \|")
        self.assertRegex(text, r"\| disk \(no noise was recorded: simulated values alone\) \|")
        self.assertNotIn("an old one", text)
        self.assertNotIn("| rail", text)
        with open(page, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(\| (memory|products) \|.*\n.*\n\| NC80adis_H100_v5, 1 node \|).*", r"\1 of before |", text))
        self.run_tool("--table", page, "--quick", "--rows", "^memory")
        with open(page, encoding="utf-8") as file:
            self.assertEqual(re.sub(r"(\| products \|.*\n.*\n\|[^|]*\|).*", r"\1 of before |", text), file.read())

    def test_a_part_is_named_when_no_other_one_is(self):
        part = detection.Part("sim-2", [("0002:00:00.0", 5)])
        node = detection.Part("sim-2", [("0001:00:00.0", 4), ("0002:00:00.0", 5)], True)
        pair = "slow between these two: 9 GB/s between sim-1 GPU 0 (0001:00:00.0) and sim-2 GPU 1 (0002:00:00.0)"

        def finding(observed="9", **where):
            return {"check": "ring.x", "where": where, "observed": observed}
        gpu, rank, other, whole, ring = (finding(node="sim-2", gpu="0002:00:00.0", rank=5), finding(node="sim-2", rank=5), finding(node="sim-2", rank=4),
                                         finding(node="sim-2"), finding())
        for findings, of_gpu, of_node in (([], False, False), ([gpu], True, True), ([rank], True, True), ([whole], False, True), ([other], False, True),
                                          ([gpu, other], False, True), ([finding(pair)], True, True), ([finding(pair, node="sim-2")], True, True),
                                          ([ring], False, False), ([ring, rank], True, True), ([rank, finding(node="sim-1")], False, False)):
            self.assertEqual((part.named(findings), node.named(findings)), (of_gpu, of_node), findings)
        self.assertTrue(detection.Part().named([ring]))

    def test_cells_that_miss_the_goal_are_bold(self):
        warned, failed, silent = ({("copy.h2d", "warn")}, True), ({("copy.h2d", "fail")}, True), (set(), False)
        for runs, percent, parts, text in (([warned] * 20, 10, 8, "all / 0 / all"), ([warned] * 20, 30, 8, "**all / 0 / all**"), ([failed] * 20, 30, 8, "all"),
                                           ([silent] * 20, 8, 8, "0"), ([silent] * 20, 10, 8, "**0**"), ([silent] * 20, 10, 7, "0"),
                                           ([warned] * 10 + [silent] * 10, 5, 8, "10 (30–70) / 0 / 10 (30–70)")):
            self.assertEqual(detection.cell(runs, percent, parts), text)

    def test_noise_is_played_as_the_simulator_plays_it(self):  # tests/unit/sim/test_noise.c
        series = detection.Series([(0, 1), (10, 10), (30, 2), (40, 1)])
        for begin, ms, takes in (0, 1, 1), (10, 1, 10), (9.5, 1, 5.5), (5, 12, 35), (39, 1.5, 2), (369.5, 1, 5.5), (0, 1700, 4000):
            self.assertAlmostEqual(series.end(begin, ms) - begin, takes, 6)

    def test_operations_that_are_alike_are_one_row_however_many(self):
        quiet = [(0.5 * i, 0.99 if i % 2 else 1.01) for i in range(200000)]  # the time grows with the number, not its square
        rows = [*quiet, (100000.0, 2.0), (100000.5, 2.04), (100001.0, 1.0)]
        thin = list(thin_noise.thinned(rows, 0.05))
        self.assertEqual([ms for ms, _ in thin], [0, 100000.0, 100001.0, 100001.1])
        for factor, wanted in zip((factor for _, factor in thin), (1, 2.02, 1, 1)):
            self.assertAlmostEqual(factor, wanted, 6)

    def test_simulated_runs_with_noise_pass(self):
        for number in range(1, 6):
            for profile in "quick", "standard":
                done = simulate(self.report, "--noise", "noisy-a", "--noise-seed", str(number), profile=profile)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
