#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""train-with-preflight.sbatch on a real Slurm: three nodes of two simulated GPUs, of which two are needed.

usage: train.py MUSTER NAME
"""

import os

from cluster import LONG, PATIENT, SCRIPTS, check, check_equal, fresh, main

NODES = 3
NEEDS = ("nodes",)
SCRIPT = os.path.join(SCRIPTS, "train-with-preflight.sbatch")
# What each task of the training command says of itself, into a file that it makes: that it was started at all counts.
COMMAND = ("sh", "-c", "echo $(hostname) $SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID $SLURM_NNODES "
           "$SLURM_JOB_NUM_NODES $SLURM_JOB_CPUS_PER_NODE $SLURM_JOB_NODELIST $SLURM_NODELIST $SLURM_STEP_NODELIST "
           "$SLURM_LAUNCH_NODE_IPADDR >trained.$SLURM_PROCID; exit ${CODE:-0}")


def submit(cluster, needed="2", options=(), command=COMMAND, **more):
    return cluster.wait(cluster.submit("-N3", SCRIPT, needed, *options, "--", *command, **more), 150)


def trained(cluster):
    """The words of every task that was started, by rank."""
    words = []
    for name in sorted(name for name in os.listdir(cluster.folder) if name.startswith("trained.")):
        with open(os.path.join(cluster.folder, name), encoding="utf-8") as file:
            words.append(file.read().split())
    return words


def read_log(cluster, number):
    try:
        with open(os.path.join(cluster.folder, f"train-{number}.log"), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def log_of(cluster, job):
    return read_log(cluster, job.number)


def on_nodes(first, second, both):
    return [[node, f"{rank}/4", str(rank % 2), "2", "2", "80(x2)", both, both, both, first.replace("gpu-", "10.77.0.")]
            for rank, node in enumerate((first, first, second, second))]


def test_healthy_nodes_train_at_once(cluster):
    job = submit(cluster)
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check_equal(trained(cluster), on_nodes("gpu-1", "gpu-2", "gpu-[1-2]"), "what the tasks see")
    check(not os.path.exists(os.path.join(cluster.folder, f"muster-{job.number}-again.json")), "good nodes are mustered once")


def test_muster_may_be_a_link_into_its_tree(cluster):
    """As with a module or a package that links its programs into one folder."""
    folder = cluster.environment["MUSTER_CLUSTER"]
    tree, link = os.path.join(cluster.base, "tree"), os.path.join(cluster.base, "links", "muster")
    for name in (os.path.join(tree, "bin"), os.path.join(tree, "share/muster"), os.path.dirname(link)):
        os.makedirs(name)
    with open(os.path.join(tree, "bin/muster"), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {folder}/bin/muster "$@"\n')
    os.chmod(file.name, 0o755)
    os.symlink(SCRIPTS, os.path.join(tree, "share/muster/slurm"))
    os.symlink(file.name, link)
    job = submit(cluster, "1", MUSTER=link)
    check_equal((job.state, job.exit_code, len(trained(cluster))), ("COMPLETED", 0, 2), "the job's end")


def test_bad_node_is_left_out(cluster):
    cluster.fault("h2d-slow@node2/gpu1=11.2")
    job = submit(cluster)
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")
    check_equal(trained(cluster), on_nodes("gpu-1", "gpu-3", "gpu-[1,3]"), "what the tasks see")
    log = log_of(cluster, job)
    check("train-with-preflight: excluded: gpu-2\n" in log, "the log names the bad node", log)
    check(f"MUSTER PASS sku={cluster.sku} nodes=2 ranks=4" in log, "the others are mustered again", log)


def test_node_that_runs_the_script_is_left_out_too(cluster):
    cluster.fault("h2d-slow@node1/gpu0=11.2")
    job = submit(cluster)
    check_equal(trained(cluster), on_nodes("gpu-2", "gpu-3", "gpu-[2-3]"), "what the tasks see")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")


def test_in_an_allocation(cluster):
    """The script as a program, on the login node, whose address no task could use as the first node's."""
    code, text = cluster.run("salloc", "-N3", "--exclusive", SCRIPT, "2", "--", *COMMAND)
    check_equal(code, 0, text)
    check_equal(trained(cluster), on_nodes("gpu-1", "gpu-2", "gpu-[1-2]"), "what the tasks see")


def test_heterogeneous_job_starts_nothing(cluster):
    job = cluster.wait(cluster.submit("-N1", "-wgpu-1", "--exclusive", ":", "-N2", SCRIPT, "1", "--", *COMMAND))
    check_equal((job.state, job.exit_code, trained(cluster)), ("FAILED", 2, []), "the job's end")
    check("not started: this job is heterogeneous" in log_of(cluster, job), "the reason", log_of(cluster, job))


def test_signal_during_the_check_starts_nothing(cluster):
    cluster.fault("h2d-slow@node2/gpu1=11.2", LONG)
    number = cluster.submit("-N3", SCRIPT, "2", "--", *COMMAND, MUSTER_OPTIONS=" ".join(PATIENT))
    cluster.wait_for("the copies have begun", lambda: "host and device copies" in read_log(cluster, number), 120)
    cluster.ask("scancel", "--batch", "--signal=TERM", str(number))
    job = cluster.wait(number, 120)
    check_equal((job.state, job.exit_code, trained(cluster)), ("FAILED", 3, []), "the job's end")
    last = log_of(cluster, job).splitlines()[-1]
    check_equal(last, "train-with-preflight: the command was not started: this script received SIGTERM", "the last line")
    check(not any("again" in name for name in os.listdir(cluster.folder)), "nothing is checked again")


def test_signals_reach_the_command(cluster):
    """With --signal=B:USR1@300 Slurm signals the script alone; each task gets each signal once."""
    command = ("bash", "-c", "for s in USR1 USR2; do trap \"echo $s >>got.$SLURM_PROCID\" $s; done; "
               "trap \"echo TERM >>got.$SLURM_PROCID; exit 5\" TERM; touch trained.$SLURM_PROCID; "
               "for i in {1..3000}; do sleep 0.1; done")
    number = cluster.submit("-N3", SCRIPT, "2", "--ntasks-per-node=1", "--", *command)
    cluster.wait_for("the tasks run", lambda: len(trained(cluster)) == 2, 120)
    for rounds, name in enumerate(("USR1", "USR2", "TERM"), 1):
        cluster.ask("scancel", "--batch", f"--signal={name}", str(number))
        cluster.wait_for(f"both tasks got {name}", lambda: got(cluster).count("\n") == 2 * rounds, 100)
    job = cluster.wait(number, 120)
    check_equal((job.state, job.exit_code), ("FAILED", 5), "the job's end")
    check_equal(got(cluster), "USR1\nUSR2\nTERM\n" * 2, "what the tasks got")


def got(cluster):
    text = ""
    for rank in (0, 1):
        path = os.path.join(cluster.folder, f"got.{rank}")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text += file.read()
    return text


def test_too_few_good_nodes_start_nothing(cluster):
    cluster.fault("h2d-slow@node1/gpu1=11.2", "h2d-slow@node3/gpu1=11.2")
    job = submit(cluster)
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    check_equal(trained(cluster), [], "the tasks that were started")
    log = log_of(cluster, job)
    check("excluded: gpu-1 gpu-3\n" in log and "2 nodes needed, but only 1 of 3 did not fail\n" in log, "the reasons", log)


def test_all_bad_starts_nothing(cluster):
    cluster.fault(*(f"h2d-slow@node{k}/gpu0=11.2" for k in (1, 2, 3)))
    job = submit(cluster, "1")
    check_equal((job.state, job.exit_code), ("FAILED", 1), "the job's end")
    check_equal(trained(cluster), [], "the tasks that were started")
    check("only 0 of 3 did not fail\n" in log_of(cluster, job), "the reasons", log_of(cluster, job))


def test_exit_code_is_that_of_the_command(cluster):
    job = submit(cluster, options=("--ntasks-per-node=1",), CODE="7")
    check_equal((job.state, job.exit_code), ("FAILED", 7), "the job's end")
    check_equal([words[:2] for words in trained(cluster)], [["gpu-1", "0/2"], ["gpu-2", "1/2"]], "one task a node")


def test_any_exit_code_may_be_the_commands_own(cluster):
    """Also the one that srun has if it cannot start the command (counts.py has the other case)."""
    job = submit(cluster, "1", command=("sh", "-c", "exit 250"))
    check_equal((job.state, job.exit_code), ("FAILED", 250), "the job's end")
    check_equal(log_of(cluster, job).splitlines()[-1], "train-with-preflight: the command exited with 250", "the last line")
    check(not any(os.path.isdir(os.path.join(cluster.folder, name)) for name in os.listdir(cluster.folder)), "nothing is left")


def test_wrong_usage_starts_nothing(cluster):
    for words in (("two", "--", "true"), ("2",), ("4", "--", "touch", "trained.0")):
        job = cluster.wait(cluster.submit("-N3", SCRIPT, *words))
        check_equal((job.state, job.exit_code), ("FAILED", 2), f"the job's end with {words}")
        check("the command was not started: " in log_of(cluster, job), "the reason", log_of(cluster, job))
    check_equal(trained(cluster), [], "the tasks that were started")


def test_second_job_waits_for_a_pass(cluster):
    gate = cluster.submit("-N3", os.path.join(SCRIPTS, "preflight.sbatch"))
    train = cluster.submit("-N3", f"--dependency=afterok:{gate}", "--wrap", "touch trained.0")
    check_equal(cluster.wait(gate).exit_code, 0, "the gate's exit code")
    check_equal(cluster.wait(train).state, "COMPLETED", "the training job")


def test_second_job_never_starts_after_a_fail(cluster):
    cluster.fault("h2d-slow@node2/gpu1=11.2")
    gate = cluster.submit("-N3", os.path.join(SCRIPTS, "preflight.sbatch"))
    train = cluster.submit("-N3", "--kill-on-invalid-dep=yes", f"--dependency=afterok:{gate}", "--wrap",
                           "touch trained.0")
    check_equal(cluster.wait(gate).exit_code, 1, "the gate's exit code")
    check_equal(cluster.wait(train).state, "CANCELLED", "the training job")
    check_equal(trained(cluster), [], "the tasks that were started")


@fresh
def test_lost_node_is_left_out(cluster):
    cluster.fault(LONG.replace("300s", "8s"))
    number = cluster.submit("-N3", SCRIPT, "2", "--", *COMMAND, MUSTER_OPTIONS="--deadline 60 --repeat 5")
    cluster.wait_for("the copies have begun", lambda: "host and device copies" in read_log(cluster, number), 120)
    check_equal(cluster.script("lose", "3")[0], 0, "cluster.sh lose")
    job = cluster.wait(number, 150)
    check_equal(trained(cluster), on_nodes("gpu-1", "gpu-2", "gpu-[1-2]"), "what the tasks see")
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), "the job's end")


main(globals())
