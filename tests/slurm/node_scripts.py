# SPDX-License-Identifier: Apache-2.0
"""What the tests of prolog, epilog and health check share."""

import datetime
import json
import os

from cluster import SCRIPTS, check, check_equal

NEEDS = ("node", "drain", "resume")
BAD = "recovery-action@node2/gpu1=gpu-reset"  # a fact
SLOW = "h2d-slow@node2/gpu1=11.2"
WHOLE = ("--exclusive", "--gpus-per-node=2")


def options(_):
    return ("--conf", "PrologFlags=Alloc", "--conf", f"Prolog={SCRIPTS}/prolog.d/50-muster",
            "--conf", f"Epilog={SCRIPTS}/epilog.d/50-muster")


def checked(cluster, node):
    """The report of the node's last health check."""
    return os.path.join(cluster.environment["MUSTER_CLUSTER"], "log", "muster-" + node, "healthcheck.json")


def notes(cluster, node):
    """The log of the node's own musters."""
    path = os.path.join(cluster.environment["MUSTER_CLUSTER"], "log", "muster-" + node, "log")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def add_setting(cluster, line):
    with open(os.path.join(cluster.environment["MUSTER_CLUSTER"], "etc/default/muster"), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def check_drained(cluster, by, fault="reset-gpu: gpu.recovery_action GPU 1 0002:00:00.0: gpu-reset; expected neither"):
    """gpu-2 alone, with a reason that says who did it and why."""
    seen = cluster.drained()
    check(list(seen) == ["gpu-2"] and seen["gpu-2"].startswith(f"muster({by}): {fault}"), "who is drained, and why", seen)


def strikes(cluster, node):
    return os.path.join(cluster.environment["MUSTER_CLUSTER"], "log", "muster-" + node, "muster-strikes.json")


def age(cluster, node, kind, minutes):
    """Let the node's first strikes, or passes, be so much older."""
    with open(strikes(cluster, node), encoding="utf-8") as file:
        kept = json.load(file)
    for one in kept[kind]:
        first = datetime.datetime.strptime(one["first"], "%Y-%m-%dT%H:%M:%SZ") - datetime.timedelta(minutes=minutes)
        one["first"] = first.strftime("%Y-%m-%dT%H:%M:%SZ")
    with open(strikes(cluster, node), "w", encoding="utf-8") as file:
        json.dump(kept, file)


def health_check(cluster, node):
    check_equal(cluster.script("on", node, os.path.join(SCRIPTS, "healthcheck"))[0], 0, "the health check's exit code")
