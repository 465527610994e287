#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster check` judges a saved report again, and `muster metrics` prints the catalogue.

usage: check.py MUSTER
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKU = "Standard_ND96asr_v4"


def muster(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=100)


def last_line(result):
    return result.stdout.rstrip("\n").rpartition("\n")[2]


def check_table(report, directory):
    """Name, arguments of `muster check`, exit code, start of the last line or part of stderr."""

    def overlay(name, value):
        path = os.path.join(directory, name)
        Path(path).write_text(json.dumps(value), encoding="utf-8")
        return path

    def judged(name):
        """The report, had it been judged as this machine type."""
        value = json.loads(Path(report).read_text(encoding="utf-8"))
        value["sku"]["name"] = name
        return overlay(f"judged-{abs(hash(str(name)))}.json", value)

    with open(report, encoding="utf-8") as file:
        other = json.loads(file.read().replace(f'"node.vm_size", "value": "{SKU}"', '"node.vm_size", "value": "X"'))
    other["sku"]["name"] = "unknown"
    elsewhere = overlay("elsewhere.json", other)
    floor = overlay("floor.json", {"checks": {"copy.h2d": {"min": 30, "warn_below": None}}})
    doubt = overlay("doubt.json", {"checks": {"copy.h2d": {"warn_below": 30}}})
    inferred = overlay("inferred.json", {"checks": {"copy.h2d": {"warn_below": 30, "source": "s", "certainty": "inferred"}}})
    broken = overlay("broken.json", {"checks": {"copy.h2d": {"min": "30"}}})
    verdict = f"sku={SKU} nodes=1 ranks=8 "
    return [
        ("the same machine type", [report, "--sku", SKU], 0, f"MUSTER PASS {verdict}failed=0 warned=0 report={report}"),
        ("its name in lower case", [report, "--sku", SKU.lower()], 0, f"MUSTER PASS {verdict}"),
        ("any machine", ["--sku=generic-nvidia", report], 0, "MUSTER PASS sku=generic-nvidia "),
        ("a higher floor", [report, "--sku", SKU, "--overlay", floor], 1, f"MUSTER FAIL {verdict}failed=8 warned=0"),
        ("a warning", [report, "--sku", SKU, "--overlay", doubt], 0, f"MUSTER PASS {verdict}failed=0 warned=8"),
        ("strict", [report, "--sku", SKU, "--overlay", doubt, "--strict"], 1, f"MUSTER FAIL {verdict}"),
        ("strict, an inferred value", [report, "--sku", SKU, "--overlay", inferred, "--strict"], 0, f"MUSTER PASS {verdict}failed=0 warned=8"),
        ("strict in all", [report, "--sku", SKU, "--overlay", inferred, "--strict=all"], 1, f"MUSTER FAIL {verdict}"),
        ("strict in what", [report, "--sku", SKU, "--strict=some"], 2, "--strict"),
        ("an unknown machine type", [report, "--sku", "Nobody_v1"], 2, 'no machine type "Nobody_v1" in '),
        ("a broken overlay", [report, "--sku", SKU, "--overlay", broken], 2, 'copy.h2d"].min: a number is needed'),
        ("no such report", [report + "x", "--sku", SKU], 2, "No such file"),
        ("no report named", ["--sku", SKU], 2, "no report given"),
        ("as it was judged before", [report], 0, f"MUSTER PASS {verdict}failed=0 warned=0 report={report}"),
        ("as it was judged before, with an overlay", [report, "--overlay", floor], 1, f"MUSTER FAIL {verdict}"),
        ("recognised", [report, "--sku", "auto"], 0, f"MUSTER PASS {verdict}"),
        ("judged as another one before", [judged("generic-nvidia")], 0, "MUSTER PASS sku=generic-nvidia "),
        ("not recognised before", [judged("unknown")], 0, f"MUSTER PASS {verdict}"),
        ("judged as what has no file here", [judged("Their_v1")], 0, f"MUSTER PASS {verdict}"),
        ("judged as the path of a file", [judged(floor)], 0, f"MUSTER PASS {verdict}"),
        ("judged as a file name", [judged("common.json")], 0, f"MUSTER PASS {verdict}"),
        ("judged as something that steers a terminal", [judged("\x1b[2J")], 0, f"MUSTER PASS {verdict}"),
        ("judged as nothing", [judged(7)], 0, f"MUSTER PASS {verdict}"),
        ("on a machine that is not known", [elsewhere], 3, "MUSTER INCONCLUSIVE sku=unknown "),
        ("two reports", [report, report, "--sku", SKU], 2, "unexpected argument"),
        ("an expectation file as the report", [broken, "--sku", SKU], 2, "broken.json"),
    ]


def judge_relative(path, directory):
    """One GPU at half the rate of the others, which no floor condemns: the run's own median does."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    slow = next(s for s in report["run"]["nodes"][0]["ranks"][3]["samples"] if s["metric"] == "gpu.h2d_gbps")
    slow["value"] /= 2
    changed, judged = os.path.join(directory, "changed.json"), os.path.join(directory, "judged.json")
    Path(changed).write_text(json.dumps(report), encoding="utf-8")
    none = {"min": None, "warn_below": None, "source": "s"}
    site = os.path.join(directory, "relative.json")
    with open(site, "w", encoding="utf-8") as file:
        json.dump({"checks": {"copy.h2d": dict(none, min_of_median=0.85), "copy.d2h": dict(none, observe=True)}}, file)
    healthy = muster("check", path, "--sku", SKU, "--overlay", site)
    done = muster("check", changed, "--sku", SKU, "--overlay", site, "--report", judged)
    if healthy.returncode != 0 or done.returncode != 1:
        return [f"held against the median: exit codes {healthy.returncode} and {done.returncode}: {done.stdout}"]
    if not re.search(r"^D2H, one GPU at a time .*  no threshold$", done.stdout, re.M):
        return [f"the summary does not say what was only observed: {done.stdout}"]
    report = json.loads(Path(judged).read_text(encoding="utf-8"))
    failed = [f for f in report["findings"] if f["status"] == "fail"]
    places = [(f["check"], f["where"]["gpu"], f["calibrated"]) for f in failed]
    if places != [("copy.h2d", slow["labels"]["gpu"], False)]:
        return [f"held against the median: {failed}"]
    checks = {c["check"]: c for c in report["checks"]}
    if checks["copy.d2h"]["calibrated"] is not False or "calibrated" in checks["gpu.count"]:
        return ["the report does not tell which checks hold values against a figure"]
    return [] if report["summary"]["domains"] == 1 else ["one node is not one NVLink domain"]


def two_versions(directory):
    """A node with another build of muster is named in a warning, and fails nothing."""
    path = os.path.join(directory, "two.json")
    muster("sim", "--sku", "Standard_NC24ads_A100_v4", "--nodes", "2", "--report", path, "--", "--profile", "quick")
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    version = next(s for s in report["run"]["nodes"][1]["samples"] if s["metric"] == "node.muster_version")
    if version["value"] != report["muster"] or muster("--version").stdout != f"muster {report['muster']}\n":
        return [f"the node's version is {version['value']}, the report's {report['muster']}"]
    version["value"] = "0.1.0+gffffffff"
    Path(path).write_text(json.dumps(report), encoding="utf-8")
    done = muster("check", path, "--report", path)
    found = [f for f in json.loads(Path(path).read_text(encoding="utf-8"))["findings"] if f["check"] == "same.muster"]
    if done.returncode != 0 or [f["status"] for f in found] != ["warn"] or "0.1.0+gffffffff on sim-2" not in found[0]["observed"]:
        return [f"two versions of muster: exit code {done.returncode}, {found}"]
    return []


def main():
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report.json")
        done = muster("sim", "--sku", SKU, "--nodes", "1", "--report", report, "--", "--profile", "quick")
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            return 1
        for name, arguments, code, said in check_table(report, directory):
            done = muster("check", *arguments)
            heard = last_line(done).startswith(said) if code != 2 else said in done.stderr
            if done.returncode != code or not heard:
                problems.append(f"{name}: exit code {done.returncode}, not {code}: {last_line(done)} {done.stderr}")
            if code == 2 and done.stderr.count("\n") != 1:
                problems.append(f"{name}: not one line: {done.stderr}")

        again = os.path.join(directory, "again.json")
        muster("check", report, "--sku", SKU, "--report", again)
        with open(report, encoding="utf-8") as first, open(again, encoding="utf-8") as second:
            if json.load(first) != json.load(second):
                problems.append("a report judged again by the same expectations is not the same")
        problems += judge_relative(report, directory) + two_versions(directory)
        piped = muster("check", report, "--sku", SKU, "--report", "-")
        if json.loads(piped.stdout)["verdict"] != "pass" or "MUSTER PASS" not in piped.stderr:
            problems.append("--report - does not put the report alone on stdout")
        lost = muster("check", report, "--sku", SKU, "--report", os.path.join(directory, "none", "x.json"))
        if lost.returncode != 3:
            problems.append(f"a pass whose report cannot be written exits {lost.returncode}")

    table = muster("metrics").stdout.splitlines()
    metrics = json.loads(muster("metrics", "--format", "json").stdout)
    names = [metric["name"] for metric in metrics]
    if names != sorted(names) or len(set(names)) != len(names) or len(names) < 100:
        problems.append("metrics --json is not a sorted list of all metrics")
    if [line.split()[0] for line in table[1:]] != names:
        problems.append("the table and the JSON list other metrics")
    if len({line.rindex(metric["meaning"]) for line, metric in zip(table[1:], metrics)}) != 1:
        problems.append("the table's columns are not straight")
    if muster("metrics", "x").returncode != 2 or muster("metrics", "--help").returncode != 0:
        problems.append("metrics: wrong exit codes")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
