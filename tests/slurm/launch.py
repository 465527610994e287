#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job that was started the wrong way, or in an unusual one that is right, is named for what it is.

usage: launch.py MUSTER NAME
"""

import json
import os
import re

from cluster import check, check_equal, main
from started import advice, masks, problems, srun

WHOLE = ("--ntasks-per-node=2", "--gpus-per-node=2")


def visible(report):
    """CUDA_VISIBLE_DEVICES of the first node's ranks."""
    return [sample["value"] for rank in report["run"]["nodes"][0]["ranks"] for sample in rank["samples"]
            if sample["metric"] == "rank.cuda_visible_devices"]


def test_jobs_of_one_rank_in_place_of_one_job(cluster):
    code, report = srun(cluster, "--mpi=none", *WHOLE, masks(cluster))
    check_equal(code, 1, "the exit code")
    check_equal({name for name, _, _ in problems(report)}, {"launch.mpi", "launch.ranks_per_gpu"}, "what fails")
    check("MPI sees 1 ranks and Slurm 4: start with srun --mpi=pmix" in advice(report, "launch.mpi"), "the advice",
          advice(report, "launch.mpi"))


def test_what_jobs_of_one_rank_leave_on_disk(cluster):
    """Both nodes have left something: neither is missing, whatever else is wrong."""
    cluster.run("srun", "-N2", "--exclusive", "--mpi=none", *WHOLE, masks(cluster), "muster", "run", "--profile", "quick",
                "--spool", "spool")
    code, text = cluster.run("muster", "assemble", "spool", "--expect", "gpu-[1-2]", "--report", "assembled.json")
    check_equal(code, 1, "the exit code")
    check("muster: spool: 3 processes ignored: a wrong --mpi option made each process a job of one rank" in text, "the remark", text)
    with open(os.path.join(cluster.folder, "assembled.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_equal({name for name, _, _ in problems(report)}, {"launch.mpi", "launch.ranks_per_gpu"}, "what fails")


def test_what_mpirun_leaves_on_disk_is_one_run(cluster):
    """On the second node mpirun's daemon is a task of a step of its own, and the ranks there have its variables."""
    bind = re.search(r"^mpirun (.*)", cluster.ask("muster", "bind", "--sku", cluster.sku), re.MULTILINE)[1]
    number = cluster.submit("-N2", "--exclusive", "--gpus-per-node=2", "--output=log", "--wrap",
                            f"mpirun -np 4 --host gpu-1:2,gpu-2:2 {bind} muster run --profile quick --spool spool")
    code = cluster.wait(number).exit_code
    with open(os.path.join(cluster.folder, "log"), encoding="utf-8") as file:
        check(code == 0, "the run's exit code", file.read())
    code, text = cluster.run("muster", "assemble", "spool", "--expect", "gpu-[1-2]", "--report", "assembled.json")
    check("other run" not in text, "one run", text)
    with open(os.path.join(cluster.folder, "assembled.json"), encoding="utf-8") as file:
        report = json.load(file)
    check_equal((code, problems(report), report["summary"]["missing_ranks"]), (0, set(), []), "the verdict")
    check_equal(sum(len(node["ranks"]) for node in report["run"]["nodes"]), 4, "the ranks")


def test_one_gpu_for_each_task_is_right(cluster):
    code, report = srun(cluster, "--ntasks-per-node=2", "--gpus-per-task=1", masks(cluster))
    check_equal((code, problems(report)), (0, set()), "the verdict")
    check_equal(visible(report), ["0", "1"], "what the tasks see")


def test_bind_to_the_nearest_gpu_is_right(cluster):
    code, report = srun(cluster, *WHOLE, "--gpu-bind=single:1", masks(cluster))
    check_equal((code, problems(report)), (0, set()), "the verdict")
    check_equal(visible(report), ["0", "1"], "what the tasks see")


def test_two_tasks_bound_to_one_gpu(cluster):
    code, report = srun(cluster, *WHOLE, "--gpu-bind=map_gpu:0,0", masks(cluster))
    check_equal(code, 1, "the exit code")
    check_equal({(name, node) for name, node, _ in problems(report)},
                {("launch.sharers", "gpu-1"), ("launch.sharers", "gpu-2")}, "what fails")


def test_rank_that_is_late_in_mpi_init(cluster):
    late = ("env", "LD_PRELOAD=" + os.environ["MUSTER_LATE_FENCE"])
    code, report = srun(cluster, *WHOLE, masks(cluster), start=late)
    check_equal((code, problems(report)), (0, set()), "the verdict")


def test_fewer_tasks_than_gpus(cluster):
    code, report = srun(cluster, "--ntasks-per-node=1", "--gpus-per-node=2", masks(cluster))
    check_equal(code, 1, "the exit code")
    check_equal(problems(report), {("launch.ranks_per_gpu", "gpu-1", None), ("launch.ranks_per_gpu", "gpu-2", None)},
                "what fails")
    check("1 ranks for 2 GPUs" in advice(report, "launch.ranks_per_gpu"), "the advice")


def test_log_for_a_collector(cluster):
    """Each line is an object that says when, where and in which of Slurm's jobs; a mistake's one line too."""
    cluster.fault("h2d-slow@node2/gpu1=11.2")
    command = ("srun", "-N2", "--exclusive", *WHOLE, masks(cluster), "sh", "-c", 'exec muster run "$@" 2>>log', "muster")
    cluster.run(*command, "--profile", "quick", "--log-format", "json")
    cluster.run(*command, "--log-format", "json", "--no-such-option")
    with open(os.path.join(cluster.folder, "log"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for line in lines:
        check(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) and line["message"], "a line", line)
    jobs = sorted({line["job"] for line in lines}, key=int)
    check(len(jobs) == 2 and int(jobs[1]) == int(jobs[0]) + 1, "the jobs", jobs)
    check_equal([(line["job"], line["node"], line.get("rank"), line.get("probe")) for line in lines
                 if line["level"] == "error"], [(jobs[0], "gpu-2", 3, "gpu_copy"), (jobs[1], "gpu-1", None, None)], "the errors")


main(globals())
