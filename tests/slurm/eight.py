#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two nodes with eight simulated GPUs each, near which tasks must run; the other files have nodes with two.

usage: eight.py MUSTER NAME
"""

from cluster import check, check_equal, main
from started import advice, masks, srun

SKU = "Standard_ND96asr_v4"
WHOLE = ("--ntasks-per-node=8", "--gpus-per-node=8")


def test_healthy_job_passes(cluster):
    job = cluster.preflight("--deadline", "200", seconds=240)
    check_equal((job.state, job.exit_code, job.problems()), ("COMPLETED", 0, set()), "the job's end")
    check_equal([(node["name"], len(node["ranks"])) for node in job.report()["run"]["nodes"]], [("gpu-1", 8), ("gpu-2", 8)], "the nodes")
    check(f"MUSTER PASS sku={SKU} nodes=2 ranks=16 failed=0 warned=0 report=muster-{job.number}.json\n" in job.read("txt"),
          "the last line", job.read("txt"))


def test_tasks_that_are_bound_to_nothing(cluster):
    code, report = srun(cluster, *WHOLE)
    check_equal(code, 0, "the exit code")
    check_equal({(finding["check"], finding["status"]) for finding in report["findings"]
                 if finding["status"] in ("fail", "warn")}, {("affinity.package", "warn")}, "what is found")


def test_mask_with_a_lost_zero(cluster):
    code, report = srun(cluster, *WHOLE, masks(cluster)[:-1])
    check_equal((code, {(finding["check"], finding["status"], finding["where"].get("node")) for finding in report["findings"]
                        if finding["status"] in ("fail", "warn")}),
                (0, {("affinity.package", "warn", "gpu-1"), ("affinity.package", "warn", "gpu-2")}), "what is found")
    check("local ranks 7 of gpu-1" in advice(report, "affinity.package"), "the advice names the rank", advice(report, "affinity.package"))


main(globals())
