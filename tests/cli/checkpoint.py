#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--checkpoint` with simulated GPUs and real folders: what cannot be written to is said before the run, and a file
system that stops answering costs its deadline and is named.

usage: checkpoint.py MUSTER
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from stalling_fs import FSYNC, READ, STATFS, WRITE, StallingFs

IS_ROOT = os.geteuid() == 0


class Checkpoint(unittest.TestCase):
    def setUp(self):
        # no link on the way: root follows none
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="muster-checkpoint-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.report = os.path.join(self.scratch, "report.json")

    def run_muster(self, folder, *options, ranks=4, size="16M"):
        nodes = ["--nodes", str(ranks // 2)]
        return subprocess.run(
            [MUSTER, "sim", "--sku", "Standard_NC80adis_H100_v5", *nodes, "--", "--profile", "standard",
             "--max-bytes", "8M", "--checkpoint", folder, "--checkpoint-bytes", size, "--report", self.report,
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)

    def folder(self, name="shared"):
        path = os.path.join(self.scratch, name)
        os.mkdir(path)
        return path

    def read_report(self):
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)

    def samples(self, report, metric):
        every = [rank["samples"] for node in report["run"]["nodes"] for rank in node["ranks"]]
        return [sample for samples in every + [report["run"]["job"]["samples"]] for sample in samples
                if sample["metric"] == metric]

    # ---- real folders ----

    def test_all_ranks_write_and_read_back_and_leave_nothing(self):
        folder = self.folder()
        done = self.run_muster(folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.read_report()
        self.assertEqual([s["value"] for s in self.samples(report, "rank.checkpoint_wrong")], [0] * 4)
        self.assertEqual([s["value"] for s in self.samples(report, "rank.checkpoint_mib")], [16] * 4)
        self.assertIn("checkpoint", report["run"]["job"]["measures"])
        self.assertEqual(os.listdir(folder), [])

    def assert_refused(self, folder, text, size="16M"):
        done = self.run_muster(folder, size=size)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if "--checkpoint" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(text, lines[0])
        self.assertFalse(os.path.exists(self.report) and os.path.getsize(self.report) > 0)

    def test_no_folder_is_said_before_the_run(self):
        self.assert_refused(os.path.join(self.scratch, "none"), "No such file or directory")

    def test_a_file_in_place_of_a_folder_is_said_before_the_run(self):
        path = os.path.join(self.scratch, "file")
        with open(path, "w", encoding="ascii"):
            pass
        self.assert_refused(path, "Not a directory")

    @unittest.skipUnless(IS_ROOT, "only root follows no links")
    def test_root_follows_no_link(self):
        link = os.path.join(self.scratch, "link")
        os.symlink(self.folder(), link)
        self.assert_refused(link, "is a symbolic link")

    @unittest.skipUnless(IS_ROOT, "only root can make folders of others")
    def test_a_folder_of_another_user_is_refused(self):
        folder = self.folder()
        os.chown(folder, 12345, 12345)
        self.assert_refused(folder, "belongs to another user (12345)")

    @unittest.skipUnless(IS_ROOT, "only root can mount")
    def test_a_folder_that_is_read_only_is_refused(self):
        with Mounted(self.folder(), "ro,size=1g") as folder:
            self.assert_refused(folder, "Read-only file system")

    @unittest.skipUnless(IS_ROOT, "only root can mount")
    def test_too_little_space_for_all_ranks_is_said_before_the_run(self):
        with Mounted(self.folder(), "size=100m") as folder:
            self.assert_refused(folder, "at most half of what is free")

    # ---- a file system that does not answer ----

    def stall(self, *options, deadline="25", **which):
        try:
            with StallingFs(**which) as fs:
                began = time.monotonic()
                done = self.run_muster(fs.folder, "--probe-deadline", deadline, *options)
                self.assertLess(time.monotonic() - began, 90)
        except OSError as error:
            self.skipTest(f"no FUSE here: {error}")
        report = self.read_report()
        found = [f for f in report["findings"] if f["check"] == "probe.checkpoint" and f["status"] == "fail"]
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual([f["where"]["node"] for f in found], ["sim-1", "sim-2"])
        for finding in found:
            self.assertIn(fs.folder, finding["observed"])
            self.assertIn("file system of the folder did not answer", finding["advice"])
        return report, found[0]["observed"]

    def test_a_write_that_never_ends_is_named(self):
        report, observed = self.stall(never=(WRITE,), beyond=8 << 20)
        self.assertIn("no answer within its deadline of 25.0 s", observed)
        self.assertIn("write of 4 MiB at 8 MiB of the rank's file in", observed)
        self.assertEqual(self.samples(report, "rank.checkpoint_write_gbps"), [])
        # whatever came before is there
        self.assertEqual(len(self.samples(report, "rank.step_p50_ms")), 4)

    def test_a_read_that_never_ends_leaves_what_was_written(self):
        report, observed = self.stall(never=(READ,))
        self.assertIn("read of 4 MiB at 0 B of the rank's file in", observed)
        self.assertEqual(len(self.samples(report, "rank.checkpoint_write_gbps")), 4)

    def test_an_fsync_that_never_ends_is_named(self):
        _, observed = self.stall(never=(FSYNC,))
        self.assertIn("fsync of the rank's file in", observed)

    def test_a_folder_that_cannot_even_be_asked_does_not_keep_the_run(self):
        _, observed = self.stall(never=(STATFS,))
        self.assertIn("free space of", observed)


class Mounted:
    """A tmpfs in a folder."""

    def __init__(self, folder, options):
        self.folder, self.options = folder, options

    def __enter__(self):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", self.options, "muster-test", self.folder],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"mount: {done.stderr}")
        return self.folder

    def __exit__(self, *_):
        subprocess.run(["umount", self.folder], check=True)


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
