#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash and a real zsh: what stands on the line after the tabulator key.

usage: completion.py MUSTER SOURCE_DIRECTORY
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MUSTER, SOURCE = sys.argv[1:3]
PACKAGING = os.path.join(SOURCE, "src", "packaging")
SKU = "Standard_ND96asr_v4"
WAIT_S = 60


class Shell:
    """An interactive shell on a terminal of its own. A bound key writes the edited line to a file."""

    def __init__(self, argv, directory, setup):
        self.line_file = os.path.join(directory, "line")
        # PATH has muster alone beside the system's programs: the shell finds it by its name
        environment = {"PATH": f"{os.path.dirname(MUSTER)}:/usr/bin:/bin", "HOME": directory, "TERM": "dumb",
                       "LINE_FILE": self.line_file, "PS1": "", "LC_ALL": "C.UTF-8"}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(argv[0], argv, environment)
        self.seen = ""
        self.type(setup + "\necho rea''dy\n")
        self.wait(lambda: "ready" in self.seen)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait(self, is_done):
        end = time.monotonic() + WAIT_S
        while not is_done():
            if time.monotonic() > end:
                raise AssertionError(f"nothing came of the shell:\n{self.seen}")
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")

    def completed(self, typed):
        """The line after the key; the line is then thrown away."""
        if os.path.exists(self.line_file):
            os.remove(self.line_file)
        self.type(typed + "\t\x18l")  # ^X l: the bound key
        self.wait(lambda: os.path.exists(self.line_file) and os.path.getsize(self.line_file) > 0)
        with open(self.line_file, encoding="utf-8") as file:
            return file.read().rstrip("\n")[:-1]  # without the mark at its end

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def bash(directory):
    setup = (f". '{PACKAGING}/completion.bash'\n"
             "line() { printf '%s|\\n' \"$READLINE_LINE\" >$LINE_FILE.new; mv $LINE_FILE.new $LINE_FILE; "
             "READLINE_LINE=; READLINE_POINT=0; }\nbind -x '\"\\C-xl\": line'")
    return Shell([shutil.which("bash"), "--norc", "--noprofile", "-i"], directory, setup)


def zsh(directory):
    functions = os.path.join(directory, "functions")
    os.mkdir(functions)
    shutil.copy(os.path.join(PACKAGING, "completion.zsh"), os.path.join(functions, "_muster"))
    setup = (f"fpath=('{functions}' $fpath); autoload -Uz compinit; compinit -u -d {directory}/dump; "
             "setopt no_list_ambiguous no_auto_menu no_auto_list no_beep\n"
             "line() { print -r -- \"$BUFFER|\" >$LINE_FILE.new; mv $LINE_FILE.new $LINE_FILE; BUFFER= }\n"
             "zle -N line; bindkey '^Xl' line")
    return Shell([shutil.which("zsh"), "-f", "-i"], directory, setup)


# What is typed, and what then stands there.
LINES = (
    ("muster sk", "muster skus "),
    ("muster --ver", "muster --version "),
    ("muster worke", "muster worke"),  # for muster's own use
    ("muster run --prof", "muster run --profile "),
    ("muster run --profile sta", "muster run --profile standard "),
    ("muster run --profile=sta", "muster run --profile=standard "),
    ("muster run --storage --prof", "muster run --storage --profile "),
    ("muster run --log-format j", "muster run --log-format json "),
    ("muster run --sku Standard_NC48ads_A", "muster run --sku Standard_NC48ads_A100_v4 "),
    ("muster check a.json --sku=Standard_NC40", "muster check a.json --sku=Standard_NC40ads_H100_v5 "),
    ("muster run --sku fam", "muster run --sku fam"),  # a parent of others is no machine type
    ("muster sim --sku Standard_ND128isr_N", "muster sim --sku Standard_ND128isr_NDR_GB200_v6 "),
    ("muster sim --fault driver-d", "muster sim --fault driver-drift@"),
    (f"muster sim --sku {SKU} --nodes 3 --fault driver-drift@", f"muster sim --sku {SKU} --nodes 3 --fault driver-drift@node"),
    (f"muster sim --sku {SKU} --fault h2d-slow@node1/gp", f"muster sim --sku {SKU} --fault h2d-slow@node1/gpu"),
    ("muster sim --fault fabric-state@node1/gpu0=in", "muster sim --fault fabric-state@node1/gpu0=in-progress "),
    ("muster sim --noise noisy-b", "muster sim --noise noisy-b "),
    (f"muster sim --sku {SKU} -- --locali", f"muster sim --sku {SKU} -- --localise "),
    (f"muster skus {SKU} copy.h2d_t", f"muster skus {SKU} copy.h2d_together "),
    ("muster metrics gpu.h2d_t", "muster metrics gpu.h2d_together_gbps "),
    ("muster report a.json --format mark", "muster report a.json --format markdown "),
    ("muster nodes a.json --format excl", "muster nodes a.json --format exclude "),
    ("muster report some", "muster report some\\ report.json "),
    ("muster report --output fold", "muster report --output folder/"),
    ("muster assemble fold", "muster assemble folder/"),
    ("muster assemble some", "muster assemble some"),  # a file is no directory
    ("muster metrics some", "muster metrics some"),  # nor a metric
    ("A=b muster skus --form", "A=b muster skus --format "),
    ("true; muster skus --form", "true; muster skus --format "),
)


class Completion(unittest.TestCase):
    def lines(self, name, start):
        if not shutil.which(name):
            self.skipTest(f"no {name}")
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "folder"))
            with open(os.path.join(directory, "some report.json"), "w", encoding="utf-8"):
                pass
            shell = start(directory)
            try:
                for typed, wanted in LINES:
                    with self.subTest(typed=typed):
                        self.assertEqual(shell.completed(typed).rstrip(), wanted.rstrip())
            finally:
                shell.close()

    def test_bash(self):
        self.lines("bash", bash)

    def test_zsh(self):
        self.lines("zsh", zsh)


def offered(*words):
    result = subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.splitlines()


def names(*words):
    return [line.partition("\t")[0] for line in offered(*words) if not line.startswith(":")]


class Offered(unittest.TestCase):
    """All of what --help and the lists of the commands name is offered, and nothing else."""

    def test_every_command_and_option_of_the_help(self):
        commands = re.findall(r"^  ([a-z]+) ", "\n".join(offered("--help")), re.MULTILINE)
        self.assertGreater(len(commands), 10)
        self.assertEqual(names("--complete", ""), [*commands, "--help", "--version"])
        self.assertEqual(commands[-2:], ["help", "version"])
        self.assertEqual(names("help", "--complete", "re"), ["report", "resume"])
        for command in (*commands[:-2], "version"):
            with self.subTest(command=command):
                options = re.findall(r"^  (--[a-z-]+)", "\n".join(offered(command, "--help")), re.MULTILINE)
                options += names("run", "--complete", "-") if command == "sim" else []
                self.assertEqual(sorted(names(command, "--complete", "-")), sorted(set(options)))

    def test_machine_types_faults_checks_and_metrics_are_complete(self):
        skus = [sku["name"] for sku in json.loads("\n".join(offered("skus", "--format", "json")))]
        self.assertEqual(names("skus", "--complete", ""), skus)
        self.assertEqual(names("run", "--complete", "--sku", ""), ["auto", *skus])
        self.assertEqual(names("sim", "--complete", "--sku", ""), offered("sim", "--list-skus"))
        faults = [line.split()[0].partition("@")[0] + "@" for line in offered("sim", "--list-faults")]
        self.assertEqual(names("sim", "--complete", "--fault", ""), faults)
        checks = [check["check"] for check in json.loads("\n".join(offered("skus", SKU, "--format", "json")))["checks"]]
        self.assertEqual(names("skus", "--complete", SKU, ""), checks)
        metrics = [metric["name"] for metric in json.loads("\n".join(offered("metrics", "--format", "json")))]
        self.assertEqual(names("metrics", "--complete", ""), metrics)
        explained = [line.split()[:2] for line in offered("explain", "--list")]
        self.assertEqual(names("explain", "--complete", ""), [name for _, name in explained])
        self.assertEqual(set(names("explain", "--complete", "--list", "")), {kind for kind, _ in explained})

    def test_the_place_of_a_fault_follows_the_machine_and_the_number_of_nodes(self):
        def places(kind, *words):
            return names("sim", "--complete", *words, "--fault", kind + "@")
        self.assertEqual(places("driver-drift", "--nodes", "2"), ["driver-drift@node1", "driver-drift@node2"])
        self.assertEqual(places("dies", "--sku", "Standard_NC48ads_A100_v4", "--nodes=2"),
                         [f"dies@rank{rank}" for rank in range(4)])
        self.assertEqual(places("h2d-slow", "--sku", "Standard_NC48ads_A100_v4"),
                         ["h2d-slow@node1/gpu0", "h2d-slow@node1/gpu1"])
        self.assertEqual(places("ib-down"), ["ib-down@node1/"])

    def test_the_words_of_a_question_are_completed_and_add_adds_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(offered("history", "--complete", "add", "--db", f"{folder}/h.db", "r.json", ""), [":files"])
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(names("history", "--complete", "worst", "--me"), ["--metric"])

    def test_nonsense_is_answered_with_silence(self):
        for words in (("run", "--complete", "--sku"), ("run", "--complete", "x", "y", ""), ("run", "--complete"),
                      ("sim", "--complete", "--fault", "=@="), ("sim", "--complete", "--fault", "nope@"),
                      ("run", "--complete", "--nope=a"), ("skus", "--complete", "nope", ""), ("history", "--complete", "nope", ""),
                      ("sim", "--complete", "--nodes", "x", "--sku", "../..", "--fault", "h2d-slow@"),
                      ("sim", "--complete", "--", "--", ""), ("lint", "--complete", "--", "")):
            with self.subTest(words=words):
                result = subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
