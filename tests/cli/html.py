#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--html of run, node and sim: a page beside the report, whole or not at all; the report and the verdict do not depend
on it. What the page looks like is for tests/browser.

usage: html.py MUSTER
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import unittest

MUSTER = sys.argv[1]


def sim(*arguments):
    return subprocess.run([MUSTER, "sim", "--sku", "Standard_NC40ads_H100_v5", "--alone", *arguments],
                          capture_output=True, text=True, timeout=100, check=False)


class Html(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.report, self.page = os.path.join(self.folder, "r.json"), os.path.join(self.folder, "r.html")

    def verdict(self):
        with open(self.report, encoding="utf-8") as file:
            return json.load(file)["verdict"]

    def test_a_page_is_written_after_the_report_and_nothing_else(self):
        done = sim("--report", self.report, "--html", self.page)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["r.html", "r.json"])
        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(page.startswith("<!DOCTYPE html>\n") and page.endswith("</html>\n"))
        self.assertIn("<title>PASS: Standard_NC40ads_H100_v5, 1 node, 20", page)

    def test_a_page_that_cannot_be_written_leaves_report_and_verdict(self):
        for fault, verdict, code in (([], "pass", 3), (["--fault", "h2d-slow@node1/gpu0=5"], "fail", 1)):
            done = sim("--report", self.report, "--html", "/dev/full", *fault)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(self.verdict(), verdict)
            self.assertTrue(done.stdout.splitlines()[-1].startswith(f"MUSTER {verdict.upper()} "), done.stdout)
            self.assertTrue(done.stdout.splitlines()[-1].endswith(f" report={self.report}"), done.stdout)
            self.assertIn("No space left on device", done.stderr)
            self.assertIn("the HTML page could not be written to /dev/full: ", done.stderr)

    def test_a_page_that_is_not_taken_does_not_keep_the_run(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)  # that reads nothing
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        done = sim("--report", self.report, "--html", fifo, "--", "--deadline", "40")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(self.verdict(), "pass")
        self.assertTrue(done.stdout.splitlines()[-1].startswith("MUSTER PASS "), done.stdout)
        self.assertIn(f"--html: {fifo}: could not be written in time", done.stderr)

    def test_a_file_that_cannot_be_is_said_before_anything_is_measured(self):
        for page, words in ((os.path.join(self.folder, "none", "r.html"), "--html "),
                            ("-", "--html -: a file of its own is needed"),
                            (self.report, "a file of its own is needed")):
            done = sim("--report", self.report, "--html", page)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertEqual([words in line for line in done.stderr.splitlines()], [True], done.stderr)
            self.assertFalse(os.path.exists(self.report))


unittest.main(argv=sys.argv[:1])
