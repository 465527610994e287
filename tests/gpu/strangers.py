#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Other programs on real GPUs: none is found where there is none, and each is named where there is one.

usage: strangers.py GPUS FOLDER TURNS HEALTHY     (FOLDER: where the reports go; muster and mpirun are found by PATH)

HEALTHY runs alone without a finding; then TURNS runs each beside a program that only holds memory, one that only
computes, and one that begins while muster runs. At last, as root, a run as another user.
"""
import os
import subprocess
import sys
import tempfile
import time

from samples import load

HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = ["mpirun", "--bind-to", "none", "-np"]
BAD = ("fail", "warn", "inconclusive")


def command(gpus, profile, report):
    return [*MPIRUN, str(gpus), "muster", "run", "--sku", "generic-nvidia", "--profile", profile, "--deadline", "60",
            "--report", report]


def findings(report):
    return [f"{f['status']} {f['check']}: {f.get('observed')}; {f.get('advice')}" for f in report["findings"]
            if f["status"] in BAD]


def run(arguments, before_end=None):
    """Exit code and text; before_end is called with the process while it runs."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        if before_end:
            before_end()
        text = process.communicate(timeout=120)[0]
    return process.returncode, text


class Stranger:
    def __init__(self, how, mib):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "stranger.py"), "0", how, str(mib)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            sys.exit(f"FAIL  the other program said {line!r} and not {word!r}")

    def come(self):
        self.process.stdin.write("come\n")
        self.process.stdin.flush()

    def leave(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        time.sleep(1)


def healthy(gpus, folder, turns):
    found, profiles = {}, ("quick", "standard")
    for turn in range(turns):
        path = os.path.join(folder, f"alone-{turn}.json")
        code, text = run(command(gpus, profiles[turn % 2], path))
        if code != 0 or findings(load(path)):
            found[turn] = findings(load(path))
            print(text)
    print(f"{'FAIL' if found else 'ok'}    alone: {turns - len(found)} of {turns} runs without a finding {found or ''}")
    return bool(found)


def beside(gpus, folder, how, mib, turns, late):
    """Whether it is named by pid and program in every run."""
    named, last = 0, ""
    for turn in range(turns):
        path = os.path.join(folder, f"beside-{how}{'-late' if late else ''}-{turn}.json")
        stranger = Stranger(how, mib)
        if late:
            code, text = run(command(gpus, "standard", path), lambda: (time.sleep(1.5), stranger.come()))
            stranger.expect("here")
        else:
            stranger.come()
            stranger.expect("here")
            time.sleep(1)
            code, text = run(command(gpus, "quick", path))
        stranger.leave()
        report = load(path)
        words = [line for line in findings(report) if line.startswith("fail ")
                 and str(stranger.process.pid) in line and "python3" in line]
        named += bool(words) and code == 1
        last = words[0] if words else f"exit code {code}: {findings(report)}\n{text}"
    good = named == turns
    print(f"{'ok' if good else 'FAIL'}    {how}{', late' if late else ''}: named in {named} of {turns} runs: {last}")
    return not good


def unprivileged(gpus):
    if os.getuid() != 0:
        return False
    mine = tempfile.mkdtemp() # in a folder that the other user may enter
    os.chmod(mine, 0o777)
    path = os.path.join(mine, "report.json")
    code, text = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "env", "HOME=/tmp", "TMPDIR=/tmp",
                      *command(gpus, "standard", path)])
    if not os.path.exists(path):
        print(f"FAIL  another user: exit code {code}\n{text}")
        return True
    report = load(path)
    log = [s for node in report["run"]["nodes"] for s in node["samples"] if s["metric"] == "node.kernel_log"]
    good = code == 0 and not findings(report) and log and (log[0]["value"] is not None or log[0].get("reason"))
    print(f"{'ok' if good else 'FAIL'}    another user: exit code {code}, {findings(report)}, node.kernel_log {log}")
    return not good


def main():
    gpus, folder, turns, alone = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    bad = healthy(gpus, folder, alone)
    bad += beside(gpus, folder, "hold", 60000, turns, False)
    bad += beside(gpus, folder, "busy", 16, turns, False)
    bad += beside(gpus, folder, "busy", 1024, turns, True)
    bad += unprivileged(gpus)
    sys.exit(1 if bad else 0)


main()
