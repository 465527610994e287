#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A history of 200 simulated nodes over 14 days: one report is measured, and its rows are the pattern of all others.

usage: fleet.py DATABASE

Each node has a health check every six hours, and jobs with prolog and epilog. Three nodes are bad: gpu-042 loses a GPU on
day 5, gpu-077 is slow from the start, gpu-123 from day 9. Two are flappy: now and then a soft finding, and a pass 20
minutes later. Of the others, one run in 2,000 fails by chance, and one in 200 warns.
"""

import calendar
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

START = calendar.timegm((2026, 11, 1, 0, 0, 0))
DAY, PART = 86400, "0002:00:00.0"
SKU = "Standard_NC48ads_A100_v4"
PASS, WARN, FAIL = range(3)
SOFT, HARD = 1, 2
BAD = {"gpu-042": (5, "gpu.count", None, HARD), "gpu-077": (0, "copy.h2d", PART, SOFT), "gpu-123": (9, "load.sustained", PART, SOFT)}
FLAPPY = {"gpu-010": ("copy.h2d", (2, 5, 6, 8, 11)), "gpu-199": ("step.compute", (1, 3, 7, 12))}
# Values of all GPUs of a node, and of the slow ones.
VALUES = {"gpu.h2d_gbps": 25.6, "gpu.d2h_gbps": 25.2, "gpu.gemm_bf16_tflops": 235, "gpu.remapped_uncorrectable": 0}
SLOW = {"copy.h2d": ("gpu.h2d_gbps", 11.2)}


def runs_of(index, draw):
    """[(started, {check: (part, fault)}, warns)] of a node."""
    name, offset = f"gpu-{index + 1:03}", index * 97
    times = [START + offset + hour * 3600 for hour in range(0, 14 * 24, 6)]
    for job in range(9):
        begin = START + int((job + 0.1 + 0.7 * draw()) * 1.5 * DAY)
        times += [begin, begin + 600 + int(2400 * draw())]
    found = {time: {} for time in times}
    day, check, part, fault = BAD.get(name, (99, None, None, None))
    for time in found:
        if time >= START + day * DAY:
            found[time][check] = (part, fault)
        elif name not in FLAPPY and draw() < 1 / 2000:
            found[time]["step.compute"] = (PART, SOFT)
    check, days = FLAPPY.get(name, (None, ()))
    for day in days:
        time = min(time for time in found if time >= START + day * DAY)
        found[time] = {check: (PART, SOFT)}
        found.setdefault(time + 1200, {})
    return name, [(time, found[time], not found[time] and draw() < 1 / 200) for time in sorted(found)]


def name_id(db, text):
    if text is None:
        return 0
    db.execute("INSERT OR IGNORE INTO names(text) VALUES (?)", (text,))
    return db.execute("SELECT id FROM names WHERE text = ?", (text,)).fetchone()[0]


def add_run(db, pattern, node, run, draw):
    started, found, warns = run
    status = FAIL if found else WARN if warns else PASS
    report = db.execute("INSERT INTO reports SELECT NULL, ?, ?, 0, NULL, type, profile, version, flags, 1, ? FROM reports WHERE id = ?",
                        (started, node, FAIL if found else PASS, pattern)).lastrowid
    db.execute("INSERT INTO verdicts VALUES (?, ?, ?)", (node, report, status))
    if warns:
        db.execute("INSERT INTO findings VALUES (?, ?, ?, 0, ?, 0)", (node, report, name_id(db, "paths.same"), WARN))
    for check, (part, fault) in found.items():
        # a part that fails is not the first one of the check: the node as a whole has warned
        for row in (0, WARN, 0), (name_id(db, part), FAIL, fault):
            db.execute("INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?, ?)", (node, report, name_id(db, check), *row))
    slow = dict(SLOW[check] for check in found if check in SLOW)
    for metric, usual in VALUES.items():
        db.execute("INSERT INTO samples SELECT key, ?, ?, parts, ? FROM samples WHERE report = ? AND key = ?",
                   (report, node, slow.get(metric, usual * (1 + 0.01 * (draw() - 0.5))), pattern, name_id(db, metric)))


def make(muster, path):
    """Write the database; returns {node: its runs}."""
    draw = random.Random(1).random
    nodes = dict(runs_of(index, draw) for index in range(200))
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        subprocess.run([muster, "sim", "--sku", SKU, "--nodes", "1", "--report", report, "--", "--profile", "standard"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([muster, "history", "add", report, "--db", path, "--quiet"], check=True)
    with sqlite3.connect(path) as db:
        pattern = db.execute("SELECT max(id) FROM reports").fetchone()[0]
        for _, name, run in sorted((run[0], name, run) for name, runs in nodes.items() for run in runs):
            add_run(db, pattern, name_id(db, name), run, draw)
        for table, column in (("samples", "report"), ("verdicts", "report"), ("findings", "report"), ("reports", "id")):
            db.execute(f"DELETE FROM {table} WHERE {column} = ?", (pattern,))
    db.close()
    return nodes


if __name__ == "__main__":
    make("muster", sys.argv[1])
