#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""muster nodes, drain and resume with a real Slurm: host lists, nodes taken out of service and given back.

usage: drain.py MUSTER NAME
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import made_reports
from cluster import check, check_equal, main

NODES = 3
NEEDS = ("nodes", "drain", "resume")
BAD = "recovery-action@node2/gpu1=gpu-reset"
AWKWARD = ["gpu-1", "gpu-2", "gpu-007", "gpu-008", "gpu-10", "rack01-node9", "rack01-node10", "rack2n1x", "n3", "n0100",
           "n1-ib0", "n2-ib0", "a5.b12", "1002x", "alone"]
# As people write them for Slurm.
LISTS = ("rack[1-2]n[3-4]", "n[1-3,5]x[01-02]", "n[08-11,100]", "gpu-[001-003],a,b7 c[1-2]")


def options(_):
    return "--conf", "NodeSet=some Nodes=gpu-[1-2]"


def report_with(cluster, *faults):
    cluster.fault(*faults)
    return os.path.basename(cluster.preflight("--profile", "quick").path("json"))


def state(cluster, node):
    text = cluster.ask("scontrol", "show", "node", "-o", node)
    reason = re.search(r" Reason=(.*) \[\S+@\S+\]", text)
    return "DRAIN" in re.search(r" State=(\S+)", text)[1], reason[1] if reason else None


def test_bad_node_is_drained_and_given_back(cluster):
    report = report_with(cluster, BAD)
    code, text = cluster.run("muster", "drain", report)
    check(code == 0 and "NodeName=gpu-2" in text and not state(cluster, "gpu-2")[0], "without --apply it is only said", text)
    cluster.ask("muster", "drain", report, "--apply", "--simulated")
    drained, reason = state(cluster, "gpu-2")
    check(drained and reason.startswith("muster: ") and "gpu-reset" in reason, "the node is drained, with what was seen", reason)
    check_equal([state(cluster, node)[0] for node in ("gpu-1", "gpu-3")], [False, False], "the others")
    cluster.ask("muster", "resume", report, "--apply", "--simulated")
    check(state(cluster, "gpu-2")[0], "a report in which it is bad does not give it back")
    cluster.ask("muster", "resume", "gpu-[1-3]", "--apply")
    check_equal(state(cluster, "gpu-2")[0], False, "the node, given back, is drained")


def test_what_an_administrator_drained_is_left_alone(cluster):
    cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=fan is loud")
    report = renamed(cluster, False)
    cluster.ask("muster", "drain", report, "--apply", "--simulated")
    check_equal(state(cluster, "gpu-2"), (True, "fan is loud"), "after muster drain")
    cluster.ask("muster", "resume", "gpu-2", "--apply")
    check_equal(state(cluster, "gpu-2"), (True, "fan is loud"), "after muster resume")


def test_what_an_administrator_has_taken_over_is_left_alone(cluster):
    report = report_with(cluster, BAD)
    cluster.ask("muster", "drain", report, "--apply", "--simulated")
    cluster.ask("scontrol", "update", "NodeName=gpu-2", "Reason=sent to the vendor")
    text = cluster.ask("muster", "resume", "gpu-[1-3]", "--apply")
    check_equal(state(cluster, "gpu-2"), (True, "sent to the vendor"), "after muster resume")
    check("# gpu-2: skipped: drained by someone else (IDLE+DRAIN: sent to the vendor)" in text, "why", text)
    cluster.ask("muster", "drain", report, "--apply", "--simulated")
    check_equal(state(cluster, "gpu-2"), (True, "sent to the vendor"), "after muster drain")


def renamed(cluster, of_job):
    """A report in which gpu-2 is bad, although it was not in the job: that of another node, with another name."""
    cluster.fault("recovery-action@node1/gpu1=gpu-reset")
    job = cluster.preflight("--profile", "quick", options=("-N1", "-w", "gpu-1"))
    report = json.loads(job.read("json").replace("gpu-1", "gpu-2"))
    if not of_job:
        del report["run"]["job"]["id"]
    with open(job.path("json"), "w", encoding="utf-8") as file:
        json.dump(report, file)
    return os.path.basename(job.path("json"))


def test_forged_reports_drain_no_node(cluster):
    """Of a node that was not in the job; of another user; of a name that means every node, or a set of nodes."""
    report = renamed(cluster, True)
    for words in ((), ("--apply", "--trust", "--simulated")):
        code, text = cluster.run("muster", "drain", report, *words)
        check(code == 2 and "was not in job" in text and "scontrol update" not in text, f"drain {words}", text)
    save_report(cluster, "user.json", made_reports.report(["gpu-2"], [h2d("gpu-2")]))
    os.chown(os.path.join(cluster.folder, "user.json"), 65534, -1)
    code, text = cluster.run("muster", "drain", "user.json", "--apply")
    check(code == 2 and "--trust" in text, "a user's report", text)
    for name, wanted in (("ALL", 2), ("some", 3)):
        save_report(cluster, "names.json", made_reports.report([name], [h2d(name)]))
        for words in ((), ("--apply",)):
            code, text = cluster.run("muster", "drain", "names.json", *words)
            check(code == wanted and "scontrol update" not in text, f"a report on {name}", text)
    check_equal(cluster.drained(), {}, "who is drained")
    cluster.ask("muster", "drain", "user.json", "--apply", "--trust")
    check_equal(list(cluster.drained()), ["gpu-2"], "with trust")


def test_fault_of_several_nodes_is_not_gone_when_one_passes_alone(cluster):
    """A person drains for what only several nodes show, and a run of this node passes."""
    drift = made_reports.finding("fail", "same.driver", "gpu-2", metric="node.driver_version", observed="570.1 on gpu-2", proof="hard")
    save_report(cluster, "several.json", made_reports.report(["gpu-2"], [drift]))
    cluster.ask("muster", "drain", "several.json", "--apply", "--trust")
    check(state(cluster, "gpu-2")[1].startswith("muster: same.driver"), "the reason", state(cluster, "gpu-2"))
    code, text = cluster.script("on", "2", "muster", "node", "--report", "alone.json")
    check_equal(code, 0, f"muster node: {text}")
    text = cluster.ask("muster", "resume", "alone.json", "--apply", "--simulated")
    check(state(cluster, "gpu-2")[0] and "same.driver needs several nodes" in text, "resume", text)


def h2d(name):
    return {**made_reports.finding("fail", "copy.h2d", name, metric="gpu.h2d_gbps", observed="11.2", proof="hard"), "value": 11.2, "unit": "GB/s"}


def save_report(cluster, name, report):
    with open(os.path.join(cluster.folder, name), "w", encoding="utf-8") as file:
        json.dump(report, file)


def test_reason_arrives_whole(cluster):
    """Whatever was observed, Slurm keeps the very words that muster prints."""
    name = report_with(cluster, BAD)
    path = os.path.join(cluster.folder, name)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    failed = next(finding for finding in report["findings"] if finding["status"] == "fail")
    failed["observed"] = "it's \"slow\" = 100 % [so it is] $HOME `id` \\ " + "a word " * 60
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    printed = cluster.ask("muster", "drain", name)
    cluster.ask("muster", "drain", name, "--apply", "--simulated")
    reason = state(cluster, "gpu-2")[1]
    check(f"Reason='{reason}'" in printed, "what was printed and what Slurm has", f"{printed}\n{reason}")
    check(200 < len(reason) <= 255 and reason.endswith("..."), "it is cut where Slurm's database would cut it", reason)
    cluster.ask("muster", "resume", "gpu-2", "--apply")
    check_equal(state(cluster, "gpu-2")[0], False, "the node, given back, is drained")


def report_with_nodes(cluster, name, nodes):
    """A report in which a rank of each of these nodes has passed."""
    save_report(cluster, name, made_reports.report(nodes, verdict="pass"))


def test_host_lists_are_slurms(cluster):
    report_with_nodes(cluster, "awkward.json", AWKWARD)
    report_with_nodes(cluster, "other.json", ["other"])
    ours = cluster.ask("muster", "nodes", "awkward.json", "--good")
    check_equal(sorted(cluster.ask("scontrol", "show", "hostnames", ours).split()), sorted(AWKWARD), f"what {ours} is")
    check_equal(sorted(cluster.ask("muster", "nodes", "awkward.json", "--good", "--format", "lines").split()),
                sorted(AWKWARD), "the lines")
    theirs = cluster.ask("scontrol", "show", "hostlist", ",".join(AWKWARD))
    check(len(ours) <= len(theirs) + 1, "it is as short as Slurm's own, but for a bracket", f"{ours}\n{theirs}")
    for text in (theirs, *LISTS):
        check_equal(sorted(cluster.ask("muster", "nodes", "other.json", "--missing", "--format", "lines", "--expect", text).split()),
                    sorted(cluster.ask("scontrol", "show", "hostnames", text).split()), f"what muster takes {text} for")


main(globals())
