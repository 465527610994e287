#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""However a job was submitted, the steps of the scripts have their own counts: of tasks, GPUs, CPUs and memory. Here memory is
allocated, the GPUs have a type that reads like a number of others, and there are resources beside them.

usage: counts.py MUSTER NAME
"""

import os
import re

from cluster import SCRIPTS, check, check_equal, main

NEEDS = ("nodes",)
TYPE = "1g.10gb-sxm4"
PREFLIGHT, TRAIN = (os.path.join(SCRIPTS, name + ".sbatch") for name in ("preflight", "train-with-preflight"))
QUICK = ("--profile", "quick")
TASKS = ("sh", "-c", "echo TASK $SLURM_NTASKS $SLURM_NTASKS_PER_NODE $SLURM_GPUS_ON_NODE $SLURM_CPUS_ON_NODE "
         "${SLURM_CPUS_PER_TASK:-any} $SLURM_JOB_NODELIST ${SLURM_EXIT_ERROR:-none}")
# What the shell of an interactive job, a profile and an outer step leave in the environment.
SESSION = {"SRUN_CPUS_PER_TASK": "4", "SLURM_CPUS_PER_TASK": "4", "SLURM_TRES_PER_TASK": "cpu:4", "SLURM_MEM_PER_CPU": "4096",
           "SLURM_NTASKS": "1", "SLURM_NPROCS": "1", "SLURM_GPUS": "1", "SLURM_GPUS_PER_TASK": "1", "SLURM_GPUS_ON_NODE": "1",
           "SLURM_HET_SIZE": "2", "SLURM_STEP_ID": "7", "SLURM_WORKING_DIR": "/", "SLURM_REMOTE_CWD": "/", "SLURM_EXACT": "1",
           "SLURM_DISTRIBUTION": "cyclic", "SLURM_CPU_BIND": "mask_cpu:0x1", "SLURM_NEW": "1",
           "SBATCH_MEM_BIND": "local", "SQUEUE_STATES": "PENDING", "OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "3",
           "SLURM_STEP_GRES": "none", "SLURM_THREADS_PER_CORE": "1", "SLURM_OPEN_MODE": "nonsense"}


def options(muster):
    more = ("--gres", f"nic:4,gpu:{TYPE}:2,disk:2K", "--conf", "SelectTypeParameters=CR_CPU_Memory")
    plugin = os.path.join(os.path.dirname(os.path.abspath(muster)), "lib/muster/spank_muster.so")
    return (*more, "--plugstack", f"optional {plugin}") if os.path.exists(plugin) else more


def log_of(cluster, name, number):
    with open(os.path.join(cluster.folder, f"{name}-{number}.log"), encoding="utf-8") as file:
        return file.read()


def train(cluster, words, *of_srun, command=TASKS, **more):
    """The job's exit code, what each task said, and the log."""
    job = cluster.wait(cluster.submit("-N2", *words, TRAIN, "1", *of_srun, "--", *command, MUSTER_OPTIONS=" ".join(QUICK), **more))
    text = log_of(cluster, "train", job.number)
    return job.exit_code, sorted(re.findall(r"^TASK (.*)", text, re.MULTILINE)), text


def test_tasks_of_the_command(cluster):
    """One for each GPU of the node that was chosen, or as many as the job or the options say for each node."""
    for words, of_srun, tasks, cpus in (
            (("-n", "4"), (), 2, "any"), (("--ntasks-per-node=2", "--gpus-per-task=1"), (), 2, "any"),
            (("--ntasks-per-node=1", f"--gpus-per-node={TYPE}:2", "-c", "40"), (), 1, "40"),
            (("-G", "4", "--mem=4000"), ("--ntasks-per-node=1", "--mem-per-gpu=100"), 1, "any")):
        code, seen, text = train(cluster, words, *of_srun)
        check_equal((code, seen), (0, [f"{tasks} {tasks} 2 80 {cpus} gpu-1 none"] * tasks), f"{words}: {text}")


def test_settings_of_a_session(cluster):
    """They are not the job's: all CPUs, the job's memory, the submit directory."""
    code, seen, text = train(cluster, ("--mem=1000",), **SESSION)
    check_equal((code, seen), (0, ["2 2 2 80 any gpu-1 none"] * 2), text)
    for launcher in ("srun", "mpirun"):
        job = cluster.preflight(*QUICK, options=("-N2", "--mem=1000"), MUSTER_LAUNCHER=launcher, **SESSION)
        check_equal((job.exit_code, job.problems(), job.report()["run"]["job"]["ranks"]), (0, set(), 4), job.read("log"))


def test_gpus_of_a_type(cluster):
    """Outside of the job's nodes, where no variable of Slurm has their number."""
    for request in ((), (f"--gres=nic:2,gpu:{TYPE}:2",)):
        code, text = cluster.run("salloc", "-N2", "--exclusive", *request, "bash", PREFLIGHT, *QUICK)
        check(code == 0 and "2 nodes (gpu-[1-2]), 2 GPUs each" in text, "salloc", text)
    code, text = cluster.run("salloc", "-N1", "-n3", "--mem=100", "--gpus=1", "srun", "-n1", "--gpus=1", "sbatch", "-W", "-N1",
                             PREFLIGHT, *QUICK)
    check_equal(code, 0, "sbatch in a step of salloc: " + text)
    if len(options(cluster.environment["MUSTER_PROGRAM"])) > 4:
        code, text = cluster.run("srun", "-N2", "--exclusive", "--mem=2000", "--ntasks-per-node=1", "--gpus-per-node=2",
                                 "--mpi=none", "--muster", "echo", "STARTED")
        check_equal((code, text.count("STARTED")), (0, 2), "srun --muster: " + text)


def test_job_that_muster_cannot_check(cluster):
    """Nothing is measured, and one line says why."""
    shared = "--exclusive=user"
    for words, more, why in (
            ((shared,), {}, "this job has no GPUs; request whole nodes, or use --gpus-per-node"),
            ((shared, "--gpus-per-node=1", "-c40"), {}, "this job has 1 GPU of the 2 of each node, and muster checks whole nodes: "
             "request them with --exclusive or --gpus-per-node=2"),
            ((shared, "-G", "3", "-n", "4"), {}, "and needs as many on each node"),
            ((shared, "--gpus-per-node=2"), {}, "this job has fewer CPUs than GPUs"),
            ((), {"MUSTER_NODELIST": "gpu-[2-3]"}, 'MUSTER_NODELIST: "gpu-3" is not a node of job'),
            (("--exclusive", ":", "-N1", "--exclusive"), {}, "this job is heterogeneous")):
        size = "-N1" if ":" in words else "-N2"
        job = cluster.preflight(*QUICK, options=(size, *words), **more)
        lines = job.read("log").splitlines()
        check_equal((job.exit_code, len(lines)), (2, 1), f"{words} {more}: {lines}")
        check(why in lines[0], why, lines)


def test_command_that_was_not_started(cluster):
    for of_srun, command, why in (
            (("--no-such",), TASKS, "srun: unrecognized option '--no-such'"),
            (("--mem=9", "--mem-per-cpu=3"), TASKS, "srun: fatal: --mem"),
            (("--gpus-per-task=9",), TASKS, "srun could not start it, or a node does not have it"),
            (("--mpi=none",), ("/no/such/program",), "srun could not start it, or a node does not have it")):
        code, seen, text = train(cluster, (), *of_srun, command=command)
        check_equal((code, seen), (2, []), text)
        last = text.splitlines()[-1]
        check(last.startswith("train-with-preflight: the command was not started: " + why), why, text)


def test_array_and_requeued_job(cluster):
    """Slurm shows all tasks of an array under the id of one of them."""
    array = cluster.submit("-N1", "--array=1-2", PREFLIGHT, *QUICK)
    again = cluster.submit("-N2", "--requeue", "--wrap", f"[ -n \"${{SLURM_RESTART_COUNT:-}}\" ] || scontrol requeue $SLURM_JOB_ID; "
                           f"bash {PREFLIGHT} --profile quick", "--exclusive", "--output=again", "--open-mode=append")
    cluster.wait_for("it waits again", lambda: "BeginTime" in cluster.ask("squeue", "-h", "-j", str(again), "-o", "%r"), 60)
    # And not in two minutes. Slurm refuses while it still ends the first run; and within the second of that end, slurmd takes
    # the job's new credential for the one that was revoked, and starts nothing.
    cluster.wait_for("it may begin", lambda: cluster.run("scontrol", "update", f"JobId={again}", "StartTime=now+3seconds")[0] == 0)
    cluster.wait_for("the array has ended", lambda: not cluster.ask("squeue", "-h", "-t", "all", "-j", f"{array},{again}", "-o", "%T")
                     .replace("COMPLETED", "").strip(), 200)
    reports = sorted(name for name in os.listdir(cluster.folder) if name.endswith(".json"))
    logs = "".join(log_of(cluster, "muster", name[7:-5]) for name in reports if name != f"muster-{again}.json")
    check_equal((len(reports), logs.count("MUSTER PASS")), (3, 2), logs)
    with open(os.path.join(cluster.folder, "again"), encoding="utf-8") as file:
        check("MUSTER PASS" in file.read().splitlines()[-2], "the requeued job")


main(globals())
