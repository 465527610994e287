# SPDX-License-Identifier: Apache-2.0
"""What the tests of commands that read a report share: a folder, a PATH with nothing but stand-ins, made-up reports."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from made_reports import finding, report, save

MUSTER = sys.argv[1]
H2D = {"gpu": "000b:00:00.0", "metric": "gpu.h2d_gbps", "observed": "11.2", "expected": "at least 21 GB/s",
       "proof": "hard"}


def h2d(node):
    return {**finding("fail", "copy.h2d", node, **H2D), "value": 11.2, "unit": "GB/s"}


def bind(node):
    return finding("fail", "affinity.cpus", node, metric="rank.cpu_locality", observed="outside", expected="inside")


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "bin"))
        self.environment = dict(os.environ, PATH=os.path.join(self.folder, "bin"), FAKE_SLURM=self.folder)

    def muster(self, *arguments):
        return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=60, env=self.environment,
                              cwd=self.folder, check=False)

    def save(self, *arguments, name="report.json", **more):
        return save(self.folder, name, report(*arguments, **more))
