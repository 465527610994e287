#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster node`: one node, all of its GPUs, no launcher. Nothing of it is left behind, however it ends.

usage: node.py MUSTER
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from in_memory import in_memory
from processes import command_in

MUSTER = sys.argv[1]
SKU = "Standard_NC80adis_H100_v5"
GPUS = 2
PR_SET_CHILD_SUBREAPER = 36


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def named(pid, word):
    """Processes at or below pid that run `muster word`."""
    found = []
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            if command_in(file.read().split("\0")) == word:
                found.append(pid)
    except (FileNotFoundError, ProcessLookupError):
        pass
    for child in children(pid):
        found += named(child, word)
    return found


def has_step(spool, rank, word):
    """Whether this rank has said in the spool that a step with the word comes next."""
    try:
        with open(spool, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.startswith("{") and line.endswith("}\n")]
    except FileNotFoundError:
        return False
    owners = {line["by"] for line in lines if line.get("rank") == rank}
    return any(line["by"] in owners and word in line.get("step", "") for line in lines)


class Node(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=in_memory())
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.report = os.path.join(self.folder, "report.json")
        # whatever loses its parent becomes our child
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def start(self, *arguments, options=(), **environment):
        return subprocess.Popen([MUSTER, "sim", "--alone", "--sku", SKU, "--report", self.report, *arguments, "--",
                                 "--deadline", "40", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.folder, env=dict(os.environ, TMPDIR=self.folder, **environment))

    def end(self, process):
        out, err = process.communicate(timeout=120)
        self.assert_nothing_left()
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("muster-sim")], [])
        return process.returncode, out.rstrip("\n").rpartition("\n")[2], err

    def assert_nothing_left(self):
        """Orphans may need a moment to die."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.05)
            except ChildProcessError:
                return
        self.fail("a process was left behind")

    def findings(self, *statuses):
        with open(self.report, encoding="utf-8") as file:
            report = json.load(file)
        return report, [(f["check"], f["where"]) for f in report["findings"] if f["status"] in statuses]

    def test_the_inventory_is_printed_at_once_and_the_verdict_stays(self):
        process = self.start("--fault", "h2d-slow@node1/gpu1=9", options=["--inventory"])
        out, err = process.communicate(timeout=120)
        self.assert_nothing_left()
        self.assertEqual(process.returncode, 1, out + err)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("FAIL: 1 of 1 node failed."), lines[0])
        for wanted in ("Topology by rank", "Nodes", "Fabric by port"):
            self.assertIn(wanted, lines)
        self.assertTrue([line for line in lines if re.match("  GPUs of the ranks +2 x NVIDIA H100 NVL$", line)], out)
        self.assertFalse([line for line in lines if "copy.h2d" in line])
        self.assertTrue(lines[-1].startswith(f"MUSTER FAIL sku={SKU} nodes=1 ranks={GPUS}"), lines[-1])
        self.assertEqual({check for check, _ in self.findings("fail")[1]}, {"copy.h2d"})

    def test_a_healthy_node_passes_and_forgets_the_job_that_it_is_in(self):
        """muster sim gives it the environment of a Slurm task."""
        code, line, err = self.end(self.start())
        self.assertEqual(code, 0, line + err)
        self.assertTrue(line.startswith(f"MUSTER PASS sku={SKU} nodes=1 ranks={GPUS} failed=0"), line)
        report, bad = self.findings("fail", "inconclusive", "warn")
        self.assertEqual(bad, [])
        run = report["run"]
        self.assertEqual((run["job"]["profile"], run["nodes"][0]["name"], "id" in run["job"]), ("quick", "sim-1", False))
        gpus = {rank["gpu_uuid"] for rank in run["nodes"][0]["ranks"]}
        self.assertEqual(len(gpus), GPUS)
        slurm = [s for rank in run["nodes"][0]["ranks"] for s in rank["samples"] if s["metric"] == "rank.slurm_ntasks"]
        self.assertEqual([s["value"] for s in slurm], [None] * GPUS)
        bandwidth = [s for s in run["job"]["samples"] if s["metric"] == "nccl.allreduce_busbw_gbps"]
        self.assertEqual([s["labels"]["ranks"] for s in bandwidth], [GPUS], "the ring of the node's GPUs was measured")

    def test_what_its_ranks_leave_on_disk_is_one_run(self):
        spool = os.path.join(self.folder, "spool")
        code, line, err = self.end(self.start(options=("--spool", spool)))
        self.assertEqual(code, 0, line + err)
        result = subprocess.run([MUSTER, "assemble", spool], capture_output=True, text=True, cwd=self.folder, timeout=100)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"MUSTER PASS sku={SKU} nodes=1 ranks={GPUS} failed=0", result.stdout)
        self.assertNotIn("left out", result.stderr)

    def test_a_parent_that_ignores_sigchld_does_not_delay_the_end(self):
        """Ranks that have ended are seen to have ended: nobody waits for them until they are to be killed."""
        def seconds():
            before = time.monotonic()
            code, line, err = self.end(self.start(MUSTER_SIM_WRAPPER="env --ignore-signal=CHLD"))
            self.assertEqual(code, 0, line + err)
            return time.monotonic() - before

        # those 2.5 s are waited for each time; a busy machine delays some runs
        self.assertTrue(any(seconds() < 2.4 for _ in range(10)))

    def test_nobody_binds_the_ranks_or_sets_their_environment(self):
        """On this machine type a rank away from its GPU fails, and a job's environment is looked at."""
        code, line, err = self.end(self.start("--sku", "Standard_ND96asr_v4"))
        self.assertEqual((code, line), (0, f"MUSTER PASS sku=Standard_ND96asr_v4 nodes=1 ranks=8 failed=0 warned=0 "
                                           f"report={self.report}"), err)
        report, _ = self.findings("fail")
        lists = [s["value"] for rank in report["run"]["nodes"][0]["ranks"] for s in rank["samples"]
                 if s["metric"] == "rank.cpu_list"]
        self.assertEqual(lists, ["24-47"] * 2 + ["0-23"] * 2 + ["72-95"] * 2 + ["48-71"] * 2)

    def test_a_bad_gpu_is_named(self):
        code, line, err = self.end(self.start("--fault", "h2d-slow@node1/gpu1=11.2"))
        self.assertEqual(code, 1, line + err)
        _, bad = self.findings("fail")
        self.assertEqual([(check, where["node"], where["rank"]) for check, where in bad], [("copy.h2d", "sim-1", 1)])

    def test_one_rank_for_each_visible_gpu(self):
        _, line, _ = self.end(self.start(CUDA_VISIBLE_DEVICES="0"))
        self.assertIn(" ranks=1 ", line)
        _, line, _ = self.end(self.start(CUDA_VISIBLE_DEVICES="0,1,2,3"))
        self.assertIn(f" ranks={GPUS} ", line)

    def start_to_the_ring(self, spool):
        """A node whose second rank hangs, and its ranks. From here on this rank has measured all else, and each worker is the
        program that it will be."""
        process = self.start("--fault", "nccl-hang@rank1=init", options=("--spool", spool))
        while not has_step(os.path.join(spool, "sim-1.jsonl"), 1, "ncclCommInitRankConfig") and process.poll() is None:
            time.sleep(0.02)
        ranks = named(process.pid, "node")
        self.assertEqual(len(ranks), GPUS)
        return process, ranks

    def test_a_rank_that_is_killed_is_missing_and_nothing_else_is_lost(self):
        spool = os.path.join(self.folder, "spool")
        process, ranks = self.start_to_the_ring(spool)
        os.kill(ranks[1], signal.SIGKILL)
        code, line, err = self.end(process)
        self.assertEqual(code, 1, line + err)
        report, bad = self.findings("fail")
        self.assertIn("rank.missing", [check for check, _ in bad])
        first = report["run"]["nodes"][0]["ranks"][0]
        self.assertTrue(any(s["metric"] == "gpu.h2d_gbps" and s["value"] for s in first["samples"]))
        self.assertLess(report["run"]["job"]["elapsed_s"], 35)

    def test_a_signal_ends_it_with_a_report(self):
        process, ranks = self.start_to_the_ring(os.path.join(self.folder, "spool"))
        os.kill(ranks[0], signal.SIGTERM)
        code, line, err = self.end(process)
        self.assertEqual(code, 3, line + err)
        report, _ = self.findings("inconclusive")
        self.assertIn("SIGTERM", report["run"]["job"]["interrupted"])

    def test_a_machine_without_gpus_is_no_pass(self):
        done = subprocess.run([MUSTER, "node", "--report", self.report, "--deadline", "40"], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, check=False,
                              env=dict(os.environ, SLURM_PROCID="7", SLURM_NTASKS="64", OMPI_COMM_WORLD_RANK="3",
                                       MUSTER_METADATA_URL="", CUDA_VISIBLE_DEVICES=""))
        self.assertIn(done.returncode, (1, 3), done.stderr)
        self.assertRegex(done.stdout.rstrip("\n").rpartition("\n")[2], "^MUSTER (FAIL|INCONCLUSIVE) .* nodes=1 ranks=1 ")
        self.assert_nothing_left()

    def test_a_mistake_is_one_line_and_measures_nothing(self):
        for arguments, said in ((("--foo",), "unknown option --foo"), (("x",), "unexpected argument 'x' (usage: muster node"),
                                (("--deadline", "3"), "--deadline: a time from 10 to 86400 s"), (("--repeat", "99"), "--repeat")):
            done = subprocess.run([MUSTER, "node", "--report", self.report, *arguments], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)
            self.assertIn(said, done.stderr)
        self.assertFalse(os.path.exists(self.report))
        shown = subprocess.run([MUSTER, "node", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertRegex(" ".join(shown.split()), r"--profile NAME quick: [^()]*; standard: [^()]*; full: [^()]* \(default quick\)")


unittest.main(argv=sys.argv[:1])
