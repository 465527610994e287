#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The option --muster of srun, sbatch and salloc on a real Slurm: nothing starts on nodes that do not pass.

usage: spank.py MUSTER NAME
"""

import json
import os
import re
import shutil
import subprocess

from cluster import SCRIPTS, check, check_equal, main, skip

JOB = ("-N2", "--exclusive", "--ntasks-per-node=2", "--gpus-per-node=2")
TOUCH = ("sh", "-c", "touch started.$SLURM_PROCID")
REFUSED = "did not pass (exit code 1); nothing was started"
BAD = "h2d-slow@node2/gpu1=11.2"


def options(muster):
    plugin = os.path.join(os.path.dirname(os.path.abspath(muster)), "lib/muster/spank_muster.so")
    if not os.path.exists(plugin):
        skip("the plugin is not built: no slurm/spank.h here (package libslurm-dev)")
    return "--plugstack", f"optional {plugin}", "--plugstack", f"optional {os.environ['MUSTER_IMAGE_PLUGIN']}"


def set_plugstack(cluster, line):
    with open(os.path.join(cluster.environment["MUSTER_CLUSTER"], "etc/plugstack.conf"), "w", encoding="utf-8") as file:
        file.write(line + "\n")


def program_that_notes(cluster, path, note):
    """A muster that leaves a note when it is run, and is then the cluster's own."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n: >{os.path.join(cluster.folder, note)}\n"
                   f"exec {cluster.environment['MUSTER_CLUSTER']}/bin/muster \"$@\"\n")
    os.chmod(path, 0o755)


def started(cluster):
    return sorted(name for name in os.listdir(cluster.folder) if name.startswith("started"))


def reports(cluster):
    return sorted(name for name in os.listdir(cluster.folder) if name.endswith(".json"))


def batch(cluster, *options_of_sbatch):
    job = cluster.wait(cluster.submit(*JOB, "--output=batch.log", *options_of_sbatch, "--wrap",
                                      "touch started; srun sh -c 'touch started.$SLURM_PROCID'; srun -n1 true"))
    with open(os.path.join(cluster.folder, "batch.log"), encoding="utf-8") as file:
        return job, file.read()


def test_without_the_option_nothing_is_mustered(cluster):
    cluster.fault(BAD)
    check_equal(cluster.run("srun", *JOB, *TOUCH), (0, ""), "srun")
    job, _ = batch(cluster)
    check_equal((job.exit_code, reports(cluster)), (0, []), "the batch job")


def test_srun_starts_on_nodes_that_pass(cluster):
    code, text = cluster.run("srun", *JOB, "--muster", *TOUCH)
    check_equal((code, started(cluster)), (0, [f"started.{rank}" for rank in range(4)]), "srun")
    check(f"MUSTER PASS sku={cluster.sku} nodes=2 ranks=4" in text and text.count("\n") == 1, "one line, the verdict", text)


def is_refused(text):
    return re.search(r"^FAIL gpu-2, GPU 1 \(\S+\), rank 3: .*\[copy.h2d\]$", text, re.M) and REFUSED in text


def test_srun_refuses_a_bad_node(cluster):
    cluster.fault(BAD)
    for option in ("--muster", "--muster=standard"):
        code, text = cluster.run("srun", *JOB, option, *TOUCH)
        check_equal((code, started(cluster)), (1, []), f"srun {option}")
        check(is_refused(text) and "observed  11.2 GB/s" in text, "the reason on the terminal", text)
    check_equal(len(reports(cluster)), 2, "reports")
    check_equal(cluster.ask("squeue", "-h"), "", "jobs that are left")


def test_batch_job_starts_on_nodes_that_pass(cluster):
    job, log = batch(cluster, "--muster")
    check_equal((job.state, len(started(cluster))), ("COMPLETED", 5), "the job")
    check_equal((reports(cluster), log.count("MUSTER PASS")), ([f"muster-{job.number}.json"], 1),
                "the script's own sruns do not muster again")


def test_batch_script_does_not_start_on_a_bad_node(cluster):
    cluster.fault(BAD)
    job, log = batch(cluster, "--muster=quick")
    check_equal((job.state, started(cluster)), ("FAILED", []), "the job")
    check(is_refused(log), "the reason in the job's output", log)


def test_required_plugin_refuses_too(cluster):
    set_plugstack(cluster, options(cluster.environment["MUSTER_PROGRAM"])[1].replace("optional", "required"))
    cluster.fault(BAD)
    code, text = cluster.run("srun", *JOB, "--muster", *TOUCH)
    check_equal((code, started(cluster)), (1, []), "srun")
    check(REFUSED in text, "the reason", text)
    job, log = batch(cluster, "--muster")
    check_equal((job.state, job.exit_code, started(cluster)), ("FAILED", 1, []), "the batch job")
    check(REFUSED in log, "the reason", log)


def test_refused_step_leaves_the_allocation_to_others(cluster):
    cluster.fault(BAD)
    code, text = cluster.run("salloc", *JOB, "sh", "-c", "srun --muster touch started.first; echo code $?; "
                             "srun --immediate=20 sh -c 'touch started.$SLURM_PROCID'")
    check_equal((code, started(cluster)), (0, [f"started.{rank}" for rank in range(4)]), text)
    check(REFUSED in text and "code 1\n" in text, "the first step is refused", text)


def test_salloc_refuses_a_bad_node(cluster):
    script = ("salloc", *JOB, "--muster", "srun", *TOUCH)
    code, text = cluster.run(*script)
    check_equal((code, len(started(cluster))), (0, 4), text)
    for name in started(cluster):
        os.unlink(os.path.join(cluster.folder, name))
    cluster.fault(BAD)
    code, text = cluster.run(*script)
    check_equal((code, started(cluster)), (1, []), "salloc")
    check(REFUSED in text, "the reason on the terminal", text)


def test_muster_that_cannot_run_starts_nothing(cluster):
    code, text = cluster.run("srun", *JOB, "--muster", *TOUCH, MUSTER="/no/such/muster")
    check_equal((code, started(cluster)), (1, []), "srun")
    check("program /no/such/muster not found" in text, "the reason", text)


def test_installed_plugin_finds_what_lies_beside_it(cluster):
    build, prefix = os.path.dirname(cluster.environment["MUSTER_PROGRAM"]), os.path.join(cluster.base, "opt")
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL, timeout=60)
    program = os.path.join(prefix, "bin/muster")
    os.unlink(program)
    program_that_notes(cluster, program, "note")
    plugins = [os.path.join(folder, name) for folder, _, names in os.walk(prefix) for name in names
               if name == "spank_muster.so"]
    check_equal(len(plugins), 1, "plugins in the tree")
    set_plugstack(cluster, f"optional {plugins[0]}")
    code, text = cluster.run("srun", *JOB, "--muster", *TOUCH)
    check_equal((code, len(started(cluster))), (0, 4), text)
    check(os.path.exists(os.path.join(cluster.folder, "note")), "the program is that of the tree", text)
    os.unlink(os.path.join(prefix, "share/muster/slurm/preflight.sbatch"))
    code, text = cluster.run("srun", *JOB, "--muster", "touch", "started.again")
    check_equal((code, len(started(cluster))), (1, 4), "without the script")
    check("set preflight=SCRIPT in plugstack.conf" in text and "nothing was started" in text, "the reason", text)


def test_plugstack_names_the_program_and_the_script(cluster):
    plugin = options(cluster.environment["MUSTER_PROGRAM"])[1]
    program, script = (os.path.join(cluster.base, name) for name in ("ours", "ours.sbatch"))
    program_that_notes(cluster, program, "note")
    shutil.copy(os.path.join(SCRIPTS, "preflight.sbatch"), script)
    set_plugstack(cluster, f"{plugin} muster={program} preflight={script}")
    check_equal(cluster.run("srun", *JOB, "--muster", *TOUCH)[0], 0, "srun")
    check(os.path.exists(os.path.join(cluster.folder, "note")), "the program is the one that is named")
    os.unlink(script)
    code, text = cluster.run("srun", *JOB, "--muster", "touch", "started.again")
    check_equal((code, len(started(cluster))), (1, 4), text)


def make_image(cluster):
    """A folder that image_plugin.c makes the root of a task, and a program of it that leaves a note."""
    image = os.path.join(cluster.base, "image")
    os.makedirs(os.path.join(image, "inside"))
    with open(os.path.join(image, "name"), "w", encoding="utf-8") as file:
        file.write("the image\n")
    program_that_notes(cluster, os.path.join(image, "inside/muster"), "note")
    return image


def test_image_is_for_the_tasks_and_not_for_the_check(cluster):
    """No muster is in the image: the check would not start there."""
    image = "--container-image=" + make_image(cluster)
    code, text = cluster.run("srun", *JOB, "--muster", image, "cat", "/name")
    check_equal((code, text.count("the image\n"), text.count("MUSTER PASS")), (0, 4, 1), text)
    code, text = cluster.run("salloc", *JOB, "srun", "--muster", image, "cat", "/name")
    check_equal((code, text.count("the image\n"), text.count("MUSTER PASS")), (0, 4, 1), text)
    job = cluster.wait(cluster.submit(*JOB, "--output=batch.log", "--muster", image, "--wrap", "srun cat /name"))
    with open(os.path.join(cluster.folder, "batch.log"), encoding="utf-8") as file:
        text = file.read()
    check_equal((job.exit_code, text.count("the image\n"), text.count("MUSTER PASS")), (0, 4, 1), text)


def test_check_in_an_image(cluster):
    """With the options of srun that start the check there; the host has no program of that name."""
    mounts = f"--container-mounts={cluster.home},{os.path.dirname(cluster.environment['MUSTER_PROGRAM'])},{SCRIPTS}/.."
    inside = {"MUSTER": "/inside/muster", "MUSTER_SRUN_OPTIONS": f"--container-image={make_image(cluster)} {mounts}"}
    job = cluster.preflight(**inside)
    check_equal((job.state, job.exit_code), ("COMPLETED", 0), job.read("log"))
    check(os.path.exists(os.path.join(cluster.folder, "note")), "the program is that of the image", job.read("log"))
    check_equal(job.report()["verdict"], "pass", "the verdict")
    code, text = cluster.run("srun", *JOB, "--muster", *TOUCH, **inside)
    check_equal((code, len(started(cluster))), (0, 4), text)
    job = cluster.preflight(MUSTER_LAUNCHER="mpirun", **inside)
    check_equal((job.state, job.exit_code), ("FAILED", 2), job.read("log"))
    check("MUSTER_SRUN_OPTIONS is set, but mpirun starts the tasks" in job.read("log"), "the reason", job.read("log"))


def test_image_without_the_submit_directory(cluster):
    """The report would be in the container, and gone with it: no pass."""
    image, folder = make_image(cluster), cluster.environment["MUSTER_CLUSTER"]
    with open(os.path.join(image, "inside/muster"), "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nmkdir -p "{cluster.folder}"\nexec {folder}/bin/muster "$@"\n')
    mounts = f"--container-mounts={folder},{os.path.dirname(cluster.environment['MUSTER_PROGRAM'])},{SCRIPTS}/.."
    job = cluster.preflight(MUSTER="/inside/muster", MUSTER_SRUN_OPTIONS=f"--container-image={image} {mounts}")
    check_equal((job.state, job.exit_code), ("FAILED", 3), job.read("log"))
    check("if muster runs in a container, this directory must be mounted there" in job.read("log"), "the reason", job.read("log"))


def test_checks_of_one_allocation(cluster):
    """Each has files of its own, and MUSTER_NODELIST is for a step that needs fewer nodes than there are."""
    cluster.fault(BAD)
    code, text = cluster.run("salloc", *JOB, "sh", "-c", "srun -N1 -w gpu-1 --muster touch started.first; echo code $?; "
                             "MUSTER_NODELIST=gpu-1 srun -N1 -w gpu-1 -n1 --muster touch started.second")
    check_equal((code, started(cluster)), (0, ["started.second"]), text)
    check("code 1\n" in text and REFUSED in text, "the first is refused", text)
    check_equal(len(reports(cluster)), 2, "reports")


def test_signal_to_srun_alone_ends_the_check(cluster):
    """Here one rank is too late for the others: all would wait for it. A rank that has written to the spool heeds the
    signal; srun does not hand it to nodes whose tasks have not begun, and is ended some seconds later."""
    script = ("srun --overlap --muster touch started >text 2>&1 & "
              """until [ "$(cat muster-*.spool/*.jsonl 2>/dev/null | grep -c '"spool":')" = 3 ]; do sleep 0.05; done; """
              "kill -TERM $!; wait $!; echo code $?; cat text")
    for words in (("sh", "-c", script.replace("--overlap", " ".join(JOB))), ("salloc", *JOB, "sh", "-c", script)):
        code, text = cluster.run(*words, SIMULATED_LATE_RANK="3")
        check_equal((code, started(cluster)), (0, []), text)
        check("code 1\n" in text and "muster: signal 15 ended the check" in text, "srun's end", text)
        check_equal(sorted(name.partition(".")[2] for name in os.listdir(cluster.folder)), ["", "json", "log", "txt"], "the files")
        with open(os.path.join(cluster.folder, reports(cluster)[0]), encoding="utf-8") as file:
            interrupted = [f["observed"] for f in json.load(file)["findings"] if f["check"] == "run.interrupted"]
        check(len(interrupted) == 1 and re.match(r"rank 0 received SIGUSR1 after", interrupted[0]), "it ends at once", interrupted)
        for name in os.listdir(cluster.folder):
            os.unlink(os.path.join(cluster.folder, name))
    cluster.wait_for("no job is left", lambda: cluster.ask("squeue", "-h") == "")


def test_heterogeneous_job_is_refused(cluster):
    one = ("-N1", "--exclusive", "--gpus-per-node=2")
    code, text = cluster.run("srun", *one, "--muster", ":", *one, *TOUCH)
    check_equal((code, started(cluster)), (1, []), "srun")
    check("this job is heterogeneous" in text and "could not be checked (exit code 2)" in text, "the reason", text)
    job = cluster.wait(cluster.submit(*one, "--output=batch.log", "--muster", ":", *one, "--wrap", "touch started"))
    with open(os.path.join(cluster.folder, "batch.log"), encoding="utf-8") as file:
        check("this job is heterogeneous" in file.read(), "the reason")
    check_equal((job.state, started(cluster)), ("FAILED", []), "the batch job")


def test_wrong_profile_is_named(cluster):
    code, text = cluster.run("srun", *JOB, "--muster=fast", *TOUCH)
    check(code != 0 and "--muster must be quick, standard or full, not \"fast\"" in text, "the reason", text)
    check_equal(started(cluster), [], "tasks")


main(globals())
