#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What ranks leave on disk: a healthy run's files give the report that rank 0 wrote; damaged, foreign and missing ones are
named, and never taken for more than they are.

usage: spool.py MUSTER
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIM = ["sim", "--sku", "Standard_NC80adis_H100_v5", "--nodes", "2"]
problems = []


def muster(*words, **options):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=200, **options)


def load(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def check(name, good, *evidence):
    if not good:
        problems.append(f"{name}: " + " ".join(str(one) for one in evidence))


def last_line(done):
    return done.stdout.rstrip("\n").rpartition("\n")[2]


def assemble(name, spool, code, said, *words):
    """Exit code, and what stands on stdout or stderr. Returns the report."""
    path = os.path.join(os.path.dirname(spool), "assembled.json")
    if os.path.exists(path):
        os.unlink(path)
    done = muster("assemble", spool, "--report", path, *words)
    check(name, done.returncode == code and said in done.stdout + done.stderr, done.returncode, done.stdout, done.stderr)
    if code == 2:
        check(name, done.stderr.count("\n") == 1 and not os.path.exists(path), done.stderr)
    return load(path) if os.path.exists(path) else None


def places(report, check_name):
    return [(f["where"].get("node"), f["where"].get("rank")) for f in report["findings"] if f["check"] == check_name]


def same_report(folder, spool):
    report, again = load(os.path.join(folder, "report.json")), assemble("a healthy run", spool, 0, "MUSTER PASS ")
    check("marked as assembled", again["run"]["job"].pop("assembled", False), again["run"]["job"])
    check("time", abs(report["run"]["job"].pop("elapsed_s") - again["run"]["job"].pop("elapsed_s")) < 60)
    check("trial rings were made", len(report["run"].get("trials", [])) >= 3, report["run"].get("trials"))
    check("the report is that of rank 0", report == again)


def damages(folder, spool):
    """Each on a fresh copy: name, what is done to its first file, exit code, what is said."""
    def first(copy):
        return os.path.join(copy, "sim-1.jsonl")

    def append(data):
        def change(copy):
            with open(first(copy), "ab") as file:
                file.write(data)
        return change

    def cut(copy):
        size = os.path.getsize(first(copy))
        os.truncate(first(copy), size - 5)

    def foreign(copy):
        lines = Path(first(copy)).read_text(encoding="utf-8")
        with open(os.path.join(copy, "other.jsonl"), "w", encoding="utf-8") as file:
            file.write(lines.replace('"run": "', '"run": "x').replace('"started": "20', '"started": "19'))

    def long_line(copy):
        with open(os.path.join(copy, "sim-0.jsonl"), "wb") as file:
            for _ in range(100):
                file.write(b"x" * (1 << 20))
            file.write(b"\n")

    def twice(copy):
        shutil.copy(first(copy), os.path.join(copy, "sim-9.jsonl"))

    def fifo(copy):
        os.mkfifo(os.path.join(copy, "sim-0.jsonl"))

    def gone(copy):
        os.unlink(os.path.join(copy, "sim-2.jsonl"))

    def empty(copy):
        for name in os.listdir(copy):
            os.unlink(os.path.join(copy, name))

    def version(copy):
        for name in os.listdir(copy):
            text = Path(copy, name).read_text(encoding="utf-8")
            Path(copy, name).write_text(text.replace('"spool": 2,', '"spool": 7,'), encoding="utf-8")

    return [
        ("a truncated last line", cut, 1, "1 line and 0 files ignored"),
        ("half a line, then nothing", append(b'{"by": "'), 0, "1 line and 0 files ignored"),
        ("bytes that are no text", append(b"\xff\xfe\x00\x1b[31m\n" * 3), 0, "3 lines and 0 files ignored"),
        ("deep nesting", append(b"[" * 100000 + b"\n"), 0, "1 line and 0 files ignored"),
        ("a line of nobody", append(b'{"t": 1}\n'), 0, "1 line and 0 files ignored"),
        ("a line of a process that is not known", append(b'{"by": "00", "t": 1, "step": "x"}\n'), 0, "MUSTER PASS "),
        ("an older run", foreign, 0, "1 other run ignored"),
        ("100 MB without a newline", long_line, 0, "longer than muster's maximum"),
        ("the same file twice", twice, 0, "MUSTER PASS "),
        ("a FIFO", fifo, 0, "0 lines and 1 file ignored"),
        ("a node without a file", gone, 1, "FAIL sim-2 [rank.missing]"),
        ("an empty folder", empty, 2, "none of its 0 .jsonl files"),
        ("another version", version, 2, "another version of muster"),
    ]


def last_deaths(folder, spool):
    """Everything was killed, and one supervisor noted the end of its worker: at the end of all, or long before."""
    for name, at, code, verdict in (("died with the rest", 0.2, 3, "INCONCLUSIVE"), ("died before", 30, 1, "FAIL")):
        copy = os.path.join(folder, "copy")
        shutil.copytree(spool, copy)
        last = 0
        for node in os.listdir(copy):
            path = os.path.join(copy, node)
            with open(path, encoding="utf-8") as file:
                lines = [line for line in file if '"end"' not in line]
            last = max([last] + [json.loads(line).get("t", 0) for line in lines if line.strip()])
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
        path = os.path.join(copy, "sim-2.jsonl")
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        by = next(line["by"] for line in lines if "outcome" in line)
        dead = {"by": by, "t": last, "outcome": {
            "probe": "gpu_copy", "status": "crashed", "elapsed_ms": 7, "detail": "the worker ended: signal 9 (Killed)"}}
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(dead) + "\n")
            file.write("\n" + json.dumps({"by": by, "t": last + at, "step": "the last one"}) + "\n")
        assemble(name, copy, code, f"MUSTER {verdict} ")
        shutil.rmtree(copy)


def expected_nodes(folder, spool):
    report = assemble("nodes that are not there", spool, 1, "FAIL sim-3 [node.missing]", "--expect", "sim-[1-4]")
    check("nodes that are not there", places(report, "node.missing") == [("sim-3", None), ("sim-4", None)],
          report["findings"])
    path = os.path.join(folder, "nodes.txt")
    Path(path).write_text("sim-1\nsim-2\n", encoding="utf-8")
    assemble("a file of nodes", spool, 0, "MUSTER PASS ", "--expect", path)
    for lines, why in (("# hosts of the job\nsim-1\n", "line 1: \"# hosts of the job\""),
                       ("sim-1\nsim-2 slots=8\n", "line 2: \"sim-2 slots=8\""), ("sim-1\n\nsim-2 8\n", "line 3: \"sim-2 8\""),
                       ("sim-1:2\n", "line 1: host list: \"sim-1:2\" is not the name of a node")):
        Path(path).write_text(lines, encoding="utf-8")
        assemble("a file for MPI", spool, 2, why, "--expect", path)
    os.unlink(path)
    assemble("a malformed list", spool, 2, "the expected nodes: host list:", "--expect", "sim-[1-")


def main():
    with tempfile.TemporaryDirectory() as folder:
        spool, copy = os.path.join(folder, "spool"), os.path.join(folder, "copy")
        done = muster(*SIM, "--report", os.path.join(folder, "report.json"), "--", "--spool", spool, "--profile", "quick",
                      "--localise", "always")
        check("the run", done.returncode == 0 and sorted(os.listdir(spool)) == ["sim-1.jsonl", "sim-2.jsonl"],
              done.stdout, done.stderr)
        same_report(folder, spool)
        for name, change, code, said in damages(folder, spool):
            shutil.copytree(spool, copy)
            change(copy)
            assemble(name, copy, code, said)
            shutil.rmtree(copy)
        expected_nodes(folder, spool)
        last_deaths(folder, spool)
        assemble("another machine type", spool, 0, "MUSTER PASS sku=generic-nvidia ", "--sku", "generic-nvidia")
        assemble("no folder", os.path.join(folder, "none"), 2, "No such file")
        blocked = os.path.join(folder, "file")
        with open(blocked, "w", encoding="utf-8"):
            pass
        done = muster(*SIM, "--report", os.path.join(folder, "report.json"), "--", "--spool", blocked)
        check("a file as the folder", done.returncode == 2 and "--spool" in done.stderr, done.returncode, done.stderr)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
