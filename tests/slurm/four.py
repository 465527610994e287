#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The two job scripts on four nodes: a ring of more than two.

usage: four.py MUSTER NAME
"""

import os

from cluster import SCRIPTS, check, check_equal, main

NODES = 4
NEEDS = ("nodes",)


def test_healthy_job_passes(cluster):
    job = cluster.preflight("--deadline", "200", seconds=240)
    check_equal((job.state, job.exit_code, job.problems()), ("COMPLETED", 0, set()), "the job's end")
    report = job.report()
    check_equal([(node["name"], len(node["ranks"])) for node in report["run"]["nodes"]],
                [(f"gpu-{k}", 2) for k in range(1, 5)], "the nodes")
    check(f"MUSTER PASS sku={cluster.sku} nodes=4 ranks=8 failed=0 warned=0 report=muster-{job.number}.json\n"
          in job.read("txt"), "the last line", job.read("txt"))
    check_equal(sorted(os.listdir(cluster.folder)), [f"muster-{job.number}.{ending}" for ending in ("json", "log", "txt")],
                "the files")


def test_bad_node_is_left_out(cluster):
    cluster.fault("h2d-slow@node3/gpu1=11.2")
    number = cluster.submit("-N4", os.path.join(SCRIPTS, "train-with-preflight.sbatch"), "3", "--", "sh", "-c",
                            "echo $(hostname) $SLURM_LOCALID $SLURM_NTASKS $SLURM_NNODES $SLURM_JOB_NUM_NODES "
                            "$SLURM_JOB_NODELIST >trained.$SLURM_PROCID", MUSTER_OPTIONS="--deadline 200")
    job = cluster.wait(number, 280)
    log = os.path.join(cluster.folder, f"train-{number}.log")
    with open(log, encoding="utf-8") as file:
        text = file.read()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end: " + text)
    seen = []
    for rank in range(6):
        with open(os.path.join(cluster.folder, f"trained.{rank}"), encoding="utf-8") as file:
            seen.append(file.read().split())
    check_equal(seen, [[node, str(local), "6", "3", "3", "gpu-[1-2,4]"] for node in ("gpu-1", "gpu-2", "gpu-4")
                       for local in range(2)], "what the tasks see")
    check("train-with-preflight: excluded: gpu-3\n" in text, "the log names the bad node", text)


main(globals())
