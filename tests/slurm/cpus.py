#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that may use only a part of the CPUs of their node, where Slurm binds tasks to CPUs: those of this machine.

usage: cpus.py MUSTER NAME
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cluster import SCRIPTS, check_equal, fresh, main, skip

SKU = "This_Machine"
CPUS = set(range(os.cpu_count()))
PREFLIGHT = os.path.join(SCRIPTS, "preflight.sbatch")
WORDS = ("--sku", "generic-nvidia", "--profile", "quick")


def tree(muster):
    """A muster that can simulate this machine with a GPU."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    build = os.path.dirname(os.path.realpath(muster))
    shutil.copy(muster, folder)
    shutil.copytree(os.path.join(build, "libexec"), os.path.join(folder, "libexec"))  # which is found by its own place
    os.symlink(os.path.join(build, "lib"), os.path.join(folder, "lib"))
    shutil.copytree(os.path.join(build, "share"), os.path.join(folder, "share"), copy_function=os.symlink)
    descriptions = os.path.join(folder, "share/muster/hardware")
    with open(os.path.join(descriptions, "Standard_NC40ads_H100_v5.json"), encoding="utf-8") as file:
        machine = json.load(file)
    node = {"os_index": 0, "socket": 0, "cpu_list": f"0-{max(CPUS)}", "memory_mib": 65536, "triad_gbps": 165, "source": "a test"}
    with open(os.path.join(descriptions, SKU + ".json"), "w", encoding="utf-8") as file:
        json.dump(dict(machine, name=SKU, source="a test", numa_nodes=[node]), file)
    return os.path.join(folder, os.path.basename(muster))


def options(_):
    return "--conf", "TaskPlugin=task/affinity", *(("--node", "CoreSpecCount=1") if sys.argv[2].startswith("core") else ())


def is_measured(job, *cpus):
    """The job has passed, and the rank of each node has run on these CPUs, which Slurm was asked for if all nodes have the same."""
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    nodes = job.report()["run"]["nodes"]
    check_equal([(len(node["ranks"]), int(seen(node, "rank.cpu_mask"), 16) & ~mask(each)) for node, each in zip(nodes, cpus)],
                [(1, 0)] * len(cpus), "how many ranks, and on which other CPUs")
    if cpus[0] == cpus[-1]:
        check_equal([seen(node, "rank.slurm_cpu_bind") for node in nodes], [f"quiet,mask_cpu:{mask(cpus[0]):x}"] * len(cpus), "the masks")


def mask(cpus):
    return sum(1 << cpu for cpu in cpus)


def seen(node, metric):
    return next(sample["value"] for sample in node["ranks"][0]["samples"] if sample["metric"] == metric)


@fresh
def test_core_that_slurm_keeps_for_itself_is_in_no_mask(cluster):
    kept = int(re.search(r" CPUSpecList=(\d+)", cluster.ask("scontrol", "show", "node", "gpu-1"))[1])
    is_measured(cluster.preflight(*WORDS), CPUS - {kept}, CPUS - {kept})


@fresh
def test_job_that_shares_a_node_uses_its_own_cpus(cluster):
    """They are not the same on the other node."""
    other = cluster.submit("-n1", "-c1", "-wgpu-1", "--wrap", "sleep 600")
    cluster.wait_for("the other job runs", lambda: "JobState=RUNNING" in cluster.ask("scontrol", "show", "job", str(other)))
    for nodes, cpus in ((("-N1", "-wgpu-1"), (CPUS - {0},)), (("-N2",), (CPUS - {0}, CPUS - {max(CPUS)}))):
        job = cluster.submit(*nodes, "--ntasks-per-node=1", f"-c{len(CPUS) - 1}", "--gpus-per-node=1", "--wrap",
                             " ".join(("bash", PREFLIGHT, *WORDS)))
        is_measured(cluster.wait(job), *cpus)


if shutil.which("slurmd") and "SocketsPerBoard=1 CoresPerSocket=%d ThreadsPerCore=1" % len(CPUS) not in subprocess.run(
        ["slurmd", "-C"], stdout=subprocess.PIPE, text=True, check=False).stdout or os.sched_getaffinity(0) != CPUS or len(CPUS) < 2:
    skip("a machine of one socket, with two cores or more of one thread each, is needed")
sys.argv[1] = tree(sys.argv[1])
main(globals())
