#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands, by the name that this file is called by: the nodes' states are in $FAKE_SLURM/nodes.json.

Every call is written down in $FAKE_SLURM/calls. squeue knows the jobs of jobs.json, sacct those of past.json. All nodes
are in the partition "all", and those of partitions.json in others too. topology has what scontrol show topology prints. $FAKE_SLURM/mood of scontrol: "hang", "fail",
"deny" (update alone fails), "keep drained" (so does UNDRAIN), "flood", "garbage"; else it does as it is told.
"""

import json
import os
import sys
import time

FOLDER = os.environ["FAKE_SLURM"]


def path(name):
    return os.path.join(FOLDER, name)


def load(name):
    if not os.path.exists(path(name)):
        return {}
    with open(path(name), encoding="utf-8") as file:
        return json.load(file)


def squeue(job):
    if job not in load("jobs.json"):
        print("slurm_load_jobs error: Invalid job id specified", file=sys.stderr)
        return 1
    print(load("jobs.json")[job])
    return 0


def sacct(job):
    print(load("past.json").get(job, ""), end="")
    return 0


def sinfo():
    for name, node in load("nodes.json").items():
        for partition in ["all", *load("partitions.json").get(name, [])]:
            state = "drained" if "DRAIN" in node["state"] else "idle"
            print(f"{name}|{partition}|{state}|{node.get('since', '2020-01-01T00:00:00')}|{node['reason'] or 'none'}")
    return 0


def main():
    arguments = sys.argv[1:]
    command = os.path.basename(sys.argv[0])
    with open(path("calls"), "a", encoding="utf-8") as calls:
        calls.write(json.dumps(([] if command == "scontrol" else [command]) + arguments) + "\n")
    if command in ("squeue", "sacct"):
        return {"squeue": squeue, "sacct": sacct}[command](arguments[arguments.index("--jobs") + 1])
    if command == "sinfo":
        return sinfo()
    mood = ""
    if os.path.exists(path("mood")):
        with open(path("mood"), encoding="utf-8") as file:
            mood = file.read().strip()
    if mood == "hang":
        time.sleep(600)
    if mood == "fail" or (mood == "deny" and arguments[0] == "update") or (mood == "keep drained" and "State=UNDRAIN" in arguments):
        print("slurm_update error: first line\nslurm_update error: Access/permission denied", file=sys.stderr)
        return 1
    if mood == "flood":
        sys.stdout.write("x" * 5000000)
        return 0
    if mood == "garbage":
        print("no such thing")
        return 0
    with open(path("nodes.json"), encoding="utf-8") as file:
        nodes = json.load(file)
    if arguments[:2] == ["show", "node"] and arguments[3:] == ["-o"]:
        node = nodes.get(arguments[2])
        if node is None:
            print(f"Node {arguments[2]} not found")
            return 1
        if "shown_as" in node:  # the name of a set of nodes
            print("".join(f"NodeName={name} State=IDLE\n" for name in node["shown_as"]), end="")
            return 0
        reason = f" Reason={node['reason']} [root@{node.get('since', '2026-11-21T10:00:00')}]" if node["reason"] else ""
        print(f"NodeName={arguments[2]} Arch=x86_64 OS=Linux 5.15 #1 SMP State={node['state']} CPUs=96{reason}")
        return 0
    if arguments == ["show", "topology"]:
        if os.path.exists(path("topology")):
            with open(path("topology"), encoding="utf-8") as file:
                print(file.read(), end="")
        return 0
    if arguments[0] != "update":
        return 1
    pairs = dict(argument.split("=", 1) for argument in arguments[1:])
    node = nodes[pairs["NodeName"]]
    if pairs["State"] == "DRAIN":
        node["state"], node["reason"] = node["state"] + "+DRAIN", pairs["Reason"]
        node["since"] = time.strftime("%Y-%m-%dT%H:%M:%S")
    elif pairs["State"] == "UNDRAIN":
        node["state"], node["reason"] = node["state"].replace("+DRAIN", ""), ""
    with open(path("nodes.json"), "w", encoding="utf-8") as file:
        json.dump(nodes, file)
    return 0


sys.exit(main())
