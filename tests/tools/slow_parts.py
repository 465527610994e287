#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is the slow part of the traffic between ranks named? On every machine type, for several numbers of nodes.

usage: slow_parts.py MUSTER [--skus NAME...] [--nodes N...] [--profiles NAME...] [--kinds KIND...]

Each run has one slow part in the middle of the job: a GPU (edge-slow), a rank (nccl-slow), a link of two GPUs (link-slow),
a network adapter (rail-slow), or a node's network (net-bad=slow). The report must name it, and nothing else:
  gpu       the rank and its GPU
  adapter   the node and the port, or the node where NCCL uses sockets
  node      the node
  pair      both ends, when no other exchange tells which of them it is: two GPUs of one node, two nodes
  job       no part: nothing is there to compare with, so at most the collective is known to be slow
Printed is a line for each run, and how many named the part.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from machines import healthy_node

KINDS = ("edge-slow", "nccl-slow", "link-slow", "rail-slow", "net-bad")
BAD = ("fail", "warn", "inconclusive")
WORDS = {
    "gpu": ("slow with all other GPUs",),
    "adapter": ("slow through this network adapter to all other nodes",),
    "node": ("slow in most exchanges of this node",),
    "pair": ("slow between these two", "slow in most exchanges between these two nodes"),
}


class Machine:
    def __init__(self, muster, sku, folder):
        node = healthy_node(muster, sku, folder)
        self.sku, self.gpus = sku, [gpu["bus_id"] for gpu in node["gpus"]]
        self.group = node["gpus"][0]["nvlink_group"] # so many GPUs of a node does NVLink join
        self.rack = node["gpus"][0]["fabric_cluster"].strip("0-") != "" # and those of other nodes
        self.ports = [port["device"] for port in node["ports"] if port["link_layer"] == "InfiniBand"]


def partners(machine, nodes):
    """Of how many other GPUs a GPU's exchanges say something: over NVLink or PCIe, and over NVLink to other nodes."""
    edges = min(len(machine.gpus) - 1, 2)
    return edges, min(nodes - 1, 2) if machine.rack else 0


def expected(machine, nodes, kind):
    """What a report can name; None: this machine type has no such part."""
    gpus = len(machine.gpus)
    edges, racks = partners(machine, nodes)
    by_share = machine.group > 1 or machine.rack # the rate of NVLink is known
    usual = nodes > 2                            # elsewhere nodes are compared, three at least
    if kind == "edge-slow":
        if not by_share or gpus + nodes < 3 or (gpus == 1 and not machine.rack):
            return None
        return "pair" if edges + racks < 2 or machine.group < gpus else "gpu"
    if kind == "link-slow":
        return "pair" if machine.group > 1 else None
    if kind == "rail-slow":
        if not machine.ports or machine.rack or nodes < 2:
            return None
        return "adapter" if nodes > 2 else "pair"
    if kind == "net-bad":
        if nodes < 2 or machine.rack:
            return None
        if nodes == 2:
            return "pair" if machine.ports else "job"
        return "node" if len(machine.ports) > 1 else "adapter"
    if gpus * nodes < 2: # nccl-slow
        return None
    if gpus == 1 and not machine.rack:
        return "adapter" if usual else "job"
    if usual or (edges + racks > 1 and machine.group in (1, gpus)):
        return "gpu" if usual or by_share else "job"
    return "pair" if by_share else "job"


def fault(machine, nodes, kind):
    """Its words, the number of its node, its GPU and its port."""
    node = (nodes + 1) // 2
    gpu = len(machine.gpus) // 2
    if kind == "nccl-slow":
        return f"nccl-slow@rank{(node - 1) * len(machine.gpus) + gpu}=4", node, gpu, None
    if kind == "edge-slow":
        return f"edge-slow@node{node}/gpu{gpu}=20", node, gpu, None
    if kind == "link-slow":
        peer = gpu ^ 1
        return f"link-slow@node{node}/gpu{gpu}=gpu{peer}:20", node, gpu, None
    if kind == "rail-slow":
        port = machine.ports[len(machine.ports) // 2]
        return f"rail-slow@node{node}/{port}=3", node, None, port
    return f"net-bad@node{node}=slow", node, None, None


def is_named(machine, findings, part, place):
    """The part's finding; a finding about the whole job may stand beside it, and leads to it."""
    _, node, gpu, port = place
    pairs = [finding for finding in findings if finding["check"].startswith("pairs.")]
    others = [finding for finding in findings if finding not in pairs and "node" in finding["where"]]
    if others or (part == "job") != (not pairs):
        return False
    if part == "job":
        return True
    where, observed = pairs[0]["where"], pairs[0]["observed"]
    if len(pairs) != 1 or not any(words in observed for words in WORDS[part]):
        return False
    if part == "pair":
        return f"sim-{node} " in observed and (gpu is None or machine.gpus[gpu] in observed)
    if where.get("node") != f"sim-{node}":
        return False
    if part == "gpu":
        return where.get("gpu") == machine.gpus[gpu]
    return part != "adapter" or port is None or where.get("port", "").startswith(port + "/")


def play(muster, machine, nodes, profile, kind, part, report):
    place = fault(machine, nodes, kind)
    words = [muster, "sim", "--sku", machine.sku, "--nodes", str(nodes), "--fault", place[0], "--report", report, "--",
             "--profile", profile, "--deadline", "300"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if not os.path.exists(report):
        sys.exit(f"no report: {' '.join(words)}\n{done.stdout}")
    with open(report, encoding="utf-8") as file:
        findings = [finding for finding in json.load(file)["findings"] if finding["status"] in BAD]
    os.unlink(report)
    good = is_named(machine, findings, part, place)
    print(f"{'ok  ' if good else 'FAIL'}  {machine.sku} {nodes} {profile} {place[0]}: {part}", flush=True)
    for finding in [] if good else findings:
        where = " ".join(f"{key}={value}" for key, value in finding["where"].items() if key != "labels")
        print(f"      {finding['status']} {finding['check']} {where}: {finding['observed'][:150]}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("muster")
    parser.add_argument("--skus", nargs="+")
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 2, 3, 16])
    parser.add_argument("--profiles", nargs="+", default=["standard", "full"])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    muster = os.path.realpath(options.muster)
    skus = options.skus or subprocess.run([muster, "sim", "--list-skus"], stdout=subprocess.PIPE, text=True,
                                          check=True).stdout.split()
    runs = good = 0
    with tempfile.TemporaryDirectory() as scratch:
        for sku in skus:
            machine = Machine(muster, sku, scratch)
            for nodes, profile, kind in ((n, p, k) for n in options.nodes for p in options.profiles
                                         for k in options.kinds):
                part = expected(machine, nodes, kind)
                if part:
                    runs += 1
                    good += play(muster, machine, nodes, profile, kind, part, os.path.join(scratch, "report.json"))
    print(f"{good} of {runs} runs named the part")
    sys.exit(0 if good == runs else 1)


if __name__ == "__main__":
    main()
