#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is every verdict right? Simulated runs, healthy ones and ones with faults drawn by a seed, of which the truth is known.

usage: campaign.py MUSTER [--healthy N] [--faulty N] [--seed TEXT] [--at-once N] [--ranks N] [--only NUMBER...]
                   [--deadline SECONDS] [--within SECONDS] [--keep DIR]

Run number K of a seed is the same wherever it is made: a machine type, 1 to 6 nodes, a profile, and no, one, two or three
faults on parts of their own. Of each run is asked:
  verdict   the exit code is that of the findings, and a healthy run passes without a warning; what could not be measured
            is in its summary
  names     no finding names a node without a fault, `muster nodes --bad` lists none, and `--good` no node with a fault
  unseen    each fault has a finding of its kind at its node, and at its GPU, port or rank where that is known; an event
            that is only recorded has its sample there
  time      the run ends by its deadline
  check     `muster check` of the saved report says the same
Printed is a line for each run that is wrong, with the command that repeats it, and at the end a table.
"""

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from machines import healthy_node

DEADLINES = {"quick": 1, "standard": 1, "full": 2}  # of a run, in multiples of --deadline
BAD = ("fail", "warn", "inconclusive")
DISKS = {"node.nvme_disks", "node.nvme_gb"}
PROFILES = ("quick", "quick", "standard", "standard", "full")


class Machine:
    """What a healthy node of a machine type has, as `muster sim --prepare` describes it, and what is judged of it."""

    def __init__(self, muster, sku, folder):
        node = healthy_node(muster, sku, folder)
        self.sku = sku
        checks = json.loads(ask(muster, "skus", sku, "--format", "json").stdout)["checks"]
        self.checks = {check["check"] for check in checks}
        self.judged = {check["metric"] for check in checks  # by thresholds of their own
                       if check["calibrated"] and not check["check"].startswith("same.")}
        self.gpus = node["gpus"]
        self.rack = self.gpus[0]["fabric_cluster"].strip("0-") != ""  # NVLink goes on to other nodes
        self.joined = self.gpus[0]["nvlink_group"] >= len(self.gpus) > 1  # all GPUs of the node, by NVLink
        self.ports = [port["device"] for port in node["ports"] if port["link_layer"] == "InfiniBand"]


class Fault:
    """A fault, and what a report must say of it: a finding of a check whose id fits, at the place."""

    def __init__(self, words, checks, node=None, **place):
        self.words, self.checks = words, re.compile(checks)
        self.node = node    # its number, from 1; None: no single node is to blame
        self.place = place  # gpu=BUS ID, port=DEVICE, rank=NUMBER: what a finding must name too
        self.may_be_job = False   # the finding may be about the whole job
        self.nodes = {node} if node else set()  # that findings may name
        self.status = ("fail", "warn")
        self.ring = False      # it is about the all-reduce: two of them are one to the report
        self.explains = False  # slow traffic is no finding beside it
        self.compared = False  # only nodes that are compared with each other show it
        self.silent = False    # nothing is measured there any more
        self.before = ()       # faults that make the machine what it must be for this one
        self.options = []      # of muster run
        self.of_job = False    # the launch or the job's settings are to blame: the node is not bad
        self.unmeasured = None # what the summary says that could not be measured, in place of a finding
        self.recorded = None   # the label of a sample of the node that shows it: an event that is no fault has no finding

    def with_(self, **changes):
        for name, value in changes.items():
            setattr(self, name, value)
        return self

    def is_seen(self, findings, report):
        if self.unmeasured:
            return any(re.search(self.unmeasured, line) for line in report["summary"].get("not_measured", []))
        if not self.recorded:
            return any(self.is_named_by(finding) for finding in findings)
        return any(node["name"] == name_of(self.node) and self.recorded.items() <= sample.get("labels", {}).items()
                   for node in report["run"]["nodes"] for sample in node["samples"])

    def is_named_by(self, finding):
        if finding["status"] not in self.status or not self.checks.fullmatch(finding["check"]):
            return False
        where = finding["where"]
        if "node" not in where:
            return self.may_be_job or self.node is None
        if self.node is not None and where["node"] != name_of(self.node):
            return False
        return all(str(where.get(key, value)).startswith(str(value)) for key, value in self.place.items())


def name_of(node):
    return f"sim-{node}"


class Draw:
    """Faults on parts of their own, for a number of nodes of a machine type, and a profile."""

    def __init__(self, rng, machine, nodes, profile):
        self.rng, self.machine, self.nodes, self.profile = rng, machine, nodes, profile
        self.taken = set()
        self.slow = False  # there is a slow copy that only the other GPUs show

    def node(self):
        return self.rng.randint(1, self.nodes)

    def gpu(self):
        """A node, the GPU's number there, its bus id, and the rank that uses it."""
        node, index = self.node(), self.rng.randrange(len(self.machine.gpus))
        return node, index, self.machine.gpus[index]["bus_id"], (node - 1) * len(self.machine.gpus) + index

    def of_gpu(self, kind, checks, value=""):
        node, index, bus, _ = self.gpu()
        return Fault(f"{kind}@node{node}/gpu{index}{value}", checks, node, gpu=bus)

    def of_node(self, kind, checks, value=""):
        node = self.node()
        return Fault(f"{kind}@node{node}{value}", checks, node)

    def of_port(self, kind, checks, value=""):
        if not self.machine.ports:
            return None
        node, device = self.node(), self.rng.choice(self.machine.ports)
        return Fault(f"{kind}@node{node}/{device}{value}", checks, node, port=device)

    def of_rank(self, kind, checks, value=""):
        node, _, _, rank = self.gpu()
        return Fault(f"{kind}@rank{rank}{value}", checks, node)

    def load(self, kind, checks, value="", needs=None):
        """What shows under load alone; needs is a function without which NVML does not show it."""
        if self.profile == "quick" or needs in self.machine.gpus[0]["unsupported"]:
            return None
        return self.of_gpu(kind, checks, value)

    def slow_copy(self, way):
        """Without a threshold a copy is compared with those of the other GPUs: one slow one of three is seen, of which other
        faults may take two away."""
        if f"gpu.{way}_gbps" not in self.machine.judged:
            if self.slow or len(self.machine.gpus) * self.nodes < 5:
                return None
            self.slow = True
        share = self.rng.choice((0.1, 0.3, 0.45))
        node, index, bus, _ = self.gpu()
        healthy = self.machine.gpus[index][f"{way}_gbps"]
        return Fault(f"{way}-slow@node{node}/gpu{index}={healthy * share:.4g}", rf"copy\.{way}.*", node, gpu=bus)

    def traffic(self):
        """Exchanges are measured: not by quick, and only where there are two ranks."""
        return self.profile != "quick" and len(self.machine.gpus) * self.nodes > 1

    def edge_slow(self):
        """Of two GPUs that were paired with each other alone nobody knows which one it is."""
        if not self.traffic() or not self.machine.joined:
            return None
        fault = self.of_gpu("edge-slow", r"pairs\..*|ring\..*", "=20").with_(ring=True)
        return fault.with_(place={}) if len(self.machine.gpus) == 2 else fault

    def rail_slow(self):
        """Two nodes: one of the two adapters, nobody knows which one."""
        if not self.traffic() or not self.machine.ports or self.nodes < 2 or self.machine.rack:
            return None
        fault = self.of_port("rail-slow", r"pairs\..*|ring\..*", "=2").with_(ring=True, may_be_job=self.nodes == 2)
        fault.place = {}  # a report has the port's number too
        if self.nodes == 2:
            fault.nodes = {1, 2}
        return fault

    def link_slow(self):
        """A GPU and the next one of its node."""
        if not self.traffic() or not self.machine.joined:
            return None
        node, index, _, _ = self.gpu()
        peer = (index + 1) % len(self.machine.gpus)
        return Fault(f"link-slow@node{node}/gpu{index}=gpu{peer}:20", r"pairs\..*", node).with_(ring=True)

    def exchange(self, kind, checks, value=""):
        """The rank's exchanges, with GPUs of its node and other nodes. Its partner may be named where it has no other."""
        if not self.traffic():
            return None
        fault = self.of_rank(kind, checks, value).with_(ring=True, may_be_job=True, status=BAD)
        if len(self.machine.gpus) == 1 or (kind == "nccl-hang" and value != "=exchange"):
            fault.nodes = set(range(1, self.nodes + 1))
            fault.node = None
        return fault

    def late(self):
        """All ranks wait for the one that is late."""
        check = "collectives.jitter" if self.nodes == 1 else "collectives.jitter_network"
        if not self.traffic() or check not in self.machine.checks:
            return None
        node, _, _, rank = self.gpu()
        return Fault(f"nccl-jitter@rank{rank}", re.escape(check)).with_(ring=True, nodes={node})

    def several_ports(self, kind, checks, value=""):
        """Adapters with two Ethernet ports each, which no known machine type has."""
        fault = self.of_port(kind, checks, value)
        return fault and fault.with_(place={}, before=[f"roce@node{node}=2" for node in range(1, self.nodes + 1)],
                                     options=["--sku", "generic-nvidia"])

    def logged(self, kind, checks, value=""):
        """A line of the kernel's log that is old enough to be from before the job, and young enough to count."""
        return self.of_node(kind, checks, value).with_(status=BAD)

    def differs(self, kind, checks, value="", ring=False):
        """Nodes are compared with each other: of two nobody knows which one is right, and one alone shows nothing."""
        if self.nodes == 1:
            return None
        fault = self.of_node(kind, checks, value).with_(may_be_job=self.nodes == 2, compared=True, ring=ring)
        if self.nodes == 2 and ring:
            fault.nodes = {1, 2}  # one of the two has no part in the ring, and nobody knows which one should
        return fault

    def ring(self, kind, value=""):
        """On one node the collective names nobody; of two nodes the faulty one is not always known."""
        if len(self.machine.gpus) * self.nodes < 2:
            return None
        fault = self.of_rank(kind, r"ring\..*|pairs\..*|probe\.nccl_allreduce", value)
        unnamed = kind == "nccl-slow" and not self.names_slow()
        return fault.with_(ring=True, may_be_job=self.nodes <= 2 or unnamed)

    def names_slow(self):
        """Exchanges say which part makes a ring slow: where they are measured, over RDMA or NVLink."""
        return self.traffic() and bool(self.machine.ports or self.machine.joined)

    def between_nodes(self, kind):
        """net-bad, link-bad and cut."""
        if self.nodes < 2:
            return None
        how = self.rng.choice(("error", "hang", "slow"))
        node, other = self.rng.sample(range(1, self.nodes + 1), 2)
        if kind == "net-bad":
            unnamed = how == "slow" and not (self.names_slow() and self.machine.ports)
            return Fault(f"net-bad@node{node}={how}", r"ring\..*|pairs\..*", node).with_(
                ring=True, may_be_job=self.nodes == 2 or unnamed)
        if kind == "link-bad":
            return Fault(f"link-bad@node{node}={other}:{how}", r"pairs\..*|ring\.(link|\w*nodes?\..*|many\..*|rack.*|\w+)").with_(
                ring=True)
        node = min(node, self.nodes - 1)
        alone = {1} if node == 1 else set()
        alone |= {self.nodes} if node == self.nodes - 1 else set()
        return Fault(f"cut@node{node}={how}", r"ring\..*").with_(ring=True, nodes=alone)

    def two_of_four(self):
        """Two nodes with a bad network in one run: neither hides the other."""
        if self.nodes < 4:
            return None
        node, other = self.rng.sample(range(1, self.nodes + 1), 2)
        fault = Fault(f"net-bad@node{node}=error", r"ring\..*|pairs\..*").with_(ring=True, nodes={node, other})
        return fault.with_(before=[f"net-bad@node{other}=error"])

    def variable(self):
        """A variable of the job script that keeps NCCL from using links."""
        name, check = self.rng.choice((("NCCL_P2P_DISABLE", "p2p"), ("NCCL_IB_DISABLE", "ib")))
        if not (self.machine.joined if check == "p2p" else self.machine.ports and self.nodes > 1):
            return None
        fault = self.of_node("env", rf"env\.{check}_disable|same\.nccl_{check}_disable", f"={name}=1")
        return fault.with_(of_job=True, ring=True)

    def hidden(self):
        """A GPU that a cgroup keeps from the job; the rank that would use it has none."""
        if len(self.machine.gpus) < 2:
            return None
        fault = self.of_gpu("gpu-hidden", r"launch\.hidden")
        return fault.with_(place={}, of_job=True, ring=True)

    def stranger(self, kind, checks):
        """Another program on the GPU."""
        return self.of_gpu(kind, checks).with_(explains=True)

    def unmeasured_by(self, kind, text, value=""):
        return self.of_node(kind, "nothing", value).with_(unmeasured=text)

    def unread(self):
        """A source that is there and fails proves nothing, and is no pass."""
        call = self.rng.choice(["nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetPersistenceMode"])
        if not self.answers(call):
            return None
        return self.of_gpu("nvml-error", r"(gpu|load|same)\..*", f"={call}:999").with_(status=("inconclusive",))

    def dies(self):
        calls = ["cuInit:segv", "nvmlInit_v2:abort", "cuMemAllocHost_v2:hang", "nvmlDeviceGetHandleByIndex_v2:exit=3"]
        if len(self.machine.gpus) * self.nodes > 1:
            calls += ["ncclCommInitRankConfig:segv", "ncclAllReduce:abort"]
        return self.of_rank("dies", r"probe\..*|ring\..*|rank\..*", f"={self.rng.choice(calls)}").with_(ring=True, silent=True)

    def kinds(self):
        gpu = self.machine.gpus[0]
        slow = self.rng.choice((4, 10, 50))
        return {
            "h2d-slow": lambda: self.slow_copy("h2d"),
            "d2h-slow": lambda: self.slow_copy("d2h"),
            "gpu-missing": lambda: self.of_node("gpu-missing", r"gpu\.count|launch\..*|same\..*|probe\.gpu", "/gpu0").with_(
                ring=len(self.machine.gpus) == 1),  # then the node has no part in the ring
            "gpu-name": lambda: self.of_gpu("gpu-name", r"gpu\.name|same\.gpu_name", "=NVIDIA T4"),
            "gpu-memory": lambda: self.of_gpu("gpu-memory", r"gpu\.memory", "=9000"),
            "ecc-uncorrected": lambda: self.of_gpu("ecc-uncorrected", r"gpu\.ecc_errors")
            if "nvmlDeviceGetTotalEccErrors" not in gpu["unsupported"] else None,
            "mig": lambda: self.of_gpu("mig", r"gpu\.mig"),
            "nvlink-down": lambda: self.of_gpu("nvlink-down", r"gpu\.nvlinks") if gpu["nvlinks"] else None,
            "c2c-down": lambda: self.of_gpu("c2c-down", r"gpu\.c2c.*") if gpu.get("c2c_links") else None,
            "unlicensed": lambda: self.of_gpu("unlicensed", r"gpu\.licensed"),
            "memory-bad": lambda: self.load("memory-bad", r"load\.memory_wrong"),
            "memory-held": lambda: self.stranger("memory-held", r"gpu\.stranger_memory|load\.memory_tested"),
            "stranger": lambda: self.stranger("stranger", r"gpu\.strangers|load\.memory_tested"),
            "stranger-late": lambda: self.stranger("stranger-late", r"gpu\.strangers"),
            "gemm-wrong": lambda: self.load("gemm-wrong", r"load\.products_wrong"),
            "gemm-slow": lambda: self.load("gemm-slow", r"load\.bf16.*", "=0.3", "nvmlDeviceGetMaxClockInfo"),
            "hbm-slow": lambda: self.load("hbm-slow", r"load\.memory_.*", "", "nvmlDeviceGetMaxClockInfo"),
            "hot": lambda: self.load("hot", r"load\..*thermal", "", "nvmlDeviceGetCurrentClocksThrottleReasons"),
            "power-brake": lambda: self.load(
                "power-brake", r"load\.power_brake", "", "nvmlDeviceGetCurrentClocksThrottleReasons"),
            "fabric-state": lambda: self.of_gpu("fabric-state", r"fabric\..*"),
            "fabric-status": lambda: self.of_gpu("fabric-status", r"fabric\..*"),
            "fabric-health": lambda: self.of_gpu("fabric-health", r"fabric\..*"),
            "ib-down": lambda: self.of_port("ib-down", r"ib\..*"),
            "ib-init": lambda: with_status(self.of_port("ib-init", r"ib\..*"), BAD),
            "ib-missing": lambda: no_part(self.of_port("ib-missing", r"ib\..*|same\..*")),
            "ib-rate": lambda: self.of_port("ib-rate", r"ib\.rate|same\.ib_rate", "=50"),
            "counter": lambda: self.of_port("counter", r"ib\..*"),
            "ib-extra": lambda: self.of_node("ib-extra", r"ib\..*|same\..*") if self.machine.ports else None,
            "disk-dead": lambda: self.of_node("disk-dead", r"node\..*|same\.nvme.*|history.*|scratch.*") if self.machine.judged & DISKS else None,
            "disk-missing": lambda: self.of_node("disk-missing", r"node\..*|same\.nvme.*") if self.machine.judged & DISKS else None,
            "lib-missing": lambda: self.of_node("lib-missing", r"probe\..*").with_(ring=True), # there is no all-reduce
            "topo-stale": lambda: self.of_node("topo-stale", r".*topo.*"),
            "imex-missing": lambda: self.of_node("imex-missing", r"imex\..*"),
            "env": lambda: self.of_node("env", r"launch\..*", "=CUDA_VISIBLE_DEVICES=-1").with_(ring=True),
            "driver-drift": lambda: self.differs("driver-drift", r".*driver.*"),
            "nccl-version": lambda: self.differs("nccl-version", r".*nccl.*|probe\..*", ring=True),
            "vm-size": lambda: self.differs("vm-size", r".*vm_size|sku\..*", "=Standard_D2s_v5"),
            "placement-group": lambda: self.differs("placement-group", r".*placement.*"),
            "cpu-mask": lambda: self.of_rank("cpu-mask", r"affinity\..*|launch\..*"),
            "duplicate-gpu": lambda: self.duplicate(),
            "dies": self.dies,
            "nccl-slow": lambda: self.ring("nccl-slow", f"={slow}"),
            "nccl-hang": lambda: self.ring("nccl-hang", self.rng.choice(("=init", "=reduce"))),
            "nccl-hang-in-traffic": lambda: self.exchange("nccl-hang", r"probe\..*|pairs\..*|collectives\..*|step\..*",
                                                          self.rng.choice(("=exchange", "=alltoall", "=step"))),
            "exchange-wrong": lambda: self.exchange("exchange-wrong", r"pairs\.wrong|collectives\..*"),
            "edge-slow": self.edge_slow,
            "rail-slow": self.rail_slow,
            "link-slow": self.link_slow,
            "nccl-jitter": self.late,
            "nccl-plugin-missing": lambda: self.differs("nccl-plugin-missing", r"ring\.sharp|.*nccl_plugin.*")
            if "ring.sharp" in self.machine.checks else None,
            "nic-port-down": lambda: self.several_ports("nic-port-down", r"nic\.share", "=2"),
            "roce-v1": lambda: self.several_ports("roce-v1", r"roce\.gid_v2"),
            "xid": lambda: self.of_gpu("xid", r"history\..*", self.rng.choice(("=79:5m", "=94:1h", "=48:20m"))),
            "sxid": lambda: self.logged("sxid", r"history\..*", "=20034:5m") if self.machine.joined else None,
            "aer": lambda: self.logged("aer", r"history\..*", "=fatal:5m"),
            "flap": lambda: self.logged("flap", r"history\..*", "=10m") if self.machine.ports else None,
            "logged": lambda: self.logged("logged", r"history\..*", "=xfs:5m"),
            "oom": lambda: self.logged("oom", r"history\..*", "=5m").with_(recorded={"kind": "oom"}),
            "read-only": lambda: self.logged("read-only", r"history\..*", "=5m"),
            "acs": lambda: self.of_node("acs", r"host\.acs"),
            "busy": lambda: self.stranger("busy", r"gpu\.stranger.*") if self.answers("nvmlDeviceGetUtilizationRates") else None,
            "nvlink-errors": lambda: self.of_gpu("nvlink-errors", r"gpu\.nvlink.*", self.rng.choice(
                ("=recovery:3", "=replay:500"))) if gpu["nvlinks"] and self.profile != "quick" else None,
            "pcie-replays": lambda: self.of_gpu("pcie-replays", r"gpu\.pcie.*", "=100000")
            if self.answers("nvmlDeviceGetPcieReplayCounter") else None,
            "recovery-action": lambda: self.of_gpu("recovery-action", r"gpu\.recovery.*", "=gpu-reset")
            if gpu["virtualization"] != "vgpu" else None,
            "sram-threshold": lambda: self.of_gpu("sram-threshold", r"gpu\.sram.*")
            if self.answers("nvmlDeviceGetTotalEccErrors") else None,
            "nccl-wrong-sum": lambda: self.ring("nccl-wrong-sum"),
            "nccl-async-error": lambda: self.ring("nccl-async-error"),
            "net-bad": lambda: self.between_nodes("net-bad"),
            "net-bad-twice": self.two_of_four,
            "variable": self.variable,
            "gpu-hidden": self.hidden,
            "p2p-off": lambda: no_part(self.of_gpu("p2p-off", r"gpu\.p2p")) if self.machine.joined else None,
            "log-unreadable": lambda: self.unmeasured_by("log-unreadable", r"^history\."),
            "cublas-missing": lambda: self.unmeasured_by("cublas-missing", r"^load\.")
            if self.profile != "quick" else None,
            "unread": self.unread,
            "link-bad": lambda: self.between_nodes("link-bad"),
            "cut": lambda: self.between_nodes("cut"),
        }

    def answers(self, function):
        gpu = self.machine.gpus[0]  # no part of a GPU has a utilisation of its own
        return function not in gpu["unsupported"] and not (gpu["mig"] and function == "nvmlDeviceGetUtilizationRates")

    def duplicate(self):
        """The rank takes the GPU of the rank before it, on the same node."""
        if len(self.machine.gpus) < 2:
            return None
        node, index = self.node(), self.rng.randrange(1, len(self.machine.gpus))
        return Fault(f"duplicate-gpu@rank{(node - 1) * len(self.machine.gpus) + index}", r"launch\..*|gpu\.count", node)

    def faults(self, count):
        kinds, found = self.kinds(), []
        for _ in range(50):
            if len(found) == count:
                break
            name = self.rng.choice(sorted(kinds))
            fault = kinds[name]()
            if not fault or fault.nodes & self.taken or any(
                    (fault.ring and (other.ring or other.explains)) or (fault.explains and other.ring)
                    or (fault.compared and other.silent) or (fault.silent and other.compared)
                    or (fault.compared and other.compared)  # two of one kind may be the majority
                    or fault.options != other.options  # other checks
                    for other in found):
                continue
            self.taken |= fault.nodes
            found.append(fault)
        return found


def with_status(fault, status):
    return fault.with_(status=status) if fault else None


def no_part(fault):
    return fault.with_(place={}) if fault else None


class Run:
    """One run, by its number and the seed."""

    def __init__(self, machines, options, number, faulty):
        rng = random.Random(f"{options.seed}/{number}/{faulty}")
        self.number = number
        self.machine = rng.choice(machines)
        few = len(self.machine.gpus) >= 8
        self.nodes = rng.choice((1, 1, 2, 2, 3, 4) if few else (1, 2, 2, 3, 4, 5, 6))
        self.profile = rng.choice(PROFILES)
        self.deadline = options.deadline * DEADLINES[self.profile]
        count = rng.choice((1, 1, 2, 3)) if faulty else 0
        self.faults = Draw(rng, self.machine, self.nodes, self.profile).faults(count)

    def command(self, muster, report):
        words = [muster, "sim", "--sku", self.machine.sku, "--nodes", str(self.nodes)]
        for word in dict.fromkeys(word for fault in self.faults for word in (*fault.before, fault.words)):
            words += ["--fault", word]
        options = self.faults[0].options if self.faults else []
        return words + ["--report", report, "--", "--profile", self.profile, "--deadline", str(self.deadline), *options]


def ask(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=600)


def listed(muster, report, option):
    return set(ask(muster, "nodes", report, option, "--format", "lines").stdout.split())


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def essence(report):
    """What `muster check` must say again."""
    return (report["verdict"], sorted((f["check"], f["status"], json.dumps(f["where"], sort_keys=True))
                                      for f in report["findings"]))


def problems_of(run, muster, report, code, seconds):
    found = read(report)
    findings = [finding for finding in found["findings"] if finding["status"] in BAD]
    faulty = {name_of(node) for fault in run.faults for node in fault.nodes}
    certain = {name_of(fault.node) for fault in run.faults
               if fault.node and any(fault.is_named_by(f) and f["status"] == "fail" for f in findings)}
    nobody = any(not fault.nodes for fault in run.faults)
    bad, good = listed(muster, report, "--bad"), listed(muster, report, "--good")
    named = {f["where"]["node"] for f in findings if "node" in f["where"]}
    expected = {"pass": 0, "fail": 1, "inconclusive": 3}[found["verdict"]]
    if code != expected:
        yield "verdict", f"exit code {code}, and the verdict is {found['verdict']}"
    if not run.faults and (code != 0 or findings):
        yield "verdict", f"a healthy run: {[(f['check'], f['status']) for f in findings]}"
    if named - faulty and not nobody:
        yield "names", f"findings name {sorted(named - faulty)}: " + str(
            sorted({f['check'] for f in findings if f['where'].get('node') in named - faulty}))
    healthy = bad - faulty | {name_of(fault.node) for fault in run.faults if fault.of_job} & bad
    if healthy:
        yield "names", f"--bad lists {sorted(healthy)}"
    if good & certain:
        yield "names", f"--good lists {sorted(good & certain)}"
    for fault in run.faults:
        if not fault.is_seen(findings, found):
            yield "unseen", f"{fault.words}: {[(f['check'], f['status'], f['where']) for f in findings][:6]}"
    if seconds > run.deadline + 15:
        yield "time", f"{seconds:.0f} s"
    again = report + ".again"
    ask(muster, "check", report, "--report", again)
    if not os.path.exists(again) or essence(read(again)) != essence(found):
        yield "check", "muster check says something else"


def play(run, muster, folder):
    """Its problems, its seconds; None when the simulation refuses a fault that this machine type cannot have."""
    report = os.path.join(folder, f"{run.number}.json")
    start = time.monotonic()
    done = ask(*run.command(muster, report))
    seconds = time.monotonic() - start
    if done.returncode == 2 and run.faults:
        return None
    if not os.path.exists(report):
        return [("verdict", f"no report: {done.stderr.strip().splitlines()[-1:]}")], seconds
    return list(problems_of(run, muster, report, done.returncode, seconds)), seconds


def campaign(options, machines, count, faulty, folder):
    """The table's row: runs, faults, problems by kind."""
    row = {"runs": 0, "faults": 0, "seconds": 0.0, "verdict": 0, "names": 0, "unseen": 0, "time": 0, "check": 0}
    place = os.path.join(folder, "faulty" if faulty else "healthy")
    os.makedirs(place, exist_ok=True)
    numbers = iter(options.only or range(100 * count + 1))

    def one(number):
        run = Run(machines, options, number, faulty)
        large = run.nodes * len(run.machine.gpus) > options.ranks
        return run, None if large or (faulty and not run.faults) else play(run, options.muster, place)

    with ThreadPoolExecutor(options.at_once) as pool:
        while row["runs"] < count and time.monotonic() < options.until:
            batch = [number for _, number in zip(range(min(options.at_once * 2, count - row["runs"])), numbers)]
            if not batch:
                break
            for run, result in pool.map(one, batch):
                if result is None:
                    continue
                row["runs"] += 1
                row["faults"] += len(run.faults)
                row["seconds"] = max(row["seconds"], result[1])
                for kind in {kind for kind, _ in result[0]}:
                    row[kind] += 1
                for kind, text in result[0]:
                    print(f"{run.number} {kind}: {text}\n    {' '.join(run.command('muster', 'r.json'))}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("muster")
    parser.add_argument("--healthy", type=int, default=0)
    parser.add_argument("--faulty", type=int, default=0)
    parser.add_argument("--seed", default="muster")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=64, help="runs of more ranks are left out")
    parser.add_argument("--only", type=int, nargs="+")
    parser.add_argument("--deadline", type=int, default=60, help="seconds of a run, in profile full twice as many")
    parser.add_argument("--within", type=float, default=math.inf, metavar="SECONDS", help="begin no run after that time")
    parser.add_argument("--keep", help="keep the reports in this folder")
    options = parser.parse_args()
    options.until = time.monotonic() + options.within
    options.muster = os.path.realpath(options.muster)
    with tempfile.TemporaryDirectory() as scratch:
        names = ask(options.muster, "sim", "--list-skus").stdout.split()
        machines = [Machine(options.muster, name, scratch) for name in names]
        rows = {name: campaign(options, machines, count, name == "faulty", options.keep or scratch)
                for name, count in (("healthy", options.healthy), ("faulty", options.faulty)) if count}
    print("| runs | number | faults | wrong verdict | wrong name | fault unseen | late | check differs | slowest |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | {row['runs']} | {row['faults']} | {row['verdict']} | {row['names']} | {row['unseen']} | "
              f"{row['time']} | {row['check']} | {row['seconds']:.1f} s |")
    wrong = sum(row[key] for row in rows.values() for key in ("verdict", "names", "unseen", "time", "check"))
    sys.exit(1 if wrong else 0)


main()
