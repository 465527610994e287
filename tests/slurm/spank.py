#!/usr/bin/python3
"""The option --muster of srun, sbatch and salloc on a real Slurm: nothing starts on nodes that do not pass.

usage: spank.py MUSTER NAME
"""

import os

from cluster import SCRIPTS, check, check_equal, main, skip

SKU = "Standard_NC80adis_H100_v5"
JOB = ("-N2", "--exclusive", "--ntasks-per-node=2", "--gpus-per-node=2")
TOUCH = ("sh", "-c", "touch started.$SLURM_PROCID")
REFUSED = "are not proved fit (exit code 1); nothing was started on them"
BAD = "h2d-slow@node2/gpu1=11.2"


def options(muster):
    plugin = os.path.join(os.path.dirname(os.path.abspath(muster)), "lib/muster/spank_muster.so")
    if not os.path.exists(plugin):
        skip("the plugin is not built: no slurm/spank.h here (package libslurm-dev)")
    return "--plugstack", f"required {plugin} preflight={os.path.join(SCRIPTS, 'preflight.sbatch')}"


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
    check(f"MUSTER PASS sku={SKU} nodes=2 ranks=4" in text and text.count("\n") == 1, "one line, the verdict", text)


def test_srun_refuses_a_bad_node(cluster):
    cluster.fault(BAD)
    for option in ("--muster", "--muster=standard"):
        code, text = cluster.run("srun", *JOB, option, *TOUCH)
        check_equal((code, started(cluster)), (1, []), f"srun {option}")
        check("FAIL copy.h2d: node gpu-2, rank 3" in text and "observed  11.2 GB/s" in text and REFUSED in text,
              "the reason on the terminal", text)
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
    check("FAIL copy.h2d: node gpu-2, rank 3" in log and REFUSED in log, "the reason in the job's output", log)


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
    check("no program /no/such/muster" in text, "the reason", text)


def test_wrong_profile_is_named(cluster):
    code, text = cluster.run("srun", *JOB, "--muster=fast", *TOUCH)
    check(code != 0 and "quick, standard or full is needed, not \"fast\"" in text, "the reason", text)
    check_equal(started(cluster), [], "tasks")


main(globals())
