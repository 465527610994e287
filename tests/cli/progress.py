#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The progress of a run under mpirun: a line that moves where a person watches it, and nothing but lines elsewhere.

mpirun is started in a session of its own on a pseudo-terminal, as a shell would.

usage: progress.py MUSTER
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MUSTER = os.path.abspath(sys.argv[1])
SKU = "Standard_NC48ads_A100_v4"  # two GPUs
ESCAPE = "\x1b["
MOVES = re.compile(r"\r\x1b\[K *\d+\.\d s  [a-z:, -]+: \d of 2 ranks done, (about \d+ s|less than 1 s|at least \d+ s|longer than usual)", re.IGNORECASE)
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none -np 2"


class Progress(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def prepare(self):
        """The words that start a rank on the stand-ins."""
        place = os.path.join(self.folder, "sim")
        subprocess.run([MUSTER, "sim", "--sku", SKU, "--prepare", place], check=True, capture_output=True, timeout=60)
        return place

    def on_terminal(self, command, tostop=False):
        """A shell command in the foreground of a terminal: its exit code, and all that the terminal shows."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            environment = dict(os.environ, TERM="xterm", MUSTER_METADATA_URL="", OMPI_ALLOW_RUN_AS_ROOT="1",
                               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            for name in ("MUSTER_TERMINAL", "MUSTER_PROGRESS"):
                environment.pop(name, None)
            os.execvpe("sh", ["sh", "-c", command], environment)
        if tostop:
            modes = termios.tcgetattr(terminal)
            modes[3] |= termios.TOSTOP
            termios.tcsetattr(terminal, termios.TCSANOW, modes)
        text, end = b"", time.monotonic() + 120
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        else:
            os.kill(pid, signal.SIGKILL)
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode()

    def command(self, more=""):
        return f"{MPIRUN} {MUSTER} sim-rank {self.prepare()} -- {MUSTER} run --profile quick {more}"

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def assert_moves(self, text):
        self.assertRegex(text, MOVES)
        self.assertNotIn("-1 s", text)
        self.assertNotIn("s: starting ranks", text)
        shown = [re.sub(r".*\r\x1b\[K", "", line, flags=re.DOTALL) for line in text.replace("\r\n", "\n").split("\n")]
        # MPI may print behind the line, which then stays
        self.assertEqual([line for line in shown if re.search(r"ranks done(, about [\d.a-z ]+ left)?$", line)], [],
                         "the line that stays at the end")

    def assert_lines(self, text):
        self.assertNotIn(ESCAPE, text)
        self.assertRegex(text, r"muster: 0\.\d s: starting MPI: 2 ranks\n")
        self.assertRegex(text, r"muster: \d+\.\d s: starting ranks\n(muster: \d+\.\d s: [a-z:, -]+\n)+")

    def test_under_mpirun_on_a_terminal_the_line_moves(self):
        code, text = self.on_terminal(self.command().replace("quick", "standard"))
        self.assertEqual(code, 0, text)
        self.assert_moves(text)
        self.assertEqual(text.count("s: starting MPI: 2 ranks"), 1, text)
        self.assertGreater(len(set(re.findall(r"s  ([a-z:, -]+): \d of", text))), 2, "phases")
        last = text.rstrip().splitlines()[-1]
        self.assertTrue(last.startswith("MUSTER PASS"), text)

    def test_a_script_between_mpirun_and_muster_does_not_matter(self):
        path = os.path.join(self.folder, "wrap")
        with open(path, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n"$@"\nexit $?\n')
        os.chmod(path, 0o755)
        code, text = self.on_terminal(self.command().replace("-np 2", f"-np 2 {path}"))
        self.assertEqual(code, 0, text)
        self.assert_moves(text)

    def test_output_in_files_has_lines_though_there_is_a_terminal(self):
        for where in (">out 2>err", "2>err", "2>&1 | cat >err"):
            code, text = self.on_terminal(f"{self.command()} {where}")
            self.assertEqual(code, 0, text)
            self.assertNotIn("ranks done", text)
            self.assert_lines(self.read("err"))
            shutil.rmtree(os.path.join(self.folder, "sim"))

    def test_in_the_background_nothing_disturbs_the_terminal(self):
        """As a shell with job control starts it: mpirun has a process group that is not the terminal's."""
        code, text = self.on_terminal(f"set -m; {self.command('>out')} & wait $!")
        self.assertEqual(code, 0, text)
        self.assertNotIn("ranks done", text)

    def test_a_terminal_that_stops_writers_is_left_alone(self):
        code, text = self.on_terminal("sleep 0.5; " + self.command(), tostop=True)
        self.assertEqual(code, 0, text)
        self.assertNotIn("ranks done", text)

    def test_off_and_json_show_no_line(self):
        for more in ("--progress off", "--log-format json"):
            code, text = self.on_terminal(self.command(more))
            self.assertEqual(code, 0, text)
            self.assertNotIn("ranks done", text)
            self.assertEqual("starting ranks" in text, "json" in more)
            self.assertEqual("starting MPI: 2 ranks" in text, "json" in more)
            shutil.rmtree(os.path.join(self.folder, "sim"))

    def test_muster_sim_and_node_move_it_too(self):
        for command in (f"{MUSTER} sim --sku {SKU} -- --profile quick", f"{MUSTER} sim --alone --sku {SKU} -- --profile quick"):
            code, text = self.on_terminal(command)
            self.assertEqual(code, 0, text)
            self.assertRegex(text, r"\r\x1b\[K *\d+\.\d s  [a-z:, -]+: \d of \d ranks? done, ")

    def test_muster_sim_says_on_a_terminal_that_mpirun_starts(self):
        sim, starts = f"{MUSTER} sim --sku {SKU}", r"muster: mpirun starts \d+ ranks?\r\n"
        for command, said in ((f"{sim} -- --profile quick", True), (f"{sim} --alone -- --profile quick", False),
                              (f"{sim} -- --profile quick --progress off", False), (f"{sim} -- --profile quick 2>&1 | cat", False),
                              (f"{sim} -- --profile quick --log-format=json", False)):
            _, text = self.on_terminal(command)
            (self.assertRegex if said else self.assertNotRegex)(text, starts, command)

    def test_a_pipe_gets_lines_unless_it_is_asked_for_more(self):
        for options, moves in ((), False), (("--progress", "line"), True):
            done = subprocess.run([MUSTER, "sim", "--sku", SKU, "--", "--profile", "quick", *options], cwd=self.folder, check=False,
                                  capture_output=True, timeout=100,
                                  env={**{k: v for k, v in os.environ.items() if k != "MUSTER_TERMINAL"}, "TERM": "xterm"})
            errors = done.stderr.decode()
            self.assertEqual(done.returncode, 0, errors)
            self.assertEqual(ESCAPE in errors, moves, errors)
            self.assertNotIn(ESCAPE, done.stdout.decode())
            if not moves:
                self.assert_lines(errors)
            else:
                self.assertRegex(errors, r"(\x1b\[A)?\r\x1b\[K *\d+\.\d s  starting ranks: \d of 2 ranks done, [a-z0-9 ]+\n")

    def test_a_wrong_word_is_one_line(self):
        for environment, options, said in (({"MUSTER_PROGRESS": "yes"}, (), "MUSTER_PROGRESS: auto, line or off is needed"),
                                           ({}, ("--progress", "yes"), "--progress: auto, line or off is needed")):
            done = subprocess.run([MUSTER, "run", *options], cwd=self.folder, check=False, capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, **environment))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn(said, done.stderr)


del sys.argv[1:]
unittest.main()
