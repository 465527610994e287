#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Only the MPI module needs an MPI: what is installed works where there is none, and says which one is missing.

usage: mpi.py CMAKE BUILD-FOLDER

A host without MPI is made from the installed tree: in a copy of the real module the name of the library that the module
needs becomes one that no host has.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv[1:3]
SKU = "Standard_NC48ads_A100_v4"
PASS = f"MUSTER PASS sku={SKU} nodes=1 ranks=2 failed=0"
MISSING = "libnot"  # as long as libmpi


def needed(path):
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        prefix = os.path.join(cls.scratch.name, "a place")
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix], check=True, capture_output=True, timeout=200)
        cls.configs = os.path.join(prefix, "share", "muster", "configs")
        cls.muster = os.path.join(prefix, "bin", "muster")
        modules = glob.glob(os.path.join(glob.escape(prefix), "lib*", "**", "muster", "mpi", "*.so"), recursive=True)
        if len(modules) != 1:
            raise unittest.SkipTest(f"not one MPI module: {modules}")
        cls.folder, cls.name = os.path.dirname(modules[0]), os.path.basename(modules[0])[:-len(".so")]
        cls.kept = os.path.join(cls.scratch.name, "kept.so")
        shutil.move(modules[0], cls.kept)

    def setUp(self):
        """No module yet, and an empty folder to work in."""
        for path in glob.glob(os.path.join(glob.escape(self.folder), "*")):
            os.remove(path)
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def put_module(self, name):
        shutil.copy(self.kept, os.path.join(self.folder, name + ".so"))

    def put_broken_module(self, name):
        """The real module on a host without its MPI."""
        with open(self.kept, "rb") as file:
            module = file.read()
        library = next(each for each in needed(self.kept) if each.startswith("libmpi"))
        absent = library.replace("libmpi", MISSING)
        path = os.path.join(self.folder, name + ".so")
        with open(path, "wb") as file:
            file.write(module.replace(library.encode() + b"\0", absent.encode() + b"\0"))
        self.assertIn(absent, needed(path))
        return absent

    def call(self, *arguments, **environment):
        base = {name: value for name, value in os.environ.items() if name != "MUSTER_MPI"}
        return subprocess.run([self.muster, *arguments], capture_output=True, text=True, timeout=200,
                              cwd=self.directory, env={**base, **environment})

    def one_line(self, result):
        """What `muster run` says when it cannot start."""
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("muster: "), result.stderr)
        return result.stderr

    def simulate(self, *arguments, **environment):
        result = self.call("sim", "--sku", SKU, *arguments, **environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(result.stdout.rstrip("\n").rpartition("\n")[2].startswith(PASS), result.stdout)

    def test_the_module_alone_needs_an_mpi(self):
        """ldd also names what the libraries of a program need."""
        self.assertTrue([name for name in needed(self.kept) if name.startswith("libmpi")], needed(self.kept))
        libraries = subprocess.run(["ldd", self.muster], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertIn("libhwloc", libraries)
        for word in ("libmpi", "libopen-rte", "libpmix"):
            self.assertNotIn(word, libraries)

    def test_without_mpi_all_but_run_work(self):
        self.put_broken_module(self.name)
        spool = os.path.join(self.directory, "spool")
        self.simulate("--alone", "--report", "report.json", "--", "--spool", spool)
        self.assertTrue(os.listdir(spool))
        for arguments, wanted in (
                (["check", "report.json"], PASS),
                (["report", "report.json"], SKU),
                (["assemble", spool, "--report", "assembled.json"], "MUSTER PASS"),
                (["bind", "--sku", SKU], "srun"),
                (["skus"], SKU),
                (["lint", os.path.join(self.configs, SKU + ".json")], ""),
                (["metrics"], "gpu.h2d_gbps")):
            with self.subTest(command=arguments[0]):
                result = self.call(*arguments)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn(wanted, result.stdout)

    def test_without_mpi_run_names_the_missing_library_in_one_line(self):
        absent = self.put_broken_module(self.name)
        line = self.one_line(self.call("run"))
        self.assertIn(f"{self.name}.so: {absent}: ", line)
        self.assertIn("`muster node` needs none", line)

    def test_only_the_first_rank_says_so(self):
        self.put_broken_module(self.name)
        self.one_line(self.call("run", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2"))
        other = self.call("run", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="2")
        self.assertEqual((other.returncode, other.stdout, other.stderr), (2, "", ""))

    def test_without_any_module_run_says_so_in_one_line(self):
        self.assertIn(f"no module in {self.folder}", self.one_line(self.call("run")))

    def test_a_module_that_is_not_there_is_named(self):
        self.put_module(self.name)
        line = self.one_line(self.call("run", MUSTER_MPI="nobody"))
        self.assertIn(f"MUSTER_MPI is nobody, and there is no {self.folder}/nobody.so", line)
        cut = self.name[:-1]  # the beginning of a name is no name
        self.assertIn(f"there is no {self.folder}/{cut}.so", self.one_line(self.call("run", MUSTER_MPI=cut)))

    def test_of_two_modules_the_variable_chooses(self):
        absent = self.put_broken_module("a-first")
        self.put_module("b-second")
        self.assertIn(f"a-first.so: {absent}: ", self.one_line(self.call("run", MUSTER_MPI="a-first")))
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        self.simulate(MUSTER_MPI="b-second")

    def test_the_first_module_that_can_be_loaded_is_used(self):
        self.put_broken_module("a-first")
        self.put_module("b-second")
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")
        self.simulate()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
