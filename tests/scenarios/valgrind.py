#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated runs with every process of muster's under valgrind: memcheck must have nothing to say in any of them.

usage: valgrind.py MUSTER [-j N] [--table TABLE[:CASE,...]]... [--test 'SCRIPT WORD...']...
       (exits with 77 when there is no valgrind, or MUSTER has a sanitizer in it)

Without tables and tests, a few small runs, the first of them with a bad read that must be found. A table is one of
faults.json, families.json, rings.json, traffic.json and workers.json: all of its cases, or only the named ones. A test is a script of
this folder and what follows MUSTER on its command line. N of them run at a time.

What a run finds, and how a test ends, is not looked at: under valgrind a probe may be too slow for its deadline. The
run's own deadline is lengthened in tables; it must end within that, with a report.
"""

import argparse
import collections
import concurrent.futures
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import faults
import workers

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = ["--sku", "Standard_NC40ads_H100_v5", "--nodes"]
QUICK = ["--", "--profile", "quick"]
DEADLINE_S = 900  # of a run: many ranks are slow under valgrind
LEAVING_S = 120  # that its end may take after that
TEST_S = 1800

# what it is, the command line, what the complaints must hold (None: there must be none)
CASES = [
    ("a bad read in a worker is found", [*SMALL, "1", "--fault", "dies@rank0=cuInit:overread", *QUICK],
     "0 bytes after a block of size 4,321 alloc'd"),
    ("a healthy run", [*SMALL, "2", *QUICK], None),
    ("workers that die and lie", [*SMALL, "2", "--fault", "dies@rank0=nvmlDeviceGetTemperature:half-line",
                                  "--fault", "dies@rank0=curl_easy_perform:exit",
                                  "--fault", "dies@rank1=cuInit:kill", *QUICK], None),
]


def write_script(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


class Folder:
    """Where one case leaves its files: `wrapper` before a muster's command line puts it under valgrind, and `muster` is one
    that is. A process that becomes another program keeps its number, so that logs are named by commands too."""

    def __init__(self, muster, path):
        self.path, self.logs, self.scratch = path, os.path.join(path, "logs"), os.path.join(path, "tmp")
        os.mkdir(self.logs)
        os.mkdir(self.scratch)
        suppressions = [f"{HERE}/valgrind.supp", *glob.glob("/usr/share/openmpi/*valgrind*.supp")]
        words = ["valgrind", "-q", "--vgdb=no", "--vex-guest-chase=no", f'--log-file={self.logs}/"$2".$$',
                 *(f"--suppressions={name}" for name in suppressions)]
        self.wrapper = write_script(os.path.join(path, "wrapper"), f'exec {" ".join(words)} "$@"')
        self.muster = write_script(os.path.join(path, "muster"), f'exec {self.wrapper} {os.path.abspath(muster)} "$@"')

    def run(self, command, seconds):
        """What is wrong with how it ended: it is told to end when it takes longer than this."""
        with open(os.path.join(self.path, "out"), "w", encoding="utf-8") as out, subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                env=dict(os.environ, TMPDIR=self.scratch, MUSTER_SIM_WRAPPER=self.wrapper)) as child:
            try:
                child.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGTERM)  # and not kill: it has ranks to end and files to remove
                child.wait()
                return [f"it had not ended after {seconds} s"]
        return []

    def processes(self):
        """How many processes of each command there were."""
        return collections.Counter(name.partition(".")[0] for name in os.listdir(self.logs))

    def complaints(self):
        """What memcheck says. Of a signal that somebody sent, a stand-in to itself perhaps, it says nothing."""
        found = []
        for name in sorted(os.listdir(self.logs)):
            with open(os.path.join(self.logs, name), encoding="utf-8", errors="replace") as file:
                found += [f"{name}:\n{text}" for text in paragraphs(file.read())]
        return found


def paragraphs(log):
    """What valgrind says, one complaint each, without the process's number before every line. It leaves the log open as
    descriptor 3 when that is free: what a program writes there is in the log too, and no complaint."""
    lines = re.findall(r"(?m)^(?:(==|--|\*\*)\d+\1 ?|(?=valgrind: |vex ))(.*)$", log)
    return [text for text in re.split(r"\n\s*\n", "\n".join(line for _, line in lines)) if text.strip()]


def simulate(folder, command_of):
    """A run of muster. What is wrong with it, and what it said of itself in the end."""
    command = without(command_of(folder.muster, folder.path), "--deadline")
    problems = folder.run([*command, "--deadline", str(DEADLINE_S)], DEADLINE_S + LEAVING_S)
    try:
        with open(os.path.join(folder.path, "report.json"), encoding="utf-8") as file:
            end = ended(json.load(file))
    except (OSError, ValueError) as error:
        end = "no report"
        problems.append(f"there is no report: {error}")
    started = folder.processes()
    if min(started["sim-rank"], started["run"], started["sim-worker"], started["worker"]) < 1:
        problems.append(f"not all of it ran under valgrind: {dict(started)}")
    return problems, end


def ended(report):
    """What the report says in the end, and how far its probes came."""
    probes = collections.Counter(probe["status"] for node in report["run"]["nodes"] for rank in node["ranks"]
                                 for probe in rank["probes"])
    return report["verdict"] + ", probes: " + " ".join(f"{count} {status}" for status, count in sorted(probes.items()))


def without(words, option):
    """The words without this option and its value."""
    if option not in words:
        return words
    at = words.index(option)
    return words[:at] + words[at + 2:]


def test(folder, words):
    """A test, which starts muster itself, more than once perhaps."""
    script, *more = words.split()
    interpreter = sys.executable if script.endswith(".py") else "sh"
    problems = folder.run([interpreter, os.path.join(HERE, script), folder.muster, *more], TEST_S)
    return problems if folder.processes() else [*problems, "nothing ran under valgrind"], "tested"


def small(words):
    """What gives the command line of one of CASES."""
    return lambda muster, path: [muster, "sim", "--report", os.path.join(path, "report.json"), *words]


def cases_of(table):
    """Name, and what gives the command line, of the cases of TABLE[:CASE,...]."""
    name, _, names = table.partition(":")
    with open(name, encoding="utf-8") as file:
        cases = {case["name"]: case for case in json.load(file)}
    label = os.path.splitext(os.path.basename(name))[0]
    for case in map(cases.__getitem__, names.split(",") if names else cases):
        module = workers if "deaths" in case else faults
        yield f"{label}.{case['name']}", functools.partial(module.command_of, case)


def look(muster, name, how, what, wanted):
    """Run one of them. What is to be printed, what it started, and whether it is good."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vg-") as path:
        folder = Folder(muster, path)
        problems, end = how(folder, what)
        problems += folder.complaints()
        if wanted:
            problems = [] if any(wanted in text for text in problems) else [*problems, f"nobody said: {wanted}"]
        if problems:
            with open(os.path.join(path, "out"), encoding="utf-8", errors="replace") as file:
                problems.append("its output ends with:\n" + file.read()[-3000:])
        started = folder.processes()
    took = time.monotonic() - began
    lines = [f"{'FAILED' if problems else 'ok    '} {name}: {sum(started.values())} processes, {end}, {took:.0f} s"]
    lines += ["    " + text.strip().replace("\n", "\n    ")[:20000] for text in problems]
    return "\n".join(lines), started, not problems


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].partition("\n       (")[0])
    parser.add_argument("muster")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--test", action="append", default=[])
    options = parser.parse_args()
    with open(options.muster, "rb") as file:
        sanitized = b"__asan_init" in file.read()
    if sanitized or not shutil.which("valgrind"):
        print("a sanitizer is in this build" if sanitized else "there is no valgrind")
        return 77
    todo = [(name, simulate, command_of, None) for table in options.table for name, command_of in cases_of(table)]
    todo += [(words, test, words, None) for words in options.test]
    todo = todo or [(name, simulate, small(words), wanted) for name, words, wanted in CASES]
    failed, started = 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for done in concurrent.futures.as_completed([pool.submit(look, options.muster, *case) for case in todo]):
            text, processes, good = done.result()
            print(text, flush=True)
            failed += not good
            started += processes
    print(f"{len(todo)} cases, {failed} failed; {sum(started.values())} processes: " +
          ", ".join(f"{count} {command}" for command, count in sorted(started.items())), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
