# SPDX-License-Identifier: Apache-2.0
"""muster under srun, as a user might start it: its verdict."""

import json
import os
import re

from cluster import check, check_equal


def masks(cluster):
    """srun's option that puts each task next to its GPU, as muster itself prints it."""
    return re.search(r"^srun .*(--cpu-bind=\S+)", cluster.ask("muster", "bind", "--sku", cluster.sku), re.MULTILINE)[1]


def srun(cluster, *options, start=()):
    """muster's exit code and report under srun with these options."""
    code, text = cluster.run("srun", "-N2", "--exclusive", *options, *start, "muster", "run", "--profile", "quick")
    path = os.path.join(cluster.folder, "muster-report.json")
    check(os.path.exists(path), "no report was written", text)
    check_equal(sum(line.startswith("MUSTER ") for line in text.splitlines()), 1, "how many processes print a verdict")
    with open(path, encoding="utf-8") as file:
        return code, json.load(file)


def problems(report):
    return {(f["check"], f["where"]["node"], f["where"].get("rank")) for f in report["findings"]
            if f["status"] == "fail"}


def advice(report, check_name):
    return next(f["advice"] for f in report["findings"] if f["check"] == check_name)
