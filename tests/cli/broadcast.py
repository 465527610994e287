#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--broadcast-file` with simulated GPUs and real files: the ranks of one node read the file, all nodes have its content.

usage: broadcast.py MUSTER
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

MIB = 1 << 20
TILE = 8191 * 8  # simulated GPU memory keeps content that repeats after so many bytes (sim/standins/base.h)


class Broadcast(unittest.TestCase):
    def setUp(self):
        self.scratch = os.path.realpath(tempfile.mkdtemp(prefix="muster-broadcast-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.report = os.path.join(self.scratch, "report.json")

    def run_muster(self, file, *options, nodes=2):
        return subprocess.run(
            [MUSTER, "sim", "--sku", "Standard_NC80adis_H100_v5", "--nodes", str(nodes), "--", "--max-bytes", "128M", "--storage",
             "--broadcast-file", file, "--report", self.report, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)

    def write(self, seed, mib=8):
        path = os.path.join(self.scratch, f"data-{seed}")
        tile = random.Random(seed).randbytes(TILE)
        with open(path, "wb") as file:
            file.write((tile * (mib * MIB // TILE + 1))[:mib * MIB])
        return path

    def samples(self, metric):
        with open(self.report, encoding="utf-8") as file:
            run = json.load(file)["run"]
        every = [run["job"]["samples"]] + [node["samples"] for node in run["nodes"]]
        every += [rank["samples"] for node in run["nodes"] for rank in node["ranks"]]
        return [sample for samples in every for sample in samples if sample["metric"] == metric]

    def hashes_of(self, path):
        """The hashes of the shards, by shard: of their readers and of their receivers."""
        done = self.run_muster(path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = {}
        for sample in self.samples("rank.broadcast_hash"):
            found.setdefault(sample["labels"]["shard"], []).append((sample["labels"]["role"], sample["value"]))
        return found

    def test_each_node_has_the_content_of_the_file(self):
        first = self.hashes_of(self.write(1))
        self.assertEqual(sorted(first), [0, 1], "a shard for each rank of a node")
        for shard in first.values():
            self.assertEqual(sorted(role for role, _ in shard), ["reads", "receives"])
            self.assertEqual(len({value for _, value in shard}), 1, first)
        self.assertEqual([s["value"] for s in self.samples("job.broadcast_wrong")], [0])
        self.assertTrue(all(s["value"] > 0 for s in self.samples("job.shared_read_gbps")))
        self.assertEqual(len(self.samples("job.shared_read_gbps")), 1)
        second = self.hashes_of(self.write(2))
        for shard, values in first.items():
            self.assertNotEqual(values[0][1], second[shard][0][1], "another file has another content")

    def test_a_file_that_cannot_be_read_is_named(self):
        for path in (os.path.join(self.scratch, "none"), self.scratch):
            done = self.run_muster(path)
            self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(path, done.stdout + done.stderr)

    def test_a_fifo_does_not_make_the_run_wait(self):
        path = os.path.join(self.scratch, "fifo")
        os.mkfifo(path)
        done = self.run_muster(path)
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("not a regular file", done.stdout + done.stderr)


if __name__ == "__main__":
    MUSTER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
