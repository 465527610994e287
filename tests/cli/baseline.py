#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster baseline` on reports of one simulated machine whose speeds vary, and what `run`, `check` and `diff` make of it.

usage: baseline.py MUSTER EXPECTATIONS_SCHEMA DIFF_SCHEMA
"""

import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, save

try:
    import jsonschema
except ImportError:
    jsonschema = None

MUSTER, EXPECTATIONS, DIFF = sys.argv[1:4]
SKU = "Standard_NC80adis_H100_v5"  # two GPUs on each of two nodes
REPORTS = 30
SPREAD = 0.003  # of the values, as a standard deviation
SPEEDS = ("gpu.h2d_gbps", "gpu.d2h_gbps", "gpu.h2d_together_gbps", "gpu.d2h_together_gbps",
          "nccl.allreduce_busbw_gbps", "pair.exchange_gbps")


def run(*words):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=200, check=False)


def samples(report):
    yield from report["run"]["job"]["samples"]
    for node in report["run"]["nodes"]:
        for holder in [node, *node["ranks"]]:
            yield from holder["samples"]


def schema_of(path, part=None):
    whole = json.loads(Path(path).read_text(encoding="utf-8"))
    return {**whole, "$ref": part, "allOf": [], "required": [], "unevaluatedProperties": True} if part else whole


class Baseline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.folder = cls.directory.name
        path = os.path.join(cls.folder, "base")
        done = run("sim", "--sku", SKU, "--nodes", "2", "--report", path, "--", "--profile", "quick")
        assert done.returncode == 0, done.stdout + done.stderr
        cls.base = json.loads(Path(path).read_text(encoding="utf-8"))
        cls.reports = [cls.report(f"report-{day:02}", day) for day in range(1, REPORTS + 1)]
        cls.learned = os.path.join(cls.folder, "learned.json")
        cls.done = run("baseline", *cls.reports, "--output", cls.learned)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    @classmethod
    def report(cls, name, day, edit=None):
        """Another run on the same machine, with other values."""
        report = copy.deepcopy(cls.base)
        chance = random.Random(day)
        report["run"]["job"]["started"] = f"2026-10-{day:02}T12:00:00Z"
        for sample in samples(report):
            if sample["metric"] in SPEEDS and sample["value"] is not None:
                sample["value"] *= 1 + chance.gauss(0, SPREAD)
        if edit:
            edit(report)
        return save(cls.folder, name, report)

    @staticmethod
    def slow(factor, *metrics):
        def edit(report):
            for sample in report["run"]["nodes"][1]["ranks"][0]["samples"]:
                if sample["metric"] in metrics:
                    sample["value"] *= factor
        return edit

    def path(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def checks(path):
        return json.loads(Path(path).read_text(encoding="utf-8"))["checks"]

    def findings(self, report, overlay=None):
        """Of `muster check`: (check, node, rank) of what failed or warned."""
        done = run("check", report, "--overlay", overlay or self.learned, "--report", self.path("checked"))
        found = json.loads(Path(self.path("checked")).read_text(encoding="utf-8"))["findings"]
        return done.returncode, [(f["status"], f["check"], f["where"].get("node"), f["where"].get("rank"))
                                 for f in found if f["status"] in ("fail", "warn", "inconclusive")]

    def test_the_overlay_is_what_was_measured(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""), self.done.stdout)
        checks = self.checks(self.learned)
        self.assertEqual({check["metric"] for check in checks.values()}, set(SPEEDS))
        copies = checks["baseline.gpu.h2d_gbps.quick"]
        values = []
        for path in self.reports:
            with open(path, encoding="utf-8") as file:
                values += [s["value"] for s in samples(json.load(file)) if s["metric"] == "gpu.h2d_gbps"]
        middle = sorted(values)
        median = (middle[59] + middle[60]) / 2
        distances = sorted(abs(value - median) for value in values)
        self.assertEqual(copies["baseline"]["n"], 120)
        self.assertAlmostEqual(copies["baseline"]["median"], median, places=4)
        self.assertAlmostEqual(copies["baseline"]["mad"], (distances[59] + distances[60]) / 2, places=4)
        self.assertEqual(copies["source"], "learned from 30 simulated reports, 2026-10-01 to 2026-10-30")
        self.assertEqual((copies["certainty"], copies["when"]), ("measured", {"profile": "quick"}))
        ring = [check for check in checks.values() if check["metric"] == "nccl.allreduce_busbw_gbps"]
        self.assertEqual([(c["baseline"]["n"], c["where"]["nodes"], c["when"]["ranks"]) for c in ring], [(30, 2, 4)])
        if jsonschema:
            with open(self.learned, encoding="utf-8") as file:
                jsonschema.Draft202012Validator(schema_of(EXPECTATIONS, "#/$defs/overlay")).validate(json.load(file))
        self.assertEqual(run("lint", "--sku", SKU, self.learned).stdout, "1 file, no problem\n")
        shown = run("skus", SKU, "--overlay", self.learned).stdout
        self.assertRegex(shown, r"baseline\.gpu\.h2d_gbps\.quick.*\n +expected +gpu\.h2d_gbps: at least .* \(7 % less than "
                                r"the median of 120 earlier values, .*; warning below .*\)\n.*\n +after +copy\.h2d\n")

    def test_healthy_runs_pass_and_ten_percent_fail(self):
        for day in range(1, 13):
            healthy = self.report("healthy", 100 + day, lambda r: r["run"]["job"].update(started="2026-11-01T00:00:00Z"))
            self.assertEqual(self.findings(healthy), (0, []), day)
        slow = self.report("slow", 200, self.slow(0.9, "gpu.d2h_gbps"))
        code, found = self.findings(slow)
        self.assertEqual(code, 1)
        self.assertEqual([f for f in found if f[0] == "fail"], [("fail", "baseline.gpu.d2h_gbps.quick", "sim-2", 2)])
        warned = self.report("warned", 201, self.slow(0.94, "gpu.h2d_together_gbps"))
        self.assertEqual(self.findings(warned), (0, [("warn", "baseline.gpu.h2d_together_gbps.quick", "sim-2", 2)]))
        # what follows from a slow copy has no finding of its own
        both = self.report("both", 202, self.slow(0.92, "gpu.h2d_gbps", "gpu.h2d_together_gbps"))
        self.assertEqual(self.findings(both)[1][0], ("fail", "baseline.gpu.h2d_gbps.quick", "sim-2", 2))
        self.assertNotIn("baseline.gpu.h2d_together_gbps.quick", [f[1] for f in self.findings(both)[1]])

    def test_a_run_is_evaluated_by_it(self):
        for fault, code, checks in (([], 0, []), (["--fault", "d2h-slow@node2/gpu1=48.7"], 1, ["baseline.gpu.d2h_gbps.quick"])):
            done = run("sim", "--sku", SKU, "--nodes", "2", *fault, "--report", self.path("run"), "--", "--profile", "quick",
                       "--overlay", self.learned)
            self.assertEqual(done.returncode, code, done.stdout)
            found = json.loads(Path(self.path("run")).read_text(encoding="utf-8"))["findings"]
            self.assertEqual([f["check"] for f in found if f["status"] == "fail"], checks)
        self.assertRegex(done.stdout, r"observed +\d+(\.\d+)? % below 54\.\d*, the median of 120 earlier values")

    def test_few_values_are_refused_by_name(self):
        done = run("baseline", *self.reports[:6], "--output", self.path("few"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"^muster: not learned: Standard_NC80adis_H100_v5, nccl\.allreduce_busbw_gbps"
                                      r"\{bytes=67108864,nodes=2,ranks=4\}, profile quick: 6 values, at least 20 are needed\n$")
        self.assertNotIn("nccl.allreduce_busbw_gbps", [c["metric"] for c in self.checks(self.path("few")).values()])
        done = run("baseline", *self.reports[:4], "--output", self.path("none"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("muster: no metric has 20 values: no overlay is written\n", done.stderr)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_nodes_that_failed_do_not_teach(self):
        failed = self.report("failed", 40 - 10, lambda r: (r["findings"].append(finding("fail", "copy.h2d", "sim-2", rank=2)),
                                                            r.update(verdict="fail"), self.slow(0.2, "gpu.h2d_gbps")(r)))
        done = run("baseline", *self.reports[:25], failed, "--output", self.path("some"))
        self.assertEqual(done.returncode, 0, done.stderr)
        checks = self.checks(self.path("some"))
        self.assertEqual(checks["baseline.gpu.h2d_gbps.quick"]["baseline"]["n"], 25 * 4 + 2)
        ring = [check for check in checks.values() if check["metric"] == "nccl.allreduce_busbw_gbps"]
        self.assertEqual(ring[0]["baseline"]["n"], 25)  # the job failed

    def test_a_report_that_is_given_twice_counts_once(self):
        done = run("baseline", *self.reports, *self.reports[:3], "--output", self.path("twice"))
        self.assertEqual((done.returncode, done.stderr), (0, "muster: 3 reports given twice: it counts once\n"))
        with open(self.path("twice"), encoding="utf-8") as one, open(self.learned, encoding="utf-8") as other:
            self.assertEqual(one.read(), other.read())

    def test_simulated_and_real_reports_are_not_mixed(self):
        real = self.report("real", 25, lambda r: (r.update(simulated=False), r["run"]["job"].update(simulated=False),
                                                  [n.update(simulated=False) for n in r["run"]["nodes"]]))
        done = run("baseline", self.reports[0], real, "--output", self.path("mixed"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"muster: {self.reports[0]} is simulated, and {real} is not: real machines are not "
                                      "learned from simulated ones\n")
        self.assertFalse(os.path.exists(self.path("mixed")))

    def test_machine_types_have_an_overlay_each(self):
        def of_type(name, month):
            def edit(report):
                report["sku"]["name"] = name
                report["run"]["job"]["started"] = report["run"]["job"]["started"].replace("-10-", f"-{month}-")
            return [self.report(f"{month}-{day}", day, edit) for day in range(1, 11)]
        others = of_type("other", 11)
        done = run("baseline", *self.reports, *others, "--metric", "gpu.h2d_gbps", "--output", self.path("one.json"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("the values are of several machine types, Standard_NC80adis_H100_v5, other: choose one", done.stderr)
        self.assertFalse(os.path.exists(self.path("one.json")))
        os.mkdir(self.path("many"))
        done = run("baseline", *self.reports, *others[1:], "--metric", "gpu.h2d_gbps", "--output", self.path("many"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("many"))), ["Standard_NC80adis_H100_v5.json", "other.json"])
        done = run("baseline", *self.reports, *others, "--sku", "other", "--metric", "gpu.h2d_gbps", "--output", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(json.loads(done.stdout)["checks"]), ["baseline.gpu.h2d_gbps.quick"])
        done = run("baseline", *of_type("../x", 12), "--metric", "gpu.h2d_gbps", "--output", self.path("many"))
        self.assertEqual(done.returncode, 2)
        self.assertIn('the machine type "../x" is no name of a file', done.stderr)

    def test_a_time_is_worse_when_it_is_longer(self):
        path = self.path("times")
        done = run("baseline", *self.reports, "--metric", "nccl.allreduce_us", "--output", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        (check, ) = self.checks(path).values()
        slow = self.report("slow-job", 203, lambda r: [s.update(value=s["value"] * 1.1) for s in samples(r)
                                                       if s["metric"] == "nccl.allreduce_us"])
        code, found = self.findings(slow, path)
        self.assertEqual((code, [f[:2] for f in found]), (1, [("fail", "baseline.nccl.allreduce_us.67108864.2.4.quick")]))
        self.assertEqual(check["min_of_baseline"], 0.93)

    def test_what_makes_no_sense_is_refused(self):
        one = self.reports[0]
        for words, said in (
                ([], "no report given: muster baseline REPORT"),
                ([one], "--output is needed"),
                ([one, "--db", "x", "--output", "x"], "give reports or --db, not both"),
                ([one, "--since", "2026-01-01", "--output", "x"], "--since needs --db"),
                ([one, "--simulated", "--output", "x"], "--simulated needs --db"),
                ([one, "--metric", "gpu.speed", "--output", "x"], '--metric: no such metric: "gpu.speed"'),
                ([one, "--metric", "gpu.name", "--output", "x"], "neither a higher nor a lower gpu.name is the worse one"),
                ([one, "--warn", "7", "--output", "x"], "--warn 7 has no effect: --fail is 7"),
                ([one, "--profile", "slow", "--output", "x"], "--profile"),
                (["/nonexistent", "--output", "x"], "/nonexistent"),
                ([EXPECTATIONS, "--output", "x"], EXPECTATIONS),
                ([one, "--sku", "other", "--output", "x"], "nothing to learn from"),
                ([*self.reports, "--output", "/nonexistent/x"], "/nonexistent/x"),
        ):
            done = run("baseline", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_diff_needs_no_report_from_before(self):
        slow = self.report("patched", 204, self.slow(0.9, "gpu.d2h_gbps"))
        done = run("diff", slow, "--baseline", self.learned)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"\nworse\n  gpu\.d2h_gbps: 54\.\d* -> 48\.\d* GB/s, -\d+\.\d % \(variation 5\.0 %, of the "
                                      r"baseline\): node sim-2, GPU ")
        self.assertRegex(done.stdout.splitlines()[-1], r"^MUSTER DIFF WORSE worse=1 better=0 changed=0 same=\d+$")
        done = run("diff", self.reports[3], "--baseline", self.learned, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        value = json.loads(done.stdout)
        self.assertEqual((value["verdict"], value["changes"], value["before"]),
                         ("not_worse", [], {"path": self.learned, "learned": True}))
        self.assertEqual(value["count"]["same"], 4 * 5 + 1)
        fast = self.report("fast", 205, self.slow(1.2, "gpu.d2h_gbps"))
        done = run("diff", fast, "--baseline", self.learned, "--format", "json")
        self.assertEqual(done.returncode, 0)
        value = json.loads(done.stdout)
        self.assertEqual([(c["kind"], c["what"], c["noise_from"]) for c in value["changes"]],
                         [("better", "gpu.d2h_gbps", "baseline")])
        if jsonschema:
            jsonschema.Draft202012Validator(schema_of(DIFF)).validate(value)
        for words, said in ((["--baseline", self.learned, slow], "with --baseline, give one report"),
                            (["--baseline", self.learned, "--db", "x"], "give --baseline or --db, not both"),
                            ([], "give two reports: muster diff BEFORE AFTER, or one and --baseline or --db"),
                            (["--baseline", self.path("base")], self.path("base"))):
            done = run("diff", slow, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(said, done.stderr)
        standard = self.report("standard", 27, lambda r: r["run"]["job"].update(profile="standard"))
        done = run("diff", standard, "--baseline", self.learned)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no baseline for a run like this one: Standard_NC80adis_H100_v5, profile standard, 2 nodes", done.stderr)


    def test_a_history_teaches_the_same(self):
        db = self.path("history.db")
        done = run("history", "add", "--db", db, *self.reports)
        if done.returncode == 2 and "without SQLite" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = self.path("stored.json")
        done = run("baseline", "--db", db, "--simulated", "--output", stored)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        learned, again = self.checks(self.learned), self.checks(stored)
        self.assertEqual(list(learned), list(again))
        for name, check in learned.items():
            self.assertEqual((check["source"], check["baseline"]["n"]), (again[name]["source"], again[name]["baseline"]["n"]))
            for key in ("median", "mad"):
                self.assertAlmostEqual(check["baseline"][key], again[name]["baseline"][key], places=3)
        done = run("baseline", "--db", db, "--simulated", "--since", "2026-10-26", "--output", stored)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        self.assertEqual({c["baseline"]["n"] for c in self.checks(stored).values()}, {20})
        for words, said in (([], "nothing to learn from: no value of a node that passed in the history (--simulated"),
                            (["--since", "26-10-01"], "--since: a date like 2026-10-01 is needed"),
                            (["--simulated", "--sku", "other"], "nothing to learn from")):
            done = run("baseline", "--db", db, *words, "--output", stored)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        # only runs from before the report count
        slow = self.report("slow-later", 206, lambda r: (self.slow(0.9, "gpu.d2h_gbps")(r),
                                                         r["run"]["job"].update(started="2026-11-01T00:00:00Z")))
        done = run("diff", slow, "--db", db, "--format", "json")
        self.assertEqual(done.returncode, 1, done.stderr)
        value = json.loads(done.stdout)
        self.assertEqual([(c["what"], c["where"]["node"]) for c in value["changes"]], [("gpu.d2h_gbps", "sim-2")])
        self.assertEqual(value["before"], {"path": db, "learned": True})
        timeless = self.report("timeless", 206, lambda r: r["run"]["job"].pop("started"))
        self.assertEqual((run("diff", timeless, "--db", db).returncode, run("diff", timeless, "--db", db).stderr),
                         (2, "muster: the report does not say when its run started\n"))
        done = run("diff", self.reports[3], "--db", db)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no metric of Standard_NC80adis_H100_v5, profile quick, has 20 values from before this run", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
