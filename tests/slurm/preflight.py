#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""preflight.sbatch on a real Slurm, two nodes of two simulated GPUs.

usage: preflight.py MUSTER NAME
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

from cluster import SCRIPTS, check, check_equal, main


def test_healthy_job_passes(cluster):
    job = cluster.preflight()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    report, text, log = job.report(), job.read("txt"), job.read("log")
    check_equal(report["verdict"], "pass", "the verdict")
    check_equal(report["run"]["job"]["id"], str(job.number), "the job in the report")
    check_equal([(node["name"], len(node["ranks"])) for node in report["run"]["nodes"]], [("gpu-1", 2), ("gpu-2", 2)], "the nodes")
    last = text.strip().splitlines()[-1]
    check(last == f"MUSTER PASS sku={cluster.sku} nodes=2 ranks=4 failed=0 warned=0 "
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
    check_equal((job.report()["run"]["job"]["ranks"], job.problems()), (4, set()), "what was judged")


def test_mpirun_in_place_of_srun(cluster):
    job = cluster.preflight(MUSTER_LAUNCHER="mpirun")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check("2 GPUs each, started by mpirun" in job.read("log"), "the log names the launcher", job.read("log"))
    localities = [sample["value"] for node in job.report()["run"]["nodes"] for rank in node["ranks"] for sample in rank["samples"]
                  if sample["metric"] == "rank.cpu_locality"]
    check_equal(localities, ["inside"] * 4, "each rank has placed itself")


def test_without_pmix_mpirun_starts_the_tasks(cluster):
    """A Slurm whose srun knows no PMIx: the log says what was taken instead."""
    path = os.path.join(cluster.environment["MUSTER_CLUSTER"], "bin/srun")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ \"$1\" != --mpi=list ] || { echo 'MPI plugin types are...\n\tnone\n\tpmi2'; exit; }\n"
                   f"exec {shutil.which('srun')} \"$@\"\n")
    os.chmod(path, 0o755)
    job = cluster.preflight()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check("2 GPUs each, started by mpirun" in job.read("log"), "the log names the launcher", job.read("log"))


def test_unknown_launcher_is_named(cluster):
    job = cluster.preflight(MUSTER_LAUNCHER="prun")
    check_equal((job.state, job.exit_code), ("FAILED", 2), "the job's end")
    check("MUSTER_LAUNCHER must be srun or mpirun, not \"prun\"" in job.read("log"), "the reason", job.read("log"))


def test_bad_node_fails_the_job(cluster):
    cluster.fault("h2d-slow@node2/gpu1=11.2")
    database = tempfile.mkdtemp() + "/history.db"
    job = cluster.preflight(MUSTER_HISTORY=database)
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    kept = subprocess.run([sys.argv[1], "history", "--db", database, "--simulated", "--format", "json"], capture_output=True,
                          text=True, check=True).stdout
    shutil.rmtree(os.path.dirname(database))
    check_equal([(row["node"], row["last"]) for row in json.loads(kept)["rows"]], [("gpu-2", "fail"), ("gpu-1", "pass")], "the history")
    check_equal({(status, node) for _, status, node in job.problems()}, {("fail", "gpu-2")}, "what is found")
    check("MUSTER FAIL" in job.read("txt"), "the text names the verdict")
    check(not os.path.exists(job.path("spool")), "no spool is left when there is a verdict")


def test_wrong_option_is_no_verdict(cluster):
    job = cluster.preflight("--no-such-option")
    check_equal((job.state, job.exit_code), ("FAILED", 2), "the job's end")


def test_a_history_that_cannot_be_written_costs_no_verdict(cluster):
    job = cluster.preflight(MUSTER_HISTORY="/nowhere/at/all.db")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check("MUSTER_HISTORY: the report was not added" in job.read("log"), "the log", job.read("log"))


def test_without_a_verdict_the_exit_code_is_not_1(cluster):
    """1 says that a machine is bad."""
    for code, words, options, more in (
            (2, "cannot create muster-", ("-N2", "--chdir=/proc"), {}),
            (2, "this job is heterogeneous", ("-N1", "-wgpu-1", "--exclusive", ":", "-N1"), {}),
            (3, "muster did not start: nothing was measured", ("-N2",), {"MUSTER_SRUN_OPTIONS": "--no-such-option"}),
            (3, "muster did not start: nothing was measured", ("-N2",), {"MUSTER": "/bin/true"})):
        output = os.path.join(cluster.folder, "muster-%j.log")
        job = cluster.preflight(options=(f"--output={output}", *options), **more)
        check_equal((job.state, job.exit_code), ("FAILED", code), f"the job's end with {options} {more}")
        check(words in job.read("log"), words, job.read("log"))
    left = [name for name in os.listdir(cluster.folder) if name.endswith((".spool", ".json"))]
    check_equal(left, [], "the reports and spools")


def test_what_the_user_has_set_for_srun(cluster):
    job = cluster.preflight(options=("-N2", "--ntasks-per-gpu=1", "--gpus=4"), SLURM_LABELIO="1", SLURM_STDOUTMODE="tasks-%j",
                            SLURM_EXPORT_ENV="NONE", SRUN_EXPORT_ENV="NONE", SLURM_HINT="nomultithread")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check_equal(sorted(os.listdir(cluster.folder)), [f"muster-{job.number}.{ending}" for ending in ("json", "log", "txt")],
                "the files")


def make(path, owner=0):
    with open(path, "w", encoding="utf-8") as file:
        file.write("years of work")
    os.chown(path, owner, -1)


def test_files_of_others_are_not_touched(cluster):
    """In a folder that others can write to: what lies under the names of this job's files."""
    other, victim = 65534, os.path.join(cluster.base, "victim")
    os.mkdir(victim)
    for name, target in (("txt", "file"), ("json", "file"), ("txt", "dangling"), ("log", "file"), ("spool", ""), ("txt", None)):
        path = os.path.join(cluster.folder, "mine." + name)
        make(os.path.join(victim, "file"))
        if os.path.exists(path): # the log of the last job
            os.unlink(path)
        if target is None:
            make(path, other)
        else:
            os.symlink(os.path.join(victim, target), path)
        before = os.lstat(path)
        job = cluster.preflight(options=("-N2", "--output=out"), MUSTER_NAME="mine", MUSTER_QUIET="1")
        with open(os.path.join(cluster.folder, "out"), encoding="utf-8") as file:
            text = file.read()
        check_equal((job.state, job.exit_code), ("FAILED", 2), f"the job's end with {name}: {text}")
        check(f"mine.{name} is in the way, and muster did not make it" in text, "the reason", text)
        check_equal((os.lstat(path).st_ino, os.lstat(path).st_size), (before.st_ino, before.st_size), "what was there")
        check_equal(os.listdir(victim), ["file"], "what the link leads to")
        with open(os.path.join(victim, "file"), encoding="utf-8") as file:
            check_equal(file.read(), "years of work", "what the link leads to")
        os.unlink(path)


def test_own_files_of_an_earlier_run_are_replaced(cluster):
    for name in ("txt", "json", "log"):
        make(os.path.join(cluster.folder, "mine." + name))
    os.mkdir(os.path.join(cluster.folder, "mine.spool"))
    make(os.path.join(cluster.folder, "mine.spool", "gpu-1.jsonl"))
    # The directory is there when this process starts, and cannot be removed when all is over.
    path = os.path.join(cluster.environment["MUSTER_CLUSTER"], "bin/rm")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$*" != "-rf mine.spool" ] || mkdir "{cluster.base}/once" || exit 1\nexec /bin/rm "$@"\n')
    os.chmod(path, 0o755)
    job = cluster.preflight(options=("-N2", "--output=out"), MUSTER_NAME="mine", MUSTER_QUIET="1")
    with open(os.path.join(cluster.folder, "out"), encoding="utf-8") as file:
        text = file.read()
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), text)
    check("MUSTER PASS" in text and text.count("\n") == 1, "one line", text)
    with open(os.path.join(cluster.folder, "mine.log"), encoding="utf-8") as file:
        check("cannot remove mine.spool" in file.read(), "the log says so")
    check_equal(stat.S_IMODE(os.stat(os.path.join(cluster.folder, "mine.spool")).st_mode), 0o700, "who may write to the spool")


main(globals())
