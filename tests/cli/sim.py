#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command `muster sim` itself: wrong input, signals, what it leaves behind.

usage: sim.py MUSTER
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from in_memory import in_memory

MUSTER = os.path.abspath(sys.argv.pop(1))
SKU = "Standard_ND96asr_v4"
SMALL = "Standard_NC40ads_H100_v5"  # one GPU
QUICK = ["--", "--profile", "quick"]
TABLES = ("driver.json", "faults.json", "families.json", "history.json", "load.json", "rings.json", "shared_data.json", "state.json", "storage.json", "traffic.json", "workers.json")


class Sim(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="muster-test-", dir=in_memory())
        self.addCleanup(shutil.rmtree, self.directory)
        self.environment = dict(os.environ, TMPDIR=self.directory)
        self.report = os.path.join(self.directory, "report.json")

    def sim(self, *words, **environment):
        return subprocess.run(
            [MUSTER, "sim", *words],
            capture_output=True,
            text=True,
            timeout=100,
            cwd=self.directory,
            env=dict(self.environment, **environment),
        )

    def left_behind(self):
        return [name for name in os.listdir(self.directory) if name.startswith("muster-sim-")]

    def assert_usage(self, done, *said):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Amuster: [^\n]+\n\Z")
        for text in said:
            self.assertIn(text, done.stderr)
        self.assertEqual(self.left_behind(), [])

    def test_the_users_word_on_whether_there_is_a_terminal_counts(self):
        for told, colours in (("1", True), ("0", False), (None, False)):
            environment = {} if told is None else {"MUSTER_TERMINAL": told}
            done = self.sim("--sku", SMALL, *QUICK, **environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("\x1b[" in done.stdout + done.stderr, colours, (told, done.stderr))

    def test_wrong_input_is_one_line_and_exit_2(self):
        sku = ["--sku", SKU]
        for words, said in (
            ([], "--sku"),
            (["--sku", "Standard_HB120"], "Standard_HB120"),
            (sku + ["--nodes", "0"], "--nodes"),
            (sku + ["--nodes", "two"], "--nodes"),
            (sku + ["--fault", "h2d-slo@node1/gpu4"], "h2d-slow"),
            (sku + ["--fault", "h2d-slow@node2/gpu4"], "node2"),
            (sku + ["--fault", "h2d-slow@node1/gpu9"], "gpu9"),
            (sku + ["--fault", "ib-down@node1/mlx5_ib9"], "mlx5_ib9"),
            (sku + ["--fault", "nccl-slow@rank8"], "rank8"),
            (sku + ["--fault", "h2d-slow@node1/gpu4=quick"], "quick"),
            (sku + ["--cpu-masks", "xyz"], "xyz"),
            (sku + ["--scenario", "nowhere.json"], "nowhere.json"),
            (sku + ["--noise", "noisy-z"], "noisy-a, noisy-b, quiet, or a file"),
            (sku + ["--noise", "/dev/null"], "/dev/null"),
            (sku + ["--noise", os.path.abspath(__file__)], "sim.py:3: the name of a series is needed"),
            (sku + ["--noise", "quiet", "--noise-seed", "0"], "--noise-seed"),
            (sku + ["--banana"], "--banana"),
        ):
            with self.subTest(words=words):
                self.assert_usage(self.sim(*words), said)

    def test_noise_lengthens_each_kind_of_operation(self):
        noise = os.path.join(self.directory, "noise.txt")
        with open(noise, "w", encoding="utf-8") as file:
            for kind in ("copies", "memory", "product", "allreduce", "exchange"):
                file.write(f"{kind}\n0 2\n1000 1\n")
        speeds = []
        for words in [], ["--noise", noise]:
            done = self.sim("--sku", "Standard_NC80adis_H100_v5", *words, "--report", self.report)
            self.assertEqual(bool(re.search(r"^muster: --noise \S+ --noise-seed [1-9]\d*$", done.stderr, re.M)), bool(words), done.stderr)
            with open(self.report, encoding="utf-8") as file:
                run = json.load(file)["run"]
            samples = [sample for node in run["nodes"] for rank in node["ranks"] for sample in rank["samples"]]
            speeds.append({s["metric"]: s["value"] for s in samples + run["job"]["samples"]})
        for metric in ("gpu.h2d_gbps", "gpu.d2h_together_gbps", "gpu.memory_write_gbps", "gpu.memory_read_gbps", "gpu.gemm_bf16_tflops",
                       "nccl.allreduce_busbw_gbps", "nccl.alltoall_busbw_gbps", "pair.exchange_gbps"):
            self.assertAlmostEqual(speeds[0][metric] / speeds[1][metric], 2, 2, metric)

    def test_an_unknown_key_in_a_scenario_is_exit_2(self):
        path = os.path.join(self.directory, "scenario.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"sku": "%s", "node": 2}' % SKU)
        self.assert_usage(self.sim("--scenario", path), path, '$.node: unknown key', "nodes")

    def test_faults_can_be_listed(self):
        done = self.sim("--list-faults")
        self.assertEqual(done.returncode, 0)
        self.assertIn("h2d-slow@node1[/gpu4][=GB/s]", done.stdout)
        names = self.listed_faults()
        self.assertEqual(names, sorted(set(names)))

    def listed_faults(self):
        lines = self.sim("--list-faults").stdout.splitlines()
        for line in lines:
            self.assertRegex(line, r"\A  [a-z0-9-]+@(node1|node1/gpu4|node1\[/gpu4\]|node1/mlx5_ib3|rank5|node1/numa0)(\[=\S+)? +\S")
        return [line.strip().partition("@")[0] for line in lines]

    def test_every_fault_stands_in_a_table_of_faults(self):
        tested = set()
        for name in TABLES:
            with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenarios", name), encoding="utf-8") as file:
                cases = json.load(file)
            tested |= {fault.partition("@")[0] for case in cases for fault in case.get("faults", [])}
            tested |= {"dies" for case in cases if case.get("deaths")}
        listed = set(self.listed_faults())
        self.assertEqual(tested - listed, set(), "cases with faults that there are not")
        self.assertEqual(listed - tested, set(), "faults without a case")

    def test_skus_can_be_listed(self):
        listed = self.sim("--list-skus").stdout.splitlines()
        self.assertIn(SKU, listed)
        self.assertEqual(listed, sorted(set(listed)))

    def test_a_missing_mpirun_is_named(self):
        done = self.sim("--sku", SKU, PATH=self.directory)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"\Amuster: mpirun is not in PATH[^\n]+\n\Z")
        self.assertEqual(self.left_behind(), [])

    def mpirun(self, script):
        """A PATH with an mpirun that is this script."""
        path = os.path.join(self.directory, "bin")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "mpirun"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(os.path.join(path, "mpirun"), 0o755)
        return path + os.pathsep + os.environ["PATH"]

    def test_an_mpirun_that_starts_nothing_is_named(self):
        for script, said in (("exit 213", "mpirun ended with code 213 before rank 0 had a verdict"),
                             ("kill -KILL $$", "mpirun was killed by signal 9 before rank 0 had a verdict"),
                             ("exec sleep 1000", "mpirun had not started rank 0 after 3 s, and was killed")):
            done = self.sim("--sku", SKU, PATH=self.mpirun(script), MUSTER_TEST_TIME_SCALE="0.05")
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertRegex(done.stderr, r"\Amuster: " + said + r"[^\n]*\n\Z")
            self.assertEqual(self.left_behind(), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can make another /dev/shm")
    def test_an_mpi_that_cannot_start_leaves_a_report(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        report = os.path.join(scratch.name, "report.json")
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"', "sh", MUSTER, "sim",
             "--sku", "Standard_NC80adis_H100_v5", "--report", report, *QUICK, "--deadline", "40"],
            capture_output=True, text=True, timeout=100, env=dict(os.environ, TMPDIR=scratch.name))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stdout, r"MUSTER INCONCLUSIVE [^\n]*\n\Z")
        with open(report, encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        self.assertIn("MPI", next(f["observed"] for f in findings if f["check"] == "run.interrupted"))

    def test_output_in_a_file_has_all_of_it_in_its_order(self):
        path = os.path.join(self.directory, "output")
        words = 'echo before; "$@" 2>&1; echo after'
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run(["sh", "-c", words, "sh", MUSTER, "sim", "--sku", SMALL, "--nodes", "2", "--report", "-", *QUICK],
                           stdout=file, timeout=100, env=self.environment, check=True)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text[:200] + text[-200:])
        begin = text.index("{\n")
        self.assertEqual(json.JSONDecoder().raw_decode(text[begin:])[0]["verdict"], "pass")

    def test_nothing_is_left_behind_but_the_report(self):
        done = self.sim("--sku", SMALL, "--report", self.report, *QUICK)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.left_behind(), [])
        self.assertTrue(os.path.exists(self.report))

    def test_files_can_be_prepared_and_nothing_is_started(self):
        folder = os.path.join(self.directory, "prepared")
        prepare = ("--sku", SKU, "--nodes", "2", "--prepare", folder)
        done = self.sim(*prepare, PATH=self.directory)  # there is no mpirun
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        worker = [os.path.join(folder, "muster"), "sim-worker", folder, "8", "--", "sh", "-c", "echo $MUSTER_ROOT"]
        self.assertEqual(subprocess.run(worker, check=True, capture_output=True, text=True).stdout,
                         os.path.join(folder, "sim-2") + "\n")
        again = self.sim(*prepare)
        self.assertEqual(again.returncode, 2)
        self.assertIn(f"--prepare {folder}: File exists", again.stderr)
        self.assertTrue(os.path.exists(os.path.join(folder, "cluster.json")))

    def test_files_can_be_kept_and_a_broken_topology_is_not_taken_for_the_machine_that_is_there(self):
        done = self.sim("--sku", SMALL, "--keep", *QUICK)
        self.assertEqual(done.returncode, 0, done)
        kept = re.search(r"kept in (\S+)", done.stderr).group(1)
        self.assertTrue(os.path.exists(os.path.join(kept, "cluster.json")))
        worker = [MUSTER, "sim-worker", kept, "0", "--", "true"]
        self.assertEqual(subprocess.run(worker, check=False, capture_output=True).returncode, 0)
        topology = os.path.join(kept, "sim-1", "topology.xml")
        with open(topology, "r+", encoding="utf-8") as file:
            file.truncate(1000)
        broken = subprocess.run(worker, check=False, capture_output=True, text=True)
        self.assertEqual(broken.returncode, 2)
        self.assertIn(f"{topology}: hwloc cannot read it", broken.stderr)

    def test_files_lie_in_memory_unless_large_files_come_beside_them(self):
        for words, folder in (((), in_memory() or "/tmp"), (("--storage",), "/tmp")):
            done = self.sim("--sku", SMALL, "--keep", *QUICK, *words, TMPDIR="")
            kept = re.search(r"kept in (\S+)", done.stderr).group(1)
            self.addCleanup(shutil.rmtree, kept)
            self.assertEqual(os.path.dirname(kept), folder)

    def test_odd_names_of_directories_do_no_harm(self):
        odd = os.path.join(self.directory, "100%#1?")
        os.mkdir(odd)
        done = self.sim("--sku", SMALL, "--report", self.report, *QUICK, TMPDIR=odd)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(os.listdir(odd), [])
        with open(self.report, encoding="utf-8") as file:
            self.assertIn(f'"{SMALL}"', file.read().partition("node.vm_size")[2])

    def test_options_after_two_dashes_reach_run(self):
        done = self.sim("--sku", SKU, "--", "--profile", "hasty")
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Amuster: [^\n]*hasty[^\n]*\n\Z")

    def test_a_scenario_file_does_what_the_options_do(self):
        path = os.path.join(self.directory, "scenario.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"sku": "%s", "nodes": 1, "faults": ["gpu-name@node1/gpu2"]}' % SKU)
        done = self.sim("--scenario", path, *QUICK)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("NVIDIA A100-SXM4-80GB", done.stdout)

    def test_an_outer_slurm_job_is_not_taken_for_the_simulated_one(self):
        done = self.sim("--sku", SKU, *QUICK, SLURM_JOB_ID="77", SLURM_JOBID="77", SLURM_NTASKS="3", SLURM_NNODES="1",
                        SLURM_NODELIST="elsewhere", SLURM_TASKS_PER_NODE="3")
        self.assertEqual(done.returncode, 0, done)

    def test_the_words_of_a_wrapper_come_before_every_muster(self):
        wrapper, log = os.path.join(self.directory, "wrapper"), os.path.join(self.directory, "log")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$*" >>{log}\nexec "$@"\n')
        os.chmod(wrapper, 0o755)
        done = self.sim("--sku", SKU, *QUICK, MUSTER_SIM_WRAPPER=f" {wrapper}\tenv  A=1 ")
        self.assertEqual(done.returncode, 0, done)
        with open(log, encoding="utf-8") as file:
            started = sorted(re.fullmatch(r"env A=1 \S+/muster(?:-sim)? (\S+)(?: .*)?\n", line).group(1) for line in file)
        self.assertEqual(started, ["run"] * 8 + ["sim"] + ["sim-rank"] * 8 + ["sim-worker"] * 8 + ["worker"] * 8)

    def test_a_signal_ends_it_and_cleans_up(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                child = subprocess.Popen(
                    [MUSTER, "sim", "--sku", SKU],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=self.directory,
                    env=self.environment,
                )
                end = time.monotonic() + 30
                while not self.left_behind() and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertNotEqual(self.left_behind(), [])
                child.send_signal(number)
                self.assertEqual(child.wait(timeout=100), -number)
                self.assertEqual(self.left_behind(), [])

    def test_the_report_names_the_signal_that_ended_the_run(self):
        child = subprocess.Popen(
            [MUSTER, "sim", "--sku", SKU, "--fault", "dies@rank1=cuInit:hang", "--", "--profile", "quick"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.directory,
            env=self.environment,
            text=True,
        )
        line = ""
        while "loading drivers" not in line:
            line = child.stderr.readline()
            self.assertNotEqual(line, "")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=100)
        self.assertIn("received SIGINT after", out)


if __name__ == "__main__":
    unittest.main()
