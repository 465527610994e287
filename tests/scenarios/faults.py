#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Break one thing in a simulated cluster, and compare what muster finds with a table: all of it, and nothing else.

usage: faults.py MUSTER TABLE [CASE...]

Each case of the table (a JSON file) holds:
  name      what it is called
  sku       what is simulated (Standard_ND96asr_v4 when absent)
  type      the machine type whose checks are used (as sku when absent; with --sku in the options)
  nodes     how many nodes of it
  ranks     how many ranks that makes (8 on each node when absent)
  faults    what is broken (may be absent)
  cpu_masks as in a scenario (may be absent)
  options   more options for `muster run` (may be absent)
  exit      the exit code
  findings  every finding of the report that is no skip: check, status, node, rank, gpu, port where they apply; in any
            order. "expected", "observed" and "advice" are parts of the text that the finding must hold.
  skips     every "CHECK NODE" that the report skips on some thing of that node (none when absent; null: any); what too few
            parts are compared for need not be listed
  judged    checks that must have been judged (may be absent)
  overlay   checks of a site overlay (may be absent)
  events    events of a site overlay (may be absent)
  paths     expected paths of a site overlay (may be absent)
  says      texts that the summary must have (may be absent)
  ring      how many ranks the ring had whose bandwidth is in the report (not looked at when absent; null: none)
  wider     {"nodes": N, "judged": [...]}: what was measured, taken for what N nodes have measured, passes too
  trials    [most, "KIND NODE... STATUS", ...]: at most so many trial rings (without the last ones, of kind "rest"),
            among them these (none when absent, if there is a ring)
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from in_memory import in_memory

SKU = "Standard_ND96asr_v4"
VERDICT = {0: "pass", 1: "fail", 3: "inconclusive"}
PLACE = ("check", "status", "node", "rank", "gpu", "port")
TEXTS = ("expected", "observed", "advice")


def place(finding):
    """What a finding is about, as a tuple; of a report or of the table."""
    flat = dict(finding.get("where", {}), **finding)
    return tuple(flat.get(key) for key in PLACE)


def show(key):
    return " ".join(f"{name}={value}" for name, value in zip(PLACE, key) if value is not None)


FEW = "to compare, and 3 are needed"


def without_soak(skips):
    """Without the checks that only a soak has figures for: every other run skips them. Also without the checks that need
    nine windows: a crash, or trials that end the communicator, leave fewer. GPUs at their power limit skip load.clock, and
    machine types whose image sets no variable skip env.names."""
    only = ("load.drift", "load.sustained", "load.sustained_close", "steady.gpu", "steady.rank", "steady.job", "load.clock",
            "env.names")
    return {skip for skip in skips if skip.split(" ")[0] not in only}


def compare(case, report):
    """What differs between the case's findings and the report's, one line each."""
    judged = [f for f in report["findings"] if f["status"] != "skip"]
    skipped = {f"{f['check']} {f['where'].get('node', '')}" for f in report["findings"] if f["status"] == "skip"}
    wanted = collections.Counter(place(f) for f in case["findings"])
    found = collections.Counter(place(f) for f in judged)
    problems = [f"missing: {show(key)} (x{count})" for key, count in (wanted - found).items()]
    for finding in judged:
        if place(finding) in found - wanted:
            problems.append(
                f"not in the table: {show(place(finding))}: expected {finding.get('expected')}; "
                f"observed {finding.get('observed')}"
            )
    for want in case["findings"]:
        texts = [f for f in judged if place(f) == place(want)]
        for text in TEXTS:
            if text in want and not any(want[text] in (f.get(text) or "") for f in texts):
                seen = [f.get(text) for f in texts]
                problems.append(f"{show(place(want))}: {text} does not hold \"{want[text]}\": {seen}")
    passed = {tally["check"] for tally in report["checks"] if tally["count"]["pass"] > 0}
    for check in case.get("judged", []):
        if check not in passed:
            problems.append(f"{check} was not judged")
    skipped = without_soak(skipped)
    wanted = without_soak(case.get("skips", []) or [])
    skipped -= {f"{f['check']} {f['where'].get('node', '')}" for f in report["findings"] if FEW in f["observed"]} - wanted
    if case.get("skips", []) is not None and skipped != wanted:
        problems.append(f"skipped: {sorted(skipped)}, not {sorted(wanted)}")
    return problems


def figures(report, metric):
    """The values of a metric of the whole job."""
    samples = report["run"]["job"].get("samples", [])
    return [s["value"] for s in samples if s["metric"] == metric and s["value"] is not None]


def look_at_ring(case, report):
    """The ring that was measured in the end, and how the culprit was found."""
    problems = []
    ranks = figures(report, "nccl.ring_ranks") if figures(report, "nccl.allreduce_busbw_gbps") else []
    if "ring" in case and ranks != ([] if case["ring"] is None else [case["ring"]]):
        problems.append(f"the ring's ranks: {ranks}, not {case['ring']}")
    trials = [f"{t['kind']} {' '.join(t['nodes'])} {t['status']}" for t in report["run"].get("trials", [])]
    most, *wanted = case.get("trials", [0] if "ring" in case else [len(trials)])
    if sum(not trial.startswith("rest ") for trial in trials) > most:
        problems.append(f"{len(trials)} trials, not {most} at most: {trials}")
    return problems + [f"no such trial: {trial}; there are {trials}" for trial in wanted if trial not in trials]


def deadline_of(case):
    options = options_of(case)
    return float(options[options.index("--deadline") + 1]) if "--deadline" in options else 120


def options_of(case):
    """The case's own. A run that passes waits for no deadline, and is not to meet one where the machine is busy."""
    options = case.get("options", [])
    return options + ["--deadline", "400"] if case["exit"] == 0 and "--deadline" not in options else options


def look_at_time(case, report, seconds):
    """The deadline holds whatever fails. Starting and ending processes is not muster's doing."""
    deadline = deadline_of(case)
    problems = []
    if report["run"]["job"]["elapsed_s"] > deadline + 5:
        problems.append(f"the run took {report['run']['job']['elapsed_s']} s, and its deadline was {deadline} s")
    if seconds > deadline + 40:
        problems.append(f"it took {seconds:.0f} s to come back, and its deadline was {deadline} s")
    return problems


def widen(report, nodes):
    """The report of the same machines in a job of more nodes: every node a few times, under other names."""
    run = report["run"]
    first, ranks = run["nodes"], run["job"]["ranks"]
    run["nodes"] = []
    for number in range(nodes):
        copied = first[number % len(first)]
        node = json.loads(json.dumps(copied).replace(f'"{copied["name"]}"', f'"sim-{number + 1}"'))
        for rank in node["ranks"]:
            rank["rank"] += number // len(first) * ranks
        run["nodes"].append(node)
    run["job"]["ranks"] = ranks * nodes // len(first)
    news = {"nodes": nodes, "ranks": run["job"]["ranks"]}
    for sample in run["job"]["samples"]:
        sample.get("labels", {}).update({key: news[key] for key in news if key in sample.get("labels", {})})
        if sample["metric"] in ("nccl.ring_nodes", "nccl.ring_ranks"):
            sample["value"] = news[sample["metric"].rpartition("_")[2]]
    return report


def look_at_wider(case, muster, report, directory):
    """The expectations for more nodes: a run of so many would measure nothing else."""
    wider = case.get("wider")
    if not wider:
        return []
    path, judged = os.path.join(directory, "wider.json"), os.path.join(directory, "judged.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(widen(report, wider["nodes"]), file)
    done = subprocess.run([muster, "check", path, "--report", judged], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return [f"for {wider['nodes']} nodes: exit code {done.returncode}", done.stdout, done.stderr]
    report = json.loads(Path(judged).read_text(encoding="utf-8"))
    problems = compare({"findings": [], "skips": None, "judged": wider["judged"]}, report)
    narrow = set(case["judged"]) - set(wider["judged"])
    problems += [f"{tally['check']} was judged" for tally in report["checks"]
                 if tally["check"] in narrow and tally["count"]["pass"] > 0]
    if report["summary"]["nodes"] != wider["nodes"]:
        problems.append(f"judged as for other nodes: {report['summary']}")
    return [f"for {wider['nodes']} nodes: {problem}" for problem in problems]


def command_of(case, muster, directory):
    """The words that simulate a case; its report and its overlay are in the directory."""
    command = [muster, "sim", "--sku", case.get("sku", SKU), "--nodes", str(case["nodes"]),
               "--report", os.path.join(directory, "report.json")]
    for fault in case.get("faults", []):
        command += ["--fault", fault]
    if "cpu_masks" in case:
        command += ["--cpu-masks", case["cpu_masks"]]
    command += ["--"] + options_of(case)
    if {"overlay", "events", "paths"} & set(case):
        overlay = os.path.join(directory, "overlay.json")
        with open(overlay, "w", encoding="utf-8") as file:
            parts = {"checks": case.get("overlay", {}), "events": case.get("events", {}), "paths": case.get("paths", [])}
            json.dump({"schema_version": 1, **parts}, file)
        command += ["--overlay", overlay]
    return command


def run(muster, case, directory):
    """Run one case; what is wrong with it, one line each."""
    sku, nodes, ranks = case.get("type", case.get("sku", SKU)), case["nodes"], case.get("ranks", 8 * case["nodes"])
    command = command_of(case, muster, directory)
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, TMPDIR=directory))
    try:
        stdout, stderr = child.communicate(timeout=deadline_of(case) + 80)
    except subprocess.TimeoutExpired:
        child.terminate()  # and not kill: it has ranks to end and files to remove
        stdout, stderr = child.communicate()
    problems = []
    if child.returncode != case["exit"]:
        problems.append(f"exit code {child.returncode}, not {case['exit']}")
    try:
        report = json.loads(Path(directory, "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return problems + [f"no report: {error}", stdout, stderr]
    verdict = VERDICT.get(case["exit"])
    if report["verdict"] != verdict:
        problems.append(f"verdict {report['verdict']}, not {verdict}")
    if report["simulated"] is not True:
        problems.append("the report does not say that it is simulated")
    if report["summary"]["nodes"] != nodes or report["summary"]["ranks"] != ranks:
        problems.append(f"nodes and ranks: {report['summary']}")
    last = stdout.rstrip("\n").rpartition("\n")[2]
    if not last.startswith(f"MUSTER {verdict.upper()} sku={sku} nodes={nodes} ranks={ranks} "):
        problems.append(f"last line: {last}")
    problems += [f"not in the summary: {text}" for text in case.get("says", ()) if text not in stdout]
    problems += compare(case, report)
    problems += look_at_ring(case, report)
    problems += look_at_time(case, report, time.monotonic() - began)
    problems += look_at_wider(case, muster, report, directory)
    if problems:
        problems += ["command: " + " ".join(command), stderr]
    return problems


def main():
    muster, table = sys.argv[1:3]
    cases = json.loads(Path(table).read_text(encoding="utf-8"))
    names = sys.argv[3:] or [case["name"] for case in cases]
    failed = 0
    for name in names:
        case = next(case for case in cases if case["name"] == name)
        with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
            problems = run(muster, case, directory)
        print(f"{'FAILED' if problems else 'ok    '} {name}", flush=True)
        for problem in problems:
            print("    " + problem.replace("\n", "\n    "))
        failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
