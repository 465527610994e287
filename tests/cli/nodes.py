#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster nodes`: made-up reports, and Slurm's own host lists.

usage: nodes.py MUSTER
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, report, save
from report_commands import Commands, h2d


class Nodes(Commands):
    def select(self, path, *arguments, code=0):
        done = self.muster("nodes", path, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_each_node_stands_in_one_list(self):
        names = [f"gpu-{i:02}" for i in range(1, 13)]
        doubt = finding("inconclusive", "ib.state", "gpu-04", metric="port.state", observed="INIT")
        path = self.save(names, [h2d("gpu-03"), finding("fail", "rank.missing", "gpu-09", rank=8), doubt],
                         missing=["gpu-09"])
        self.assertEqual(self.select(path, "--good"), "gpu-[01-02,05-08,10-12]\n")
        self.assertEqual(self.select(path, "--bad"), "gpu-[03,09]\n")
        self.assertEqual(self.select(path, "--inconclusive"), "gpu-04\n")
        self.assertEqual(self.select(path, "--missing"), "gpu-09\n")
        self.assertEqual(self.select(path, "--bad", "--format", "lines"), "gpu-03\ngpu-09\n")
        self.assertEqual(self.select(path, "--bad", "--format", "exclude"), "--exclude=gpu-[03,09]\n")
        self.assertEqual(self.select(path, "--missing", "--expect", "gpu-[01-14]"), "gpu-[09,13-14]\n")
        self.assertEqual(self.select(path, "--good", "--expect", "gpu-[01-14]"), "gpu-[01-02,05-08,10-12]\n")

    def test_an_empty_list_prints_nothing_and_is_no_failure(self):
        path = self.save(["a", "b"], verdict="pass")
        for form in ("hostlist", "lines", "exclude"):
            for which in ("--bad", "--missing", "--inconclusive"):
                self.assertEqual(self.select(path, which, "--format", form), "")
        self.assertEqual(self.select(path, "--good"), "a,b\n")

    def test_nobody_good_is_said_by_the_exit_code(self):
        everybody = self.save(["n1", "n2"], [h2d("n1"), h2d("n2")], name="everybody.json")
        self.assertEqual(self.select(everybody, "--good", code=1), "")
        self.assertEqual(self.muster("nodes", everybody, "--good").stderr,
                         "muster: no good node: at least one check failed\n")
        ring = finding("fail", "ring.busbw", metric="nccl.allreduce_busbw_gbps", observed="17")
        wide = self.save(["n1", "n2"], [ring], name="wide.json")
        done = self.muster("nodes", wide, "--good")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "muster: no good node: ring.busbw fails for the whole job, without a "
                                      "node: 17\n")
        self.assertEqual(self.select(wide, "--bad"), "")
        self.assertEqual(self.select(wide, "--inconclusive"), "n[1-2]\n")
        unknown = self.save(["n1"], [finding("inconclusive", "sku.unknown", observed="no file")],
                            verdict="inconclusive", name="unknown.json")
        self.assertEqual(self.select(unknown, "--good", code=3), "")
        edited = self.save(["n1"], [], verdict="fail", name="edited.json")
        self.assertIn("verdict is not pass, and no finding says why", self.muster("nodes", edited, "--good").stderr)

    def test_a_name_that_is_no_name_prints_nothing_at_all(self):
        for name in ("gpu-1,gpu-2", "gpu-[1-9]", "-w", "a b", "$(reboot)", "x\ny"):
            path = self.save([name, "good"], [h2d(name), h2d("good")])
            done = self.muster("nodes", path, "--bad")
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertNotIn("\x1b", done.stderr)

    def test_what_the_user_gets_wrong_is_one_line(self):
        path = self.save(["a"], verdict="pass")
        for arguments, said in (((path,), "one of --good"), ((path, "--good", "--bad"), "one of --good"),
                                (("--good",), "no report given"), (("none.json", "--good"), "No such file"),
                                ((path, "--good", "--format", "csv"), "hostlist, lines, exclude or json"),
                                ((path, "--missing", "--expect", "a[1"), "--expect: host list")):
            done = self.muster("nodes", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_run_that_nobody_judged_is_refused(self):
        value = report(["a"], verdict="pass")
        for key in ("verdict", "findings", "checks", "summary", "sku", "strict"):
            del value[key]
        done = self.muster("nodes", save(self.folder, "bare.json", value), "--good")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("this run has not been evaluated yet", done.stderr)


@unittest.skipUnless(shutil.which("scontrol"), "no scontrol here")
class HostLists(Commands):
    """Slurm itself on the same names, where it is installed. It needs a configuration, and no daemon."""

    LISTS = (["n1"], ["n1", "n2"], ["n2", "n1", "n1"], ["n8", "n9", "n10", "n11"], ["n08", "n09", "n10"],
             ["n1", "n01", "n001"], ["r1c2n3", "r1c2n4", "r1c3n4"], ["a-1-ib", "a-2-ib"], ["login", "gpu", "n1"],
             ["1", "2", "3"], ["n099", "n100", "n101"], ["n98", "n99", "n100"], ["a.b-7", "a.b-8"],
             ["n0", "n00", "n2"], ["x123456789012", "x123456789013"])

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.folder, "slurm.conf"), "w", encoding="utf-8") as file:
            file.write("ClusterName=t\nSlurmctldHost=localhost\nNodeName=localhost\n")
        self.slurm = dict(os.environ, SLURM_CONF=os.path.join(self.folder, "slurm.conf"))

    def test_slurm_expands_what_muster_compresses(self):
        for names in self.LISTS:
            path = self.save(sorted(set(names)), verdict="pass")
            listed = self.muster("nodes", path, "--good").stdout.strip()
            shown = subprocess.run(["scontrol", "show", "hostnames", listed], capture_output=True, text=True,
                                   timeout=60, env=self.slurm, check=False)
            self.assertEqual(sorted(shown.stdout.split()), sorted(set(names)), f"{listed}: {shown.stderr}")

    def test_muster_expands_what_slurm_compresses(self):
        for names in self.LISTS:
            listed = subprocess.run(["scontrol", "show", "hostlist", ",".join(names)], capture_output=True, text=True,
                                    timeout=60, env=self.slurm, check=True).stdout.strip()
            path = self.save(["other"], verdict="pass")
            shown = self.muster("nodes", path, "--missing", "--expect", listed, "--format", "lines")
            self.assertEqual(shown.stdout.split(), sorted(set(names)), listed)


unittest.main(argv=sys.argv[:1])
