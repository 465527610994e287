#!/usr/bin/python3
"""preflight.sbatch on a real Slurm, two nodes of eight simulated GPUs.

usage: preflight.py MUSTER NAME
"""

import os
import re
import shutil

from cluster import SCRIPTS, check, check_equal, main


def test_healthy_job_passes(cluster):
    job = cluster.preflight()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    report, text, log = job.report(), job.read("txt"), job.read("log")
    check_equal(report["verdict"], "pass", "the verdict")
    check_equal(report["run"]["job"]["id"], str(job.number), "the job in the report")
    check_equal([(node["name"], len(node["ranks"])) for node in report["run"]["nodes"]], [("gpu-1", 8), ("gpu-2", 8)], "the nodes")
    last = text.strip().splitlines()[-1]
    check(last == "MUSTER PASS sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=0 warned=0 "
          f"report=muster-{job.number}.json", "the text's last line", last)
    check(text in log, "the log holds the text", log)
    print(f"from the job's start to its end: {job.seconds:.0f} s")


def test_line_of_the_machine_type_in_place_of_whole_nodes(cluster):
    """As a site edits the script whose Slurm does not give whole nodes: the line is the one in its head."""
    with open(os.path.join(SCRIPTS, "preflight.sbatch"), encoding="utf-8") as file:
        script = file.read()
    line = re.search(rf"^#   (--.*\d) +.*\b{cluster.sku.removeprefix('Standard_')}\b", script, re.MULTILINE)[1]
    path = os.path.join(cluster.folder, "ours.sbatch")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script.replace("#SBATCH --exclusive", "#SBATCH " + line))
    job = cluster.wait(cluster.submit("-N2", path))
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check_equal((job.report()["run"]["job"]["ranks"], job.problems()), (16, set()), "what was judged")


def test_mpirun_in_place_of_srun(cluster):
    job = cluster.preflight(MUSTER_LAUNCHER="mpirun")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check("8 GPUs each, started by mpirun" in job.read("log"), "the log names the launcher", job.read("log"))
    check_equal(job.report()["run"]["job"]["ranks"], 16, "ranks")


def test_without_pmix_mpirun_starts_the_tasks(cluster):
    """A Slurm whose srun knows no PMIx: the log says what was taken instead."""
    path = os.path.join(cluster.environment["MUSTER_CLUSTER"], "bin/srun")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ \"$1\" != --mpi=list ] || { echo 'MPI plugin types are...\n\tnone\n\tpmi2'; exit; }\n"
                   f"exec {shutil.which('srun')} \"$@\"\n")
    os.chmod(path, 0o755)
    job = cluster.preflight()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check("8 GPUs each, started by mpirun" in job.read("log"), "the log names the launcher", job.read("log"))


def test_unknown_launcher_is_named(cluster):
    job = cluster.preflight(MUSTER_LAUNCHER="prun")
    check_equal((job.state, job.exit_code), ("FAILED", 2), "the job's end")
    check("MUSTER_LAUNCHER must be srun or mpirun, not \"prun\"" in job.read("log"), "the reason", job.read("log"))


def test_bad_node_fails_the_job(cluster):
    cluster.fault("ib-down@node2/mlx5_ib3")
    job = cluster.preflight()
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    check_equal({(status, node) for _, status, node in job.problems()}, {("fail", "gpu-2")}, "what is found")
    check("MUSTER FAIL" in job.read("txt"), "the text names the verdict")
    check(not os.path.exists(job.path("spool")), "no spool is left when there is a verdict")


def test_wrong_option_is_no_verdict(cluster):
    job = cluster.preflight("--no-such-option")
    check_equal((job.state, job.exit_code), ("FAILED", 2), "the job's end")


main(globals())
