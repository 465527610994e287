#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--log-format json: every line on standard error is an object that a log collector understands.

usage: log.py MUSTER
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MUSTER = sys.argv[1]
SKU = "Standard_NC80adis_H100_v5"
KEYS = {"time": str, "level": str, "message": str, "job": str, "node": str, "rank": int, "probe": str, "check": str, "status": str,
        "gpu": str, "gpu_index": int, "port": str, "metric": str, "value": (int, float), "unit": str, "observed": str, "expected": str, "action_code": str,
        "proof": str, "source": str,
        "verdict": str, "sku": str, "nodes": int, "ranks": int, "failed": int, "warned": int, "simulated": bool, "report": str}


class Log(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.report = os.path.join(self.folder, "report.json")

    def run_muster(self, *arguments, **environment):
        return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=200, cwd=self.folder, check=False,
                              env=dict(os.environ, MUSTER_METADATA_URL="", **environment))

    def simulate(self, *options, faults=(), report=None, alone=False, **environment):
        words = [word for fault in faults for word in ("--fault", fault)] + ["--alone"] * alone
        return self.run_muster("sim", "--sku", SKU, "--nodes", "1", "--report", report or self.report, *words, "--",
                               "--profile", "quick", *options, **environment)

    def lines(self, text):
        self.assertTrue(text.endswith("\n"))
        found = []
        for line in text.splitlines():
            value = json.loads(line)
            self.assertLessEqual({"time", "level", "message"}, set(value), line)
            self.assertRegex(value["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(value["level"], ("debug", "info", "warn", "error"))
            for key, content in value.items():
                self.assertIsInstance(content, KEYS[key], line)
            found.append(value)
        return found

    def test_every_line_is_an_object_and_the_findings_are_among_them(self):
        done = self.simulate("--log-format", "json", faults=["h2d-slow@node1/gpu1=11"])
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = self.lines(done.stderr)
        errors = [line for line in lines if line["level"] == "error"]
        self.assertEqual([(line["node"], line["rank"], line["probe"], line["job"]) for line in errors],
                         [("sim-1", 1, "gpu_copy", "1")])
        self.assertRegex(errors[0]["message"], r"^fail copy\.h2d on GPU 1 \(0002:00:00.0\): observed 11 GB/s, "
                         r"17 % of PCIe 5\.0 x16 \(63 GB/s\), 2 of 2: 11, 11, expected at least ")
        self.assertEqual({key: errors[0][key] for key in ("check", "status", "metric", "unit")},
                         {"check": "copy.h2d", "status": "fail", "metric": "gpu.h2d_gbps", "unit": "GB/s"})
        self.assertAlmostEqual(errors[0]["value"], 11, places=3)
        self.assertTrue(errors[0]["message"].endswith(f": observed {errors[0]['observed']}, expected {errors[0]['expected']}"))
        self.assertIn("azurehpc-health-checks", errors[0]["source"])
        self.assertEqual({key: lines[-1][key] for key in ("verdict", "sku", "nodes", "ranks", "failed", "warned", "simulated", "report")},
                         {"verdict": "fail", "sku": SKU, "nodes": 1, "ranks": 2, "failed": 1, "warned": 0, "simulated": True,
                          "report": self.report})
        last = done.stdout.rstrip("\n").rpartition("\n")[2]
        self.assertEqual(lines[-1]["message"], last, "the last line is in both")
        self.assertTrue(last.startswith("MUSTER FAIL "))
        self.assertIn("starting MPI: 2 ranks", lines[0]["message"])
        self.assertIn("starting ranks", lines[1]["message"])

    def test_a_probe_that_hangs_is_told_when_it_does(self):
        done = self.simulate("--log-format=json", "--probe-deadline", "6", faults=["nccl-hang@rank1=init"])
        lines = self.lines(done.stderr)
        told = [line for line in lines if line.get("probe") == "nccl_allreduce" and line.get("rank") == 1]
        self.assertTrue(any(re.match("(hung|error): .", line["message"]) for line in told), done.stderr)

    def test_steps_are_lines_too(self):
        # without mpirun, which may put the lines of one rank into a line of another
        done = self.simulate("--log-format", "json", alone=True, MUSTER_TRACE="1")
        debug = [line for line in self.lines(done.stderr) if line["level"] == "debug"]
        self.assertEqual({line.get("rank") for line in debug if "ncclCommInit" in line["message"]}, {0, 1})
        self.assertGreater(len(debug), 20)

    def test_a_report_on_stdout_leaves_stderr_to_the_log(self):
        done = self.simulate("--log-format", "json", report="-")
        self.assertEqual(json.loads(done.stdout)["verdict"], "pass")
        self.assertTrue(self.lines(done.stderr)[-1]["message"].startswith("MUSTER PASS "))

    def test_mistakes_are_objects_too(self):
        for arguments in (("--foo", "--log-format", "json"), ("--log-format=json", "--deadline", "1"),
                          ("--log-format", "json", "--overlay", "none.json"),
                          ("--log-format", "json", "--report", os.path.join(self.folder, "none", "x.json"))):
            for command in ("run", "node"):
                done = self.run_muster(command, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), (command, arguments, done.stderr))
                self.assertEqual([line["level"] for line in self.lines(done.stderr)], ["error"])
        done = self.run_muster("run", "--log-format", "xml")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("--log-format: text or json is needed", done.stderr)

    def test_text_stays_as_it_was(self):
        done = self.simulate(faults=["h2d-slow@node1/gpu1=11"])
        self.assertEqual(done.returncode, 1)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^muster: \d+\.\d s: ")


unittest.main(argv=sys.argv[:1])
