#!/usr/bin/python3
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

    def test_healthy_runs_pass_and_a_large_loss_fails(self):
        simulate(self.report)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "detection.py")
        said = subprocess.run([sys.executable, script, MUSTER, self.report, "--healthy", "20", "--loss", "50", "--runs", "4"], text=True,
                              stdout=subprocess.PIPE, check=True, timeout=300).stdout
        self.assertRegex(said, r"(?m)^\| 1 × 2 GPUs, standard \| 0 of 20 \(0\.0 to 16\.1 %\) \|")
        found = re.findall(r"^\| 50 % \| (\w+) \| 1 × 2 GPUs, standard \| (\d) of 4 .*\| (\d) of 4 .*\| (\d) of 4 ", said, re.M)
        self.assertEqual([part for part, *_ in found], list(detection.LOSSES), said)
        self.assertEqual({(warned, named) for part, warned, _, named in found}, {("4", "4")}, said)
        self.assertEqual({failed for part, _, failed, _ in found if part != "ring"}, {"4"}, said)

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
