#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""MUSTER_TEXTFILE, MUSTER_HISTORY and MUSTER_JSON_LOG: what prolog and health check find comes to Prometheus, a database and a log,
and costs no job anything.

usage: collectors.py MUSTER NAME
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

from cluster import HERE, check, check_equal, main, skip
from node_scripts import SLOW as BAD, NEEDS, WHOLE, add_setting, health_check, notes, options

sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import prometheus_server

ALERTS = os.path.realpath(os.path.join(HERE, "..", "..", "docs", "prometheus", "alerts.yml"))


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def textfiles(cluster):
    """A directory for each node."""
    folders = [os.path.join(cluster.folder, f"textfiles-gpu-{number}") for number in (1, 2)]
    for folder in folders:
        os.mkdir(folder)
        os.chmod(folder, 0o755)
    add_setting(cluster, f"MUSTER_TEXTFILE={cluster.folder}/textfiles-$(hostname)")
    return folders


def written(cluster, folder, wanted):
    return cluster.wait_for(f"{wanted} in {folder}", lambda: wanted in read(os.path.join(folder, "muster.prom")))


def test_health_checks_come_to_prometheus(cluster):
    if prometheus_server.missing():
        skip(f"no {prometheus_server.missing()}")
    folders = textfiles(cluster)
    cluster.fault(BAD)
    for number, failed in (("1", 0), ("2", 1)):
        health_check(cluster, number)
        written(cluster, folders[int(number) - 1], f'muster_node_failed{{node="gpu-{number}"}} {failed}\n')
    check_equal([os.listdir(folder) for folder in folders], [["muster.prom"]] * 2, "what is in the directories")
    check_equal([oct(os.stat(os.path.join(folder, "muster.prom")).st_mode & 0o7777) for folder in folders], ["0o644"] * 2, "the modes")
    server = prometheus_server.Server(tempfile.mkdtemp(dir=cluster.folder), folders, [ALERTS])
    try:
        found = server.wait_for("count(muster_node_failed) == 2") and server.query("muster_node_failed")
        check_equal(sorted((labels["node"], value) for labels, value in found), [("gpu-1", 0), ("gpu-2", 1)], "failed nodes")
        [(labels, speed)] = server.query('muster_gpu_h2d_bytes_per_second < 48e9')
        check_equal((labels["node"], labels["gpu"], round(speed / 1e9, 3)), ("gpu-2", "0002:00:00.0", 11.2), "the slow GPU")
        [(_, started)] = server.query('time() - muster_run_timestamp_seconds{instance="%s"}' % server.exporters[1])
        check(0 <= started < 300, "the age of the last check in seconds", started)
        [(labels, _)] = server.wait_for('ALERTS{alertname="MusterNodeFailed"}')
        check_equal((labels["node"], labels["severity"]), ("gpu-2", "critical"), "the alert")
    finally:
        server.close()


def test_prolog_and_epilog_write_it_too(cluster):
    """They are Slurm's: what they have started must outlive them."""
    folders = textfiles(cluster)
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
    check_equal(job.state, "COMPLETED", "the job")
    written(cluster, folders[0], 'muster_node_failed{node="gpu-1"} 0\n')
    cluster.wait_for("the epilog has measured", lambda: "epilog of job" in notes(cluster, "gpu-1"))
    check_equal(os.listdir(folders[1]), [], "of the other node")


def test_no_job_waits_for_it_or_fails_by_it(cluster):
    """A directory that is not there, and a muster that hangs as it writes."""
    add_setting(cluster, "MUSTER_TEXTFILE=/nowhere")
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "the job, and who is drained")
    said = cluster.wait_for("the log says it", lambda: re.search(r"prolog of job \d+: MUSTER_TEXTFILE: muster: (.*)", notes(cluster, "gpu-1")))
    check(said[1].startswith("/nowhere/muster.prom: "), "what the log says", said[1])
    slow = os.path.join(cluster.folder, "slow")
    with open(slow, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$1" != report ] || {{ touch {cluster.folder}/begun && sleep 15; touch {cluster.folder}/over; }}\n'
                   'exec muster "$@"\n')
    os.chmod(slow, 0o755)
    add_setting(cluster, f"MUSTER={slow}\nMUSTER_TEXTFILE={cluster.folder}")
    health_check(cluster, "2")
    cluster.wait_for("it writes", lambda: os.path.exists(os.path.join(cluster.folder, "begun")))
    check(not os.path.exists(os.path.join(cluster.folder, "over")), "the health check has waited for it")
    written(cluster, cluster.folder, "muster_node_failed")


def test_checks_come_to_the_history(cluster):
    """Of both nodes into one file; a job does not wait for a file that is locked, or fail by one that is none."""
    path = os.path.join(cluster.folder, "history.db")
    add_setting(cluster, f"MUSTER_HISTORY={path}")
    cluster.fault(BAD)

    def verdicts():
        done = subprocess.run([sys.argv[1], "history", "--db", path, "--simulated", "--format", "json"], capture_output=True,
                              text=True, check=False)
        return {row["node"]: row["verdicts"] for row in json.loads(done.stdout)["rows"]} if done.returncode == 0 else {}
    health_check(cluster, "1")
    health_check(cluster, "2")
    cluster.wait_for("both are there", lambda: verdicts() == {"gpu-1": ".", "gpu-2": "F"})
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
    check_equal(job.state, "COMPLETED", "the job")
    cluster.wait_for("prolog and epilog are there", lambda: verdicts()["gpu-1"] == "...")
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", *WHOLE, "--wrap", "true"))
        other.execute("ROLLBACK")
    check_equal(job.state, "COMPLETED", "the job beside a lock")
    cluster.wait_for("they have waited", lambda: verdicts()["gpu-1"] == ".....")
    with open(path, "w", encoding="utf-8") as file:
        file.write("no database, and longer than the header of one, so that SQLite looks at the first bytes of it: these\n")
    health_check(cluster, "1")
    cluster.wait_for("the log says it", lambda: "MUSTER_HISTORY: muster: " in notes(cluster, "gpu-1"))
    check("history.db: not an SQLite database" in notes(cluster, "gpu-1"), "the log", notes(cluster, "gpu-1"))
    check("gpu-1" not in cluster.drained(), "the node is drained")


def test_log_lines_of_checks_are_objects(cluster):
    """In a file that collectors can read; a file that cannot be written costs the check nothing."""
    path = os.path.join(cluster.folder, "muster.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("x" * 10000001)
    add_setting(cluster, f"MUSTER_JSON_LOG={path}")
    cluster.fault(BAD)
    health_check(cluster, "1")
    health_check(cluster, "2")
    lines = [json.loads(line) for line in read(path).splitlines()]
    check_equal([line["verdict"] for line in lines if "verdict" in line], ["pass", "fail"], "the verdicts")
    check_equal([(line["node"], line["check"], line["metric"], line["unit"]) for line in lines if line.get("status") == "fail"],
                [("gpu-2", "copy.h2d", "gpu.h2d_gbps", "GB/s")], "the findings")
    check_equal(os.stat(path + ".old").st_size, 10000001, "what was there before")
    check_equal(oct(os.stat(path).st_mode & 0o7777), "0o644", "the mode")
    check("exit 1: MUSTER FAIL" in notes(cluster, "gpu-2"), "Muster's own log", notes(cluster, "gpu-2"))
    add_setting(cluster, "MUSTER_JSON_LOG=/nowhere/x")
    health_check(cluster, "1")
    check("MUSTER_JSON_LOG: cannot write to /nowhere/x" in notes(cluster, "gpu-1"), "the log", notes(cluster, "gpu-1"))
    check("exit 0: MUSTER PASS" in notes(cluster, "gpu-1").rpartition("/nowhere/x")[2], "the check after it", notes(cluster, "gpu-1"))


main(globals())
