#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands print on a terminal: as wide as it is, the verdict once more where its first line has left the screen.

usage: terminal.py MUSTER EXAMPLES
"""

import fcntl
import gzip
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import many, save

MUSTER, EXAMPLES = sys.argv[1:3]
CLEAR = "\r\x1b[K"  # before each line of the progress, and after the last one
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")


def show(columns, lines, *words, **environment):
    """The lines that a command prints on a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    parts = []

    def read():
        try:
            while True:
                parts.append(os.read(ours, 65536))
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    subprocess.run([MUSTER, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, timeout=300, check=False,
                   env={**os.environ, **environment})
    os.close(theirs)
    reader.join()
    os.close(ours)
    return ESCAPES.sub("", b"".join(parts).decode().replace(CLEAR, "\n")).splitlines()


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        with gzip.open(os.path.join(EXAMPLES, "report.json.gz"), "rt", encoding="utf-8") as file:
            example = json.load(file)
        cls.report, cls.many = (save(cls.directory.name, name, value) for name, value in (("a.json", example), ("b.json", many(example))))
        for node in example["run"]["nodes"][::3]:
            for sample in node["ranks"][0]["samples"]:
                if sample["metric"] == "gpu.h2d_gbps":
                    sample["value"] /= 2
                    sample.pop("values", None)
        cls.slow = save(cls.directory.name, "c.json", example)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def fits(self, lines, columns):
        for line in lines:
            if not line.startswith(("  --exclude=", "  muster ", "MUSTER ")) and "/share/muster/configs/" not in line:
                self.assertLessEqual(len(line), columns, line)

    def test_every_text_is_as_wide_as_the_terminal(self):
        for words in (["report", self.many], ["report", self.report], ["report", self.report, "--inventory"], ["check", self.report],
                      ["diff", self.report, self.slow], ["skus"], ["skus", "Standard_ND96asr_v4"], ["metrics"]):
            widest = {}
            for columns in (80, 133, 400):
                lines = show(columns, 50, *words)
                with self.subTest(words=words[0], columns=columns):
                    self.assertGreater(len(lines), 5)
                    self.fits(lines, min(columns, 240))
                widest[columns] = max(len(line) for line in lines if not line.startswith(("  --exclude=", "MUSTER ")))
            self.assertGreater(widest[133], 80, words)

    def test_a_narrower_terminal_gets_80_columns(self):
        self.assertEqual(show(40, 50, "report", self.many), show(80, 50, "report", self.many))

    def test_the_first_screen_says_what_is_wrong_where_and_what_to_do(self):
        screen = "\n".join(show(80, 24, "report", self.many)[:23])
        for text in ("FAIL: 24 of 512 nodes failed.", "4 kinds of faults", "FAIL  8 nodes  copy.h2d", "FAIL  8 nodes  history.xid",
                     "FAIL  8 nodes  ib.state", "warn  3 nodes  same.driver", "gpu-[129-136]", "fix-fabric: ", "\n  --exclude=gpu-[007-008,011,",
                     f"\n  muster nodes {self.many} --bad --format exclude"):
            self.assertIn(text, screen)

    def test_the_command_can_be_pasted(self):
        lines = show(80, 24, "report", self.many)
        command = next(line for line in lines if line.startswith("  muster nodes "))
        option = next(line for line in lines if line.startswith("  --exclude="))
        done = subprocess.run(["sh", "-c", command.replace("muster", MUSTER, 1)], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, option.strip()))

    def test_the_verdict_comes_again_only_where_it_has_left_the_screen(self):
        for lines, times in ((24, 2), (2000, 1)):
            with self.subTest(lines=lines):
                text = show(80, lines, "report", self.many)
                self.assertEqual(text.count("FAIL: 24 of 512 nodes failed."), times)
                self.assertTrue(text[-1].startswith("MUSTER FAIL sku="))
                self.assertEqual(text[-2] == "FAIL: 24 of 512 nodes failed.", times == 2)

    def test_a_pipe_gets_120_columns_unless_columns_says_otherwise(self):
        def widest(**environment):
            done = subprocess.run([MUSTER, "report", self.many], capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, **environment})
            return max(len(line) for line in done.stdout.splitlines() if not line.startswith("MUSTER "))
        environment = os.environ.pop("COLUMNS", None)
        self.assertIn(widest(), range(112, 121))
        self.assertIn(widest(COLUMNS="170"), range(150, 171))
        self.assertIn(widest(COLUMNS="many"), range(112, 121))
        if environment:
            os.environ["COLUMNS"] = environment

    def test_a_list_is_wrapped_for_a_terminal_and_not_for_a_file(self):
        listed = subprocess.run([MUSTER, "skus"], capture_output=True, text=True, timeout=60, check=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(show(80, 50, "skus", "--output", os.path.join(folder, "list")), [])
            with open(os.path.join(folder, "list"), encoding="utf-8") as file:
                self.assertEqual(file.read(), listed)

    def test_a_simulated_run_knows_the_terminal_of_the_user(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = show(80, 12, "sim", "--sku", "Standard_NC48ads_A100_v4", "--alone", "--report", os.path.join(folder, "r.json"))
        self.fits(lines[lines.index("PASS"):], 80)
        self.assertEqual(lines.count("PASS"), 2, "the text has more than 12 lines")
        self.assertTrue(lines[-1].startswith("MUSTER PASS "))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
