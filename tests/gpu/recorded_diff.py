# SPDX-License-Identifier: Apache-2.0
"""`muster diff` of healthy real runs of one host is never worse: two of one version, and one of an older version, without
windows and with fewer checks and metrics, against one that is judged as this version does.

usage: recorded_diff.py MUSTER FOLDER
"""
import glob
import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

MUSTER, FOLDER = sys.argv[1:3]


class Recorded(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def reports(self, host):
        """{"old", "1", "2": path}"""
        found = {}
        for path in sorted(glob.glob(os.path.join(FOLDER, host + "-*.json.gz"))):
            name = os.path.basename(path).removesuffix(".json.gz")
            found[name.removeprefix(host + "-")] = os.path.join(self.directory.name, name)
            with gzip.open(path) as packed, open(os.path.join(self.directory.name, name), "wb") as file:
                file.write(packed.read())
        return found

    def judged(self, path):
        subprocess.run([MUSTER, "check", path, "--sku", "generic-nvidia", "--report", path + ".judged"], capture_output=True,
                       timeout=60, check=False)
        return path + ".judged"

    def hold(self, before, after):
        done = subprocess.run([MUSTER, "diff", before, after, "--format", "json"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["changes"]

    def test_pairs_of_healthy_runs(self):
        for host in ("1xh100-quick", "2xh100-standard"):
            reports = self.reports(host)
            self.assertEqual(set(reports), {"old", "1", "2"})
            for before, after in itertools.permutations(("1", "2"), 2):
                self.hold(reports[before], reports[after])
                self.hold(self.judged(reports[before]), self.judged(reports[after]))

    def test_an_old_report_against_one_of_this_version(self):
        told = []
        for host in ("1xh100-quick", "2xh100-standard"):
            reports = self.reports(host)
            for path in (reports["1"], reports["2"], self.judged(reports["1"]), self.judged(reports["2"])):
                told += self.hold(reports["old"], path)
                self.hold(path, reports["old"])
        # one rank for two GPUs: a check that fails, and that the old version did not have
        self.assertIn(("launch.ranks_per_gpu", "changed", "fail"), {(c["what"], c["kind"], c["after"]) for c in told})


unittest.main(argv=sys.argv[:1])
