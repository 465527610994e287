#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The deep check of idle nodes: which node it takes, how it ends, and that it ends when a job needs the node.

usage: deep.py MUSTER NAME
"""

import json
import os
import re
import subprocess
import time

from cluster import LONG, PATIENT, SCRIPTS, check, check_equal, main

NODES = 4
NEEDS = ("node", "history")
QUICK = ("--soak", "0", "--", "--profile", "quick")
PARTITION = "PartitionName=deep Nodes=ALL PriorityTier=0 PreemptMode=CANCEL"
DAY = 86400


def options(_):
    return "--conf", "PreemptType=preempt/partition_prio", "--conf", "PreemptMode=CANCEL", "--conf", PARTITION


def deep_check(cluster, *words, partition="deep"):
    """Its exit code and its lines, without the beginning that all of them have."""
    code, text = cluster.run(os.path.join(SCRIPTS, "deep-check"), "--partition", partition, "--folder", "deep", *words)
    return code, text.replace("deep-check: ", "").strip()


def due(cluster, *words):
    """The nodes that it would check, in their order, with the reason."""
    code, text = deep_check(cluster, "--count", "9", "--dry-run", *words)
    check_equal(code, 0, f"its exit code: {text}")
    return re.findall(r"^(gpu-\d) would be checked: (.*)$", text, re.M)


def started(cluster, node, *words):
    """The number of its job, which is on this node."""
    code, text = deep_check(cluster, *words)
    job = re.fullmatch(rf"job (\d+) checks {node}: .*", text)
    check(code == 0 and job, f"a deep check of {node}", text)
    return int(job[1])


def path(cluster, name):
    return os.path.join(cluster.folder, "deep", name)


def read(cluster, name):
    with open(path(cluster, name), encoding="utf-8") as file:
        return file.read()


def leave(cluster, name, days, text='{\n  "verdict": "pass",\n}\n'):
    """A file as an earlier check has left it."""
    os.makedirs(os.path.dirname(path(cluster, name)), mode=0o755, exist_ok=True)
    with open(path(cluster, name), "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(path(cluster, name), times=(time.time() - days * DAY,) * 2)


def put_before(cluster, command, text):
    """A script that the cluster's commands find before the real command."""
    script = os.path.join(cluster.environment["MUSTER_CLUSTER"], "bin", command)
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(script, 0o755)


def test_takes_what_was_never_checked_then_the_oldest(cluster):
    """Not the drained node, not the busy one, not one of yesterday."""
    cluster.ask("scontrol", "update", "NodeName=gpu-4", "State=DRAIN", "Reason=fan is loud")
    leave(cluster, "gpu-1.json", 9)
    leave(cluster, "gpu-2.json", 10)
    never, old = [("gpu-3", "never checked")], [(f"gpu-{k}", "checked longest ago") for k in (2, 1)]
    check_equal(due(cluster), never + old, "the order")
    job = cluster.wait(started(cluster, "gpu-3", *QUICK))
    check_equal((job.state, job.exit_code, job.fields["NodeList"]), ("COMPLETED", 0, "gpu-3"), read(cluster, "gpu-3.log"))
    report = json.loads(read(cluster, "gpu-3.json"))
    check_equal((report["verdict"], [node["name"] for node in report["run"]["nodes"]], len(report["run"]["nodes"][0]["ranks"])),
                ("pass", ["gpu-3"], 2), "the report")
    check_equal(os.listdir(path(cluster, "running")), [], "what says that a check runs")
    check_equal(due(cluster), old, "the order after that")
    check_equal(due(cluster, "--every", "10"), old[:1], "with another age")
    busy = cluster.submit("-w", "gpu-2", "--wrap", "sleep 600")
    cluster.wait_for("the job runs", lambda: cluster.ask("squeue", "-h", "-o", "%T", "-j", str(busy)) == "RUNNING")
    check_equal(due(cluster), old[1:], "the order beside a job")
    leave(cluster, "gpu-1.json", 1)
    check_equal(deep_check(cluster), (0, "no idle node of deep is due"), "with nothing to do")
    cluster.ask("scontrol", "create", "reservation", "ReservationName=repair", "Users=root", "Nodes=gpu-1", "StartTime=now",
                "Duration=60")
    cluster.wait_for("the node is reserved", lambda: "RESERVED" in cluster.ask("scontrol", "show", "node", "gpu-1"))
    check_equal(due(cluster, "--every", "0"), [("gpu-3", "checked longest ago")], "without the reserved node")
    cluster.ask("scontrol", "delete", "ReservationName=repair")
    cluster.wait_for("the node is free", lambda: "RESERVED" not in cluster.ask("scontrol", "show", "node", "gpu-1"))


def test_failed_nodes_come_before_others(cluster):
    """So do a node that died under load, and one that the history shows as bad; one whose job never began waits for a day."""
    cluster.fault("h2d-slow@node2/gpu1=11.2")
    for k in (1, 3, 4):
        leave(cluster, f"gpu-{k}.json", 20 + k)
    job = cluster.wait(started(cluster, "gpu-2", *QUICK))
    check_equal((job.exit_code, json.loads(read(cluster, "gpu-2.json"))["verdict"]), (1, "fail"), read(cluster, "gpu-2.log"))
    seen = cluster.ask("muster", "drain", "deep/gpu-2.json")
    check("gpu-2" in seen and "copy.h2d" in seen, "the report can drain the node", seen)
    check_equal(cluster.drained(), {}, "nothing is drained")
    os.utime(path(cluster, "gpu-2.json"), times=(time.time() - 8 * DAY,) * 2)
    leave(cluster, "running/gpu-1", 9, "4711\n")
    others = [(f"gpu-{k}", "checked longest ago") for k in (4, 3)]
    first = [("gpu-1", "its last check did not end"), ("gpu-2", "its last check failed")]
    check_equal(due(cluster), first + others, "the order")
    leave(cluster, "running/gpu-1", 0.5, "")
    check_equal(due(cluster), first[1:] + others, "the order when a job never began")
    job = cluster.wait(started(cluster, "gpu-2", "--", "--profile", "none"))
    check_equal((job.exit_code, due(cluster)), (2, others), "a check that could not begin: " + read(cluster, "gpu-2.log"))
    os.unlink(path(cluster, "running/gpu-2"))

    sim = subprocess.run([cluster.environment["MUSTER_PROGRAM"], "sim", "--sku", cluster.sku, "--nodes", "4", "--fault",
                          "h2d-slow@node3/gpu1=40", "--report", "-", "--", "--profile", "quick"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=120)
    with open(path(cluster, "../fleet.json"), "wb") as file:
        file.write(sim.stdout.replace(b"sim-", b"gpu-"))
    cluster.ask("muster", "history", "add", "fleet.json", "--db", "history.db")
    put_before(cluster, "muster-of-test", 'case "$*" in *" add "*) exec muster "$@" ;; esac\nexec muster "$@" --simulated\n')
    with open(os.path.join(cluster.environment["MUSTER_CLUSTER"], "etc/default/muster"), "a", encoding="utf-8") as file:
        file.write("MUSTER=muster-of-test\nMUSTER_HISTORY=history.db\n")
    check_equal(due(cluster), [("gpu-3", "bad in the history"), first[1], others[0]], "the order with a history")
    for k in (1, 3, 4):
        os.unlink(path(cluster, f"gpu-{k}.json"))
    leave(cluster, "muster-strikes.json", 0, "{}\n")
    code, seen = deep_check(cluster, "--every", "99", *QUICK)
    check(code == 0 and "MUSTER_HISTORY" not in seen, "a run that adds to the history", seen)
    seen = json.loads(cluster.ask("muster", "history", "--db", "history.db", "--simulated", "--format", "json", "--node", "gpu-2"))
    check_equal(seen["rows"][0]["verdicts"], "F.", "the history of the node that failed")
    cluster.ask("scancel", "--name=muster-deep")


def measuring(cluster):
    """The number of a check of gpu-1 that would last for minutes, the only one that is due."""
    cluster.fault(LONG)
    for k in (2, 3, 4):
        leave(cluster, f"gpu-{k}.json", 1)
    number = started(cluster, "gpu-1", "--soak", "0", "--", "--profile", "quick", *PATIENT)
    cluster.wait_for("the check measures", lambda: os.path.exists(path(cluster, "gpu-1.log")) and
                     "host and device copies" in read(cluster, "gpu-1.log"))
    return number


def test_ends_when_a_job_needs_the_node(cluster):
    number = measuring(cluster)
    job = cluster.wait(cluster.submit("-w", "gpu-1", "--exclusive", "--wrap", "true"), 120)
    check_equal(job.state, "COMPLETED", "the job's end")
    check("JobState=PREEMPTED" in cluster.ask("scontrol", "show", "job", str(number)), "the end of the check")
    check("ended by SIGTERM: this is no deep check" in read(cluster, "gpu-1.log"), "the log", read(cluster, "gpu-1.log"))
    report = json.loads(read(cluster, "partial/gpu-1.json"))
    check_equal((report["verdict"], os.path.exists(path(cluster, "gpu-1.json")), os.listdir(path(cluster, "running"))),
                ("inconclusive", False, []), "what is left")
    check("gpu-1" not in cluster.ask("muster", "drain", "deep/partial/gpu-1.json"), "it drains no node")
    cluster.wait_for("the node is still to be checked", lambda: due(cluster) == [("gpu-1", "never checked")])


def test_ends_after_a_signal_to_its_script(cluster):
    number = measuring(cluster)
    cluster.ask("scancel", "--batch", "--signal=TERM", str(number))
    job = cluster.wait(number, 120)
    check_equal((job.state, job.exit_code, os.path.exists(path(cluster, "gpu-1.json"))), ("FAILED", 3, False), read(cluster, "gpu-1.log"))
    waiting = cluster.submit("--hold", "--job-name=muster-deep", "-w", "gpu-1", "--wrap", "true")
    check_equal(deep_check(cluster), (0, "no idle node of deep is due"), "while another check of the node waits")
    cluster.ask("scancel", str(waiting))


def test_waits_while_jobs_wait(cluster):
    for _ in range(2):
        number = cluster.submit("-w", "gpu-1", "--exclusive", "--wrap", "sleep 600")
    cluster.wait_for("a job waits", lambda: cluster.ask("squeue", "-h", "-o", "%r", "-j", str(number)) in ("Resources", "Priority"))
    check_equal(deep_check(cluster), (0, "jobs wait for nodes of deep: nothing is submitted"), "its words")


def test_refuses_where_jobs_would_wait(cluster):
    """The words that scontrol and sacctmgr print are those of Slurm; a site's other settings are put in their place."""
    advice = ' (see "Deep check" in docs/slurm.md; --without-preemption submits nevertheless)'
    check_equal(deep_check(cluster, partition="gpu"), (2, "partition deep has nodes of gpu and no higher PriorityTier: its jobs would wait" + advice),
                "the users' own partition")
    real = cluster.ask("sh", "-c", "command -v scontrol")
    put_before(cluster, "sacctmgr", "printf '%s\\n' \"normal|cluster|00:00:00|deep\" \"deep|cancel|00:00:00|\" \"$QOS\"\n")
    for words, change, qos, said in (
            ((), "s/^PreemptType .*/PreemptType = (null)/", "", "Slurm preempts no job here (PreemptType=(null)): jobs would wait for a deep check"),
            ((), "s/^PreemptExemptTime .*/PreemptExemptTime = 00:10:00/", "", "slurm.conf has PreemptExemptTime=00:10:00, for which a deep check would continue"),
            ((), "s/PreemptMode=CANCEL/PreemptMode=GANG,SUSPEND/", "", "partition deep has PreemptMode=GANG,SUSPEND, and a deep check needs CANCEL"),
            ((), "s/GraceTime=0/GraceTime=60/", "", "partition deep has GraceTime=60, for which a deep check would continue"),
            ((), "s/partition_prio/qos/", "", "Slurm preempts by QOS here: --qos is needed"),
            (("--qos", "none"), "s/partition_prio/qos/", "", "there is no QOS none"),
            (("--qos", "deep"), "s/partition_prio/qos/", "long|cluster|00:00:00|deeper",
             "QOS long does not have deep in its Preempt: its jobs would wait"),
            (("--qos", "normal"), "s/partition_prio/qos/;s/^PreemptMode .*/PreemptMode = SUSPEND,GANG/", "",
             "QOS normal has PreemptMode=SUSPEND,GANG, and a deep check needs CANCEL")):
        put_before(cluster, "scontrol", f"{real} \"$@\" | sed '{change}'\n")
        cluster.environment["QOS"] = qos
        seen = deep_check(cluster, *words)
        check_equal((seen[0], seen[1].replace(advice, "")), (2, said), f"with {change} {words}")
    check_equal(len(due(cluster, "--qos", "normal", "--without-preemption")), 4, "nodes, nevertheless")
    cluster.environment["QOS"] = "long|cluster|00:00:00|deep,other"
    put_before(cluster, "scontrol", f"{real} \"$@\" | sed 's/partition_prio/qos/'\n")
    check_equal(len(due(cluster, "--qos", "deep")), 4, "nodes, by QOS")


def test_bad_input_is_one_line(cluster):
    for words, code, said in (
            (("--frequency", "9"), 2, "there is no option --frequency; see deep-check --help"),
            (("--count",), 2, "--count needs a value"),
            (("--every", "7d"), 2, '--every must be a number from 0 to 3650, not "7d"'),
            (("--soak", "86401"), 2, '--soak must be a number from 0 to 86400, not "86401"'),
            (("--partition", ""), 2, "--partition needs a value"),
            (("--partition", "none"), 2, "there is no partition none with nodes"),
            (("--sbatch", "--account"), 3, None)):
        seen = deep_check(cluster, *words)
        check(seen[0] == code and (said is None and re.fullmatch("sbatch: .*", seen[1]) or seen[1] == said), f"with {words}", seen)
    for folder in (path(cluster, "."), path(cluster, "..")):
        os.chmod(folder, 0o777)
        seen = deep_check(cluster)
        check(seen[0] == 2 and "others must not write there" in seen[1] and "\n" not in seen[1], f"{folder} of everybody", seen)
        os.chmod(folder, 0o755)
    check_equal(os.listdir(path(cluster, "running")), [], "no check is noted as begun")


main(globals())
