#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster diff` on simulated machines before and after, and on reports in which single values were changed.

usage: diff.py MUSTER SCHEMA
"""

import argparse
import copy
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import detection
from made_reports import save

try:
    import jsonschema
except ImportError:
    jsonschema = None

MUSTER, SCHEMA = sys.argv[1:3]
FAULTS = ("--fault", "h2d-slow@node1/gpu1=35", "--fault", "nvlink-down@node2/gpu0", "--fault",
          "driver-drift@node2=590.11.05")


def simulate(path, *faults):
    """Whatever the verdict is."""
    done = subprocess.run([MUSTER, "sim", "--sku", "Standard_NC80adis_H100_v5", "--nodes", "2", "--report", path, *faults,
                           "--", "--profile", "quick", "--repeat", "3"], capture_output=True, text=True, timeout=200,
                          check=False)
    if not os.path.exists(path):
        raise AssertionError(done.stdout + done.stderr)


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.folder = cls.directory.name
        for name, faults in (("one", ()), ("two", ()), ("hurt", FAULTS)):
            simulate(os.path.join(cls.folder, name), *faults)
        with open(os.path.join(cls.folder, "one"), encoding="utf-8") as file:
            cls.base = json.load(file)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def diff(self, before, after, *arguments):
        return subprocess.run([MUSTER, "diff", os.path.join(self.folder, before), os.path.join(self.folder, after),
                               *arguments], capture_output=True, text=True, timeout=60, check=False)

    def changes(self, before, after, code):
        done = self.diff(before, after, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        value = json.loads(done.stdout)
        if jsonschema:
            with open(SCHEMA, encoding="utf-8") as file:
                jsonschema.Draft202012Validator(json.load(file)).validate(value)
        kinds = [change["kind"] for change in value["changes"]]
        self.assertEqual({kind: kinds.count(kind) for kind in ("worse", "better", "changed")},
                         {kind: value["count"][kind] for kind in ("worse", "better", "changed")})
        return value

    def change(self, edit, name="edited"):
        value = copy.deepcopy(self.base)
        edit(value)
        save(self.folder, name, value)
        return name

    @staticmethod
    def samples(report, metric):
        for node in report["run"]["nodes"]:
            for holder in [node, *node["ranks"]]:
                yield from (sample for sample in holder["samples"] if sample["metric"] == metric)

    def scale(self, metric, factor, which=None, values=None):
        """Multiply a metric, on one thing or on all."""
        def edit(report):
            for i, sample in enumerate(self.samples(report, metric)):
                if which is None or i == which:
                    sample["value"] *= factor
                    sample["values"] = [sample["value"] * share for share in values] if values else \
                        [value * factor for value in sample["values"]]
        return self.change(edit)

    def test_a_machine_against_itself_is_quiet(self):
        self.assertEqual(self.changes("one", "one", 0)["changes"], [])
        value = self.changes("one", "two", 0)
        self.assertEqual((value["verdict"], value["changes"]), ("not_worse", []))
        self.assertGreater(value["count"]["same"], 300)
        self.assertEqual(value["before"]["repeats"], 3)

    def test_what_was_hurt_is_found_and_nothing_else(self):
        value = self.changes("one", "hurt", 1)
        worse = [(c["what"], c["where"].get("node"), c["where"].get("gpu")) for c in value["changes"]
                 if c["kind"] == "worse" and c["about"] == "figure"]
        gpus = [sample["labels"]["gpu"] for sample in self.samples(self.base, "gpu.uuid")]
        self.assertEqual(worse, [("gpu.h2d_gbps", "sim-1", gpus[1]), ("gpu.h2d_together_gbps", "sim-1", gpus[1]),
                                 ("gpu.nvlinks", "sim-2", gpus[2])])
        links = value["changes"][[c["what"] for c in value["changes"]].index("gpu.nvlinks")]
        self.assertEqual(links["before"] - links["after"], 1)
        changed = {(c["what"], c["where"]["node"], c["after"]) for c in value["changes"] if c["kind"] == "changed"}
        self.assertEqual(changed, {("node.driver_version", "sim-2", "590.11.05"),
                                   ("node.library_version", "sim-2", "13.590.11.05"), ("gpu.gsp_firmware", "sim-2", "590.11.05")})
        self.assertEqual([c for c in value["changes"] if c["kind"] == "better"], [])
        back = self.changes("hurt", "one", 0)
        self.assertEqual(back["count"]["worse"], 0)
        self.assertEqual({c["what"] for c in back["changes"] if c["kind"] == "better" and c["about"] == "figure"},
                         {"gpu.h2d_gbps", "gpu.h2d_together_gbps", "gpu.nvlinks"})
        text = self.diff("one", "hurt")
        self.assertEqual(text.returncode, 1)
        self.assertIn("\nworse\n  gpu.h2d_gbps: 54", text.stdout)
        self.assertIn("\nchanged\n  node.driver_version: ", text.stdout)
        self.assertRegex(text.stdout.splitlines()[-1], r"^MUSTER DIFF WORSE worse=\d+ better=0 changed=4 same=\d+$")

    def test_ten_percent_is_found_and_the_noise_is_not(self):
        value = self.changes("one", self.scale("gpu.d2h_gbps", 0.9, which=2), 1)
        self.assertEqual([(c["what"], round(c["percent"]), c["noise_from"]) for c in value["changes"]],
                         [("gpu.d2h_gbps", -10, "repeats")])
        self.assertEqual(self.changes("one", self.scale("gpu.d2h_gbps", 0.96), 0)["changes"], [])
        wide = self.scale("gpu.d2h_gbps", 0.9, values=(0.88, 1, 0.85))
        self.assertEqual(self.changes("one", wide, 0)["changes"], [], "its windows scatter by more")
        better = self.changes("one", self.scale("gpu.d2h_gbps", 1.2), 0)
        self.assertEqual(better["count"]["better"], 4)

    def test_a_speed_of_one_moment_proves_nothing_beside_windows_nor_one_that_varies(self):
        def bare(report, factor=1.0):
            for metric in ("gpu.h2d_gbps", "gpu.h2d_together_gbps"):
                for sample in self.samples(report, metric):
                    sample["value"] *= factor
                    sample.pop("values")
        self.change(bare, "bare")
        for factor, code, kinds in ((0.93, 0, {}), (0.9, 1, {"gpu.h2d_gbps": "worse"}),
                                    (0.7, 1, {"gpu.h2d_gbps": "worse", "gpu.h2d_together_gbps": "changed"})):
            value = self.changes("bare", self.change(lambda report, f=factor: bare(report, f)), code)
            self.assertEqual({c["what"]: c["kind"] for c in value["changes"]}, kinds)
            self.assertTrue(all(c["noise_from"] == "assumption" for c in value["changes"]))
        value = self.changes("one", self.change(lambda report: bare(report, 0.5)), 0)
        self.assertEqual({c["what"] for c in value["changes"]}, {"gpu.h2d_gbps", "gpu.h2d_together_gbps"})

    def test_alike_changes_are_one_line(self):
        text = self.diff("one", self.scale("gpu.h2d_gbps", 0.8)).stdout
        self.assertEqual(text.count("gpu.h2d_gbps"), 1, text)
        self.assertIn("4 GPUs of 2 nodes sim-[1-2], most on node sim-", text)

    def test_a_new_gpu_another_name_and_a_lost_rank_are_told(self):
        def swap(report):
            for sample in self.samples(report, "gpu.uuid"):
                sample["value"] = "GPU-new"
                break
            report["run"]["nodes"][0]["ranks"][0]["gpu_uuid"] = "GPU-new"
        value = self.changes("one", self.change(swap), 0)
        self.assertEqual([(c["kind"], c["what"], c["after"]) for c in value["changes"]],
                         [("changed", "gpu.uuid", "GPU-new")])

        def rename(report):
            report["run"]["nodes"][1]["name"] = "sim-9"
        value = self.changes("one", self.change(rename), 0)
        self.assertEqual([(c["what"], c["where"]["node"]) for c in value["changes"]],
                         [("node", "sim-2"), ("node", "sim-9")])

        def reorder(report):
            """The two GPUs of a node change places: each is still compared with itself."""
            for node in report["run"]["nodes"]:
                first, second = node["ranks"]
                for key in ("gpu", "gpu_uuid", "samples"):
                    first[key], second[key] = second[key], first[key]
        self.assertEqual(self.changes("one", self.change(reorder), 0)["changes"], [])

    def test_a_rank_that_is_missing_is_told_once(self):
        def lose(report):
            rank = report["run"]["nodes"][1]["ranks"][1]
            for key in ("gpu", "gpu_uuid", "local_rank"):
                del rank[key]
            rank.update(missing="nothing came", probes=[], samples=[])
        lost = self.change(lose, "lost")
        value = self.changes("one", lost, 0)
        self.assertEqual([(c["about"], c["what"], c["where"]["node"], c["where"]["rank"], c["before"], c["after"])
                          for c in value["changes"]], [("presence", "rank", "sim-2", 3, "there", None)])
        self.assertEqual(self.changes(lost, lost, 0)["changes"], [])

    def test_a_check_that_begins_to_fail_is_worse(self):
        def warn(report):
            report["findings"].append({"check": "x", "status": "fail", "where": {"node": "sim-1"}, "value": None,
                                       "unit": "", "observed": "o"})
        value = self.changes("one", self.change(warn), 1)
        self.assertEqual([(c["about"], c["what"], c["before"], c["after"]) for c in value["changes"]],
                         [("judgement", "x", "no finding", "fail")])
        self.assertEqual(self.changes(self.change(warn), "one", 0)["count"]["better"], 1)

    def test_a_check_of_another_version_is_never_worse(self):
        """It is new, or asks for something else: its finding is "changed"."""
        def judge(report, expected, status=None):
            check = report["checks"][[check["check"] for check in report["checks"]].index("node.cpus")]
            check.update(check="x", expected=expected)
            if status:
                report["findings"].append({"check": "x", "status": status, "where": {"node": "sim-1"}, "value": None,
                                           "unit": "", "observed": "o"})
        after = self.change(lambda report: judge(report, "at least 4", "fail"), "after")
        for before, kind in (("one", "changed"), (self.change(lambda report: judge(report, "at least 3")), "changed"),
                             (self.change(lambda report: judge(report, "at least 4"), "same"), "worse")):
            value = self.changes(before, after, int(kind == "worse"))
            self.assertEqual([(c["what"], c["kind"]) for c in value["changes"]], [("x", kind)])

    def test_what_cannot_be_compared_is_three(self):
        def profile(report):
            report["run"]["job"]["profile"] = "standard"

        def real(report):
            report["simulated"] = report["run"]["job"]["simulated"] = False
            for node in report["run"]["nodes"]:
                node["simulated"] = False

        def strangers(report):
            for node in report["run"]["nodes"]:
                node["name"] += "x"
        for edit, said in ((profile, "different profiles"), (real, "simulated"), (strangers, "no node in common")):
            value = self.changes("one", self.change(edit), 3)
            self.assertIn(said, value["incomparable"])
            self.assertIn("MUSTER DIFF NOT_COMPARABLE ", self.diff("one", "edited").stdout)

    def test_rings_of_other_sizes_are_left_out(self):
        def smaller(report):
            for sample in report["run"]["job"]["samples"]:
                if "ranks" in sample.get("labels", {}):
                    sample["labels"]["ranks"] = 3
        value = self.changes("one", self.change(smaller), 0)
        self.assertIn("all-reduces of the two runs have different numbers of ranks", value["note"])

    def test_hostile_values_are_printed_harmlessly(self):
        def evil(report):
            for sample in self.samples(report, "node.kernel"):
                sample["value"] = "\x1b[2J\n'\"\u202e"
        text = self.diff("one", self.change(evil)).stdout
        self.assertIn("\\x1b[2J\\n'\"\\u202e: 2 nodes sim-[1-2]\n", text)

    def test_bad_input_is_two(self):
        for arguments in (("one",), ("one", "none"), ("one", "two", "one"), ("one", "two", "--format", "xml")):
            paths = [os.path.join(self.folder, a) if a in ("one", "two", "none") else a for a in arguments]
            done = subprocess.run([MUSTER, "diff", *paths], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)


class Noise(unittest.TestCase):
    """Healthy runs with recorded noise: that they differ is no loss; a lasting one of 10 % is."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def draw(self, base, noise, number, loss=0.0):
        """A report with the speeds of `base`, disturbed; the copies of one GPU have this loss."""
        path = os.path.join(self.directory.name, f"{noise}-{number}-{loss}")
        healthy, rng = detection.Healthy(base), random.Random(number)
        lost = {id(speed[0]): loss for speed in rng.choice(healthy.parts["copies"])[1]} if loss else {}
        options = argparse.Namespace(muster=MUSTER, window="best")
        text = detection.draw(options, detection.read_noise(noise), healthy, [rng.uniform(0, 1e6)], lost, ())
        Path(path).write_text(text, encoding="utf-8")
        subprocess.run([MUSTER, "check", path, "--report", path + ".judged"], capture_output=True, timeout=60, check=False)
        return path + ".judged"

    def test_healthy_runs_are_never_worse_and_a_lasting_loss_is(self):
        for profile in ("quick", "standard"):
            base = os.path.join(self.directory.name, profile)
            subprocess.run([MUSTER, "sim", "--sku", "Standard_NC80adis_H100_v5", "--alone", "--report", base, "--",
                            "--profile", profile], capture_output=True, timeout=200, check=True)
            for noise in ("quiet", "noisy-a"):
                runs = [self.draw(base, noise, number) for number in range(5)]
                for before, after in itertools.permutations(runs, 2):
                    done = subprocess.run([MUSTER, "diff", before, after], capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout)
                slow = self.draw(base, noise, 5, loss=0.12 if profile == "quick" else 0.1)
                done = [subprocess.run([MUSTER, "diff", before, slow], capture_output=True, text=True, timeout=60, check=False)
                        for before in runs]
                self.assertEqual([one.returncode for one in done], [1] * 5, done)


unittest.main(argv=sys.argv[:1])
