#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prolog and health check run as root: what users leave on a node, wrong settings and many failures cost no node.

usage: node_root.py MUSTER NAME

Most tests start the scripts by hand, as slurmd would: only what Slurm makes of their exit codes needs a job.
"""

import os
import re
import shutil
import subprocess

from cluster import HERE, SCRIPTS, check, check_equal, main
from node_scripts import BAD, NEEDS, SLOW, add_setting, age, check_drained, health_check, notes, options

BOTH_BAD = (BAD, "recovery-action@node1/gpu1=gpu-reset")
PROLOG = os.path.join(SCRIPTS, "prolog.d/50-muster")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def on(cluster, node, *words):
    return cluster.script("on", node, *words)


def prolog(cluster, node, script=PROLOG, job="7"):
    """As slurmd calls it for a job with all GPUs: the exit code."""
    return on(cluster, node, "env", f"SLURM_JOB_ID={job}", "SLURM_JOB_GPUS=0,1", "SLURM_SCRIPT_CONTEXT=prolog_slurmd",
              f"SLURMD_NODENAME=gpu-{node}", script)[0]


def write(path, text, mode=0o755):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def set_site_file(cluster, text):
    """Nothing but this."""
    write(os.path.join(cluster.environment["MUSTER_CLUSTER"], "etc/default/muster"), text)


def var_log(cluster, node, *names):
    return os.path.join(cluster.environment["MUSTER_CLUSTER"], "var", f"gpu-{node}", *names)


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def catch_system_log(cluster):
    """What is written with logger goes to a file."""
    path = os.path.join(cluster.folder, "system-log")
    write(os.path.join(cluster.environment["MUSTER_CLUSTER"], "bin/logger"), f"#!/bin/sh\necho \"$*\" >>{path}\n")
    return path


def use_var_log(cluster):
    """MUSTER_LOG where users can come, and as an older muster has left it."""
    add_setting(cluster, "MUSTER_LOG=/var/log/muster")
    os.mkdir(var_log(cluster, 1, "muster"), 0o755)
    write(var_log(cluster, 1, "muster", "lock"), "", 0o644)


def test_no_user_can_hold_the_lock_or_read_what_is_there(cluster):
    use_var_log(cluster)
    health_check(cluster, "1")
    check("MUSTER PASS" in read(var_log(cluster, 1, "muster/log")), "the health check", read(var_log(cluster, 1, "muster/log")))
    seen = sorted(os.listdir(var_log(cluster, 1, "muster")))
    check_equal(seen, ["healthcheck.json", "healthcheck.txt", "lock", "log"], "the files")
    for name in seen:
        code, text = on(cluster, "1", *NOBODY, "sh", "-c", f"exec 9</var/log/muster/{name}")
        check(code != 0 and "denied" in text, f"{name} opened by a user", text)


def test_only_a_health_check_gets_a_signal(cluster):
    """A process id that another process has by now is left in the file; and one of a measurement that Slurm left over."""
    use_var_log(cluster)
    write(os.path.join(cluster.base, "sleeper"), "#!/bin/sh\necho $$ >$1.new && mv $1.new $1 && exec sleep 900\n")
    started = []
    try:
        for name in ("stranger", "measurement"):
            path = os.path.join(cluster.base, name)
            started.append(subprocess.Popen([os.path.join(HERE, "cluster.sh"), "on", "1", os.path.join(cluster.base, "sleeper"),
                                             path], env=cluster.environment, cwd=cluster.folder, stdin=subprocess.DEVNULL))
            cluster.wait_for(name, lambda path=path: read(path))
        stranger, measurement = (read(os.path.join(cluster.base, name)).strip() for name in ("stranger", "measurement"))
        fields = on(cluster, "1", "cat", f"/proc/{measurement}/stat")[1].rpartition(") ")[2].split()
        for content, ended in ((f"{stranger} 1\n", False), (f"{stranger}\n", False), ("-1 1\n", False), ("\n", False),
                               (f"{measurement} {fields[19]}\n", True)):
            write(var_log(cluster, 1, "muster/healthcheck.pid"), content)
            check_equal(prolog(cluster, "1"), 0, "the prolog's exit code")
            check_equal([process.poll() is None for process in started], [True, not ended], f"who lives with {content!r}")
    finally:
        for name in ("stranger", "measurement"):
            number = read(os.path.join(cluster.base, name)).strip()
            if number:
                on(cluster, "1", "kill", number)
        for process in started:
            process.wait(10)


def test_broken_site_file_drains_no_node(cluster):
    """Nothing is measured, and the log says why; nor is a job of Slurm itself held."""
    log, system_log = var_log(cluster, 1, "muster/log"), catch_system_log(cluster)
    cluster.fault(*BOTH_BAD)
    for text, said in (("MUSTER_NODE_OPTIONS='--sku X\n", "nterminated quoted string|unexpected EOF"),
                       ('MUSTER_NODE_OPTIONS="--overlay $SITE/x.json"\n', "SITE: (parameter not set|unbound variable)"),
                       ("MUSTER_NODE_OPTIONS=--sku Standard_X\n", "Standard_X:( command)? not found"),
                       ("MUSTER_DRAIN=yes\r\n", "it has Windows line ends"), ("exit 3\n", "it ends the script")):
        set_site_file(cluster, text)
        check_equal(prolog(cluster, "1"), 0, f"the prolog's exit code with {text!r}")
        health_check(cluster, "1")
        for seen in (read(log), read(system_log)):
            check_equal(len(re.findall(rf"check skipped: /etc/default/muster: .*({said})", seen)), 2, f"said of {text!r} in:\n{seen}")
    # The file that is installed, with everything in it that is a comment there.
    default = read(os.path.join(SCRIPTS, "muster.default"))
    set_site_file(cluster, re.sub(r"(?m)^#(?=MUSTER|export)", "", default))
    check_equal(prolog(cluster, "1"), 0, "the prolog's exit code")
    check("check skipped: program /opt/muster/bin/muster not found" in read(log), "the settings that are described", read(log))
    set_site_file(cluster, "MUSTER_NODE_OPTIONS='\n")
    job = cluster.wait(cluster.submit("-N1", "-w", "gpu-1", "--gpus-per-node=2", "--exclusive", "--wrap", "true"))
    check_equal((job.state, cluster.drained()), ("COMPLETED", {}), "a job, and who is drained")
    check(f"prolog of job {job.number}: check skipped" in read(log), "the log", read(log))


def test_folder_that_users_can_write_is_not_used(cluster):
    system_log, victim = catch_system_log(cluster), os.path.join(cluster.base, "victim")
    cluster.fault(*BOTH_BAD)
    os.mkdir(var_log(cluster, 1, "muster"))
    os.mkdir(var_log(cluster, 1, "muster/ours"))
    for folder, mode in (("/var/log/muster", 0o777), ("/var/log/muster/ours", 0o777), ("/proc/none", None), ("log", None)):
        if mode:
            os.chmod(var_log(cluster, 1, "muster"), mode)
        add_setting(cluster, f"MUSTER_LOG={folder}")
        write(victim, "untouched\n")
        if mode and not os.path.islink(var_log(cluster, 1, "muster/log")):
            os.symlink(victim, var_log(cluster, 1, "muster/log"))
        check_equal(prolog(cluster, "1"), 0, f"the prolog's exit code with {folder}")
        health_check(cluster, "1")
        check_equal((read(victim), cluster.drained()), ("untouched\n", {}), "the file behind the link, and who is drained")
        check_equal(read(system_log).count("check skipped: "), 2, f"said of {folder} in {read(system_log)}")
        os.unlink(system_log)


def test_copy_without_its_other_half_drains_no_node(cluster):
    system_log = catch_system_log(cluster)
    for name in ("prolog.d/50-muster", "healthcheck"):
        copy = shutil.copy(os.path.join(SCRIPTS, name), cluster.base)
        check_equal(prolog(cluster, "1", copy), 0, f"the exit code of a copy of {name}")
    check_equal(read(system_log).count("check skipped: no node-check.sh beside "), 2, read(system_log))


def test_first_weeks_measure_and_drain_no_node(cluster):
    """MUSTER_DRAIN=no. And what stands beside a report is of the same measurement."""
    add_setting(cluster, "MUSTER_DRAIN=no")
    cluster.fault(*BOTH_BAD)
    check_equal(prolog(cluster, "1"), 0, "the prolog's exit code")
    health_check(cluster, "1")
    check_equal(cluster.drained(), {}, "who is drained")
    check_equal(re.findall(r"(prolog of job 7|health check): (exit 1|not drained: MUSTER_DRAIN=no)", notes(cluster, "gpu-1")),
                [(name, said) for name in ("prolog of job 7", "health check") for said in ("exit 1", "not drained: MUSTER_DRAIN=no")],
                "the log")
    folder = os.path.join(cluster.environment["MUSTER_CLUSTER"], "log/muster-gpu-1")
    check("MUSTER FAIL" in read(os.path.join(folder, "prolog.txt")), "the text of the failure")
    cluster.fault()
    check_equal(prolog(cluster, "1"), 0, "the prolog's exit code")
    check("MUSTER PASS" in read(os.path.join(folder, "prolog.txt")), "the text beside the report of a pass")


def test_setting_that_fails_all_nodes_drains_only_some(cluster):
    """The expectations of another machine type: every check of every node fails."""
    add_setting(cluster, "MUSTER_NODE_OPTIONS='--sku Standard_ND96asr_v4'")
    running = [subprocess.Popen([os.path.join(HERE, "cluster.sh"), "on", node, os.path.join(SCRIPTS, "healthcheck")],
                                env=cluster.environment, cwd=cluster.folder, stdin=subprocess.DEVNULL) for node in ("1", "2")]
    check_equal([process.wait(30) for process in running], [0, 0], "two health checks in the same second")
    check(len(cluster.drained()) <= 1, "who is drained after them", cluster.drained())
    for node in cluster.drained():
        cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
    check_equal([prolog(cluster, node) for node in ("1", "2")], [1, 0], "the exit codes of the prologs: 10 % of two nodes is one")
    check_equal(list(cluster.drained()), ["gpu-1"], "who is drained")
    health_check(cluster, "2")
    check_equal(list(cluster.drained()), ["gpu-1"], "who is drained after a health check")
    check("muster has drained 1 other of 2 nodes in partition gpu, and at most 1 may be" in
          notes(cluster, "gpu-2").partition("prolog of job 7")[2], "the log", notes(cluster, "gpu-2"))
    add_setting(cluster, "MUSTER_DRAIN_AT_MOST=2 MUSTER_DRAIN_PER_HOUR=2")
    health_check(cluster, "2")
    check_equal(list(cluster.drained()), ["gpu-1", "gpu-2"], "who is drained when two may be")


def test_health_check_undrains_only_what_it_drained(cluster):
    """And not what a person drained for a fault that a node alone does not show, nor what a prolog drained."""
    for reason in ("muster: ring.suspect: all-reduces with this node fail", "muster: copy.h2d: slow", "muster(prolog): copy.h2d: slow",
                   "muster(health): same.nothing: of a check that is gone"):
        cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", f"Reason={reason}")
        health_check(cluster, "2")
        check_equal(cluster.drained(), {"gpu-2": reason}, "after a pass")
        cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=RESUME")
    cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=DRAIN", "Reason=muster(health): gpu.recovery_action: gpu-reset")
    health_check(cluster, "2")
    check_equal(cluster.drained(), {}, "what the health check drained, after a pass")


def test_slow_copy_beside_another_job_drains_no_node(cluster):
    """A job with no GPU runs on the node. Alone, the same node is drained."""
    number = cluster.submit("-N1", "-w", "gpu-2", "-n1", "--wrap", "touch started; while [ ! -e go ]; do sleep 0.2; done")
    cluster.wait_for("the job has started", lambda: os.path.exists(os.path.join(cluster.folder, "started")))
    cluster.fault(SLOW)
    check_equal(prolog(cluster, "2"), 0, "the exit code beside a job")
    check(re.search(rf"exit 3: MUSTER INCONCLUSIVE .* \(beside jobs {number}\)", notes(cluster, "gpu-2")), "the log", notes(cluster, "gpu-2"))
    check_equal(prolog(cluster, "2", job=str(number)), 0, "the exit code of a first strike beside the job's own steps")
    age(cluster, "gpu-2", "strikes", 2)
    check_equal(prolog(cluster, "2", job=str(number)), 1, "the exit code of the second")
    check_drained(cluster, "prolog", "replace-node: copy.h2d GPU 1 0002:00:00.0: 11.2 GB/s; expected at least 48 GB/s")
    cluster.ask("scontrol", "update", "NodeName=gpu-2", "State=RESUME")
    with open(os.path.join(cluster.folder, "go"), "w", encoding="utf-8"):
        cluster.wait(number)


def test_pipe_of_a_user_is_not_used(cluster):
    """Of CUDA's Multi-Process Service; a site may name its own."""
    program = write(os.path.join(cluster.base, "notes"), f"#!/bin/sh\necho \"$1 $CUDA_MPS_PIPE_DIRECTORY\" >>{cluster.folder}/seen\n"
                    f"exec {cluster.environment['MUSTER_CLUSTER']}/bin/muster \"$@\"\n")
    add_setting(cluster, f"MUSTER={program}")
    for setting, wanted in (("", "/nonexistent"), ("export CUDA_MPS_PIPE_DIRECTORY=/run/mps", "/run/mps")):
        add_setting(cluster, setting)
        prolog(cluster, "1")
        health_check(cluster, "1")
        check_equal(read(os.path.join(cluster.folder, "seen")).count(f"node {wanted}\n"), 2, "measurements with this folder")


main(globals())
