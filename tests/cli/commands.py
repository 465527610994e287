#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster skus`, `muster lint` and `muster bind`.

usage: commands.py MUSTER WRITE_NODE SOURCE_DIRECTORY
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MUSTER, WRITE_NODE, SOURCE = sys.argv[1:4]
CONFIGS = os.path.join(SOURCE, "configs")
HARDWARE = os.path.join(SOURCE, "src", "sim", "hardware")
SKU = "Standard_ND96asr_v4"
MASKS = ("ffffff000000,ffffff000000,ffffff,ffffff,ffffff000000000000000000,ffffff000000000000000000,"
         "ffffff000000000000,ffffff000000000000")


def muster(*arguments, **environment):
    return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})


def plain(result):
    """What is for programs: the lines that are neither empty nor comments."""
    return [line for line in result.stdout.splitlines() if line and not line.startswith("#")]


class InDirectory(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def put(self, name, value):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path


class Metrics(unittest.TestCase):
    def test_the_metrics_that_are_named_are_printed(self):
        listed = json.loads(muster("metrics", "--format", "json").stdout)
        wanted = [metric for metric in listed if metric["name"] in ("gpu.h2d_gbps", "port.state")]
        self.assertEqual(len(wanted), 2)
        self.assertEqual(json.loads(muster("metrics", "port.state", "gpu.h2d_gbps", "--format", "json").stdout), wanted)
        lines = muster("metrics", "gpu.h2d_gbps").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["NAME", "gpu.h2d_gbps"])

    def test_an_unknown_metric_is_named_with_those_near_to_it(self):
        result = muster("metrics", "gpu.h2d_gbps", "gpu.h2d_gps")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn('no such metric: "gpu.h2d_gps"; did you mean "gpu.h2d_gbps"', result.stderr)


class Skus(InDirectory):
    def test_the_checks_that_are_named_are_shown(self):
        every = json.loads(muster("skus", SKU, "--format", "json").stdout)
        some = json.loads(muster("skus", SKU, "copy.d2h", "copy.h2d", "--format", "json").stdout)
        self.assertEqual(some["checks"], [check for check in every["checks"]
                                          if check["check"] in ("copy.h2d", "copy.d2h")])
        self.assertEqual(len(some["checks"]), 2)
        text = muster("skus", SKU, "copy.d2h").stdout
        self.assertIn("\ncopy.d2h: ", text)
        self.assertNotIn("\ncopy.h2d: ", text)

    def test_an_unknown_check_is_named_with_those_near_to_it(self):
        result = muster("skus", SKU, "copy.h2")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(f'{SKU} has no check "copy.h2"; did you mean "copy.h2d"', result.stderr)

    def test_every_machine_type_and_nothing_else_is_listed(self):
        names = []
        for entry in sorted(os.listdir(CONFIGS)):
            text = json.loads(Path(CONFIGS, entry).read_text(encoding="utf-8"))
            if "vm_size" in text.get("identify", {}) or text.get("observe"):
                names.append(text["name"])
        listed = json.loads(muster("skus", "--format", "json").stdout)
        self.assertEqual([sku["name"] for sku in listed], names)
        lines = muster("skus").stdout.splitlines()[1:]
        self.assertEqual([line.split()[0] for line in lines], names)
        for line, sku in zip(lines, listed):
            gpus = str(sku["gpu_count"] or "-")
            self.assertEqual(line.split(None, 3), [sku["name"], gpus, str(sku["check_count"]), sku["title"]])

    def test_each_check_is_shown_with_the_files_it_comes_from(self):
        site = self.put("site.json", {"checks": {
            "copy.h2d": {"min": 22, "warn_below": None, "source": "our own test"},
            "node.sockets": None,
            "site.os": {"metric": "node.os", "matches": "^Ubuntu", "source": "our image"}}})
        sku = json.loads(muster("skus", SKU, "--overlay", site, "--format", "json").stdout)
        self.assertEqual([os.path.basename(file) for file in sku["files"]],
                         ["site.json", SKU + ".json", "family-nd-a100.json", "family-nd.json", "family-azure.json",
                          "common.json", "events.json"])
        checks = {check["check"]: check for check in sku["checks"]}
        listed = {entry["name"]: entry for entry in json.loads(muster("skus", "--format", "json").stdout)}
        self.assertEqual(len(checks), listed[SKU]["check_count"])  # one more, one less
        self.assertNotIn("node.sockets", checks)

        h2d = checks["copy.h2d"]
        self.assertEqual(h2d["source"], "our own test")
        self.assertEqual(h2d["expected"], "at least 22 GB/s")
        self.assertEqual(os.path.basename(h2d["file"]), "family-nd-a100.json")
        self.assertEqual(h2d["changes"], [{"key": "min", "file": site, "removed": False},
                                          {"key": "warn_below", "file": site, "removed": True},
                                          {"key": "source", "file": site, "removed": False}])
        self.assertEqual((checks["site.os"]["file"], checks["site.os"]["changes"]), (site, []))
        self.assertEqual(checks["ring.1node.8g"]["where"], {"bytes": 8589934592, "nodes": 1})
        self.assertEqual(checks["ring.1node.8g"]["only_for"], "1 node, profile full")
        self.assertEqual(checks["launch.gpu"]["after"], "launch.ranks_per_gpu")

        text = muster("skus", SKU.lower(), "--overlay", site).stdout
        block = text[text.index("\ncopy.h2d:"):].split("\n\n")[0]
        self.assertIn("expected   gpu.h2d_gbps: at least 22 GB/s", block)
        self.assertIn("from       family-nd-a100.json, changed by site.json: min, warn_below (removed), source", block)
        self.assertEqual(text.count("    source  "), len(checks))

    def test_the_events_of_a_check_are_shown_as_the_site_has_them(self):
        site = self.put("site.json", {"events": {"xid": {"31": {"class": "fail"}, "79": None}}})

        def codes(*options):
            lines = muster("skus", SKU, "history.xid", *options).stdout.splitlines()
            return {line[4:9]: set(line[14:].split()) for line in lines
                    if line[4:14].strip() in ("fails on", "warns on", "notes")}

        before, after = codes(), codes("--overlay", site)
        self.assertEqual((before["fails"] - after["fails"], after["fails"] - before["fails"]), ({"79"}, {"31"}))
        self.assertEqual(before["notes"] - after["notes"], {"31"})
        self.assertEqual(before["warns"], after["warns"])

    def test_each_announced_size_is_known_by_both_of_its_names_and_asks_for_what_it_was_announced_with(self):
        announced = """
            NC36ds   36  132 1  24576  1600  256
            NC72ds   72  264 1  49152  3200  512
            NC144ds  144 516 1  98304  6400 1024
            NC288ds  288 1032 2 98304 12800 2048
            NC324ds  324 1284 2 98304 12800 2048
            NC24lds  24   72 1  24576  1600  256
            NC36lds  36   72 1  24576  1600  256
            NC72lds  72  132 1  49152  3200  512
            NC144lds 144 264 1  98304  6400 1024
            NC288lds 288 516 2  98304 12800 2048
            NC324lds 324 648 2  98304 12800 2048"""
        for line in announced.strip().splitlines():
            size, *figures = line.split()
            cpus, memory_gb, gpus, gpu_mib, nvme_gb, temp_gb = map(int, figures)
            first, second = (muster("skus", f"Standard_{size}_xl_{gpu}_v6", "--format", "json")
                             for gpu in ("RTXPro6000", "rtxpro6000bse"))
            self.assertEqual((first.returncode, first.stdout), (0, second.stdout), first.stderr + second.stderr)
            sku = json.loads(first.stdout)
            self.assertEqual(sku["name"], f"Standard_{size}_xl_RTXPro6000_v6")
            checks = {check["check"]: check for check in sku["checks"]}
            expected = lambda check: checks[check]["expected"]
            limits = lambda check: [float(number) for number in re.findall(r"[0-9.]+", expected(check))]
            self.assertEqual((expected("node.cpus"), expected("gpu.count")), (str(cpus), str(gpus)))
            self.assertEqual(limits("gpu.memory")[1], gpu_mib)
            self.assertTrue(0.95 <= limits("gpu.memory")[0] / gpu_mib < 1, size)
            low, high = limits("node.memory")
            self.assertTrue(low < memory_gb * 1e9 / 2 ** 20 < memory_gb * 1024 <= high, size)
            self.assertTrue(0.9 <= limits("node.nvme_gb")[0] / nvme_gb < 1, size)
            self.assertTrue(0.9 <= limits("node.temp_disk")[0] / temp_gb < 1, size)
            self.assertEqual(expected("ib.none"), "0")

    def test_checks_without_a_floor_and_for_domains_are_said_in_words(self):
        site = self.put("site.json", {"checks": {
            "site.seen": {"metric": "gpu.h2d_gbps", "observe": True, "source": "s", "when": {"domains": {"max": 1}}},
            "site.like": {"metric": "gpu.h2d_gbps", "min_of_median": 0.85, "max_of_median": 1.2, "source": "s"},
            "site.both": {"metric": "gpu.h2d_gbps", "min": 5, "min_of_median": 0.9, "source": "s"},
            "site.same": {"metric": "port.firmware", "same_across": "nodes", "within": "link_layer", "source": "s",
                          "when": {"domains": 2}}}})
        sku = json.loads(muster("skus", SKU, "--overlay", site, "--format", "json").stdout)
        checks = {check["check"]: check for check in sku["checks"]}
        self.assertEqual(checks["site.seen"]["expected"], "no threshold")
        self.assertEqual(checks["site.seen"]["only_for"], "at most 1 NVLink domain")
        self.assertEqual(checks["site.like"]["expected"], "from 85 to 120 % of the median of this run")
        self.assertEqual(checks["site.both"]["expected"], "at least 5 GB/s, at least 90 % of the median of this run")
        self.assertEqual(checks["site.same"]["expected"], "the same on all nodes within each link_layer")
        self.assertEqual(checks["site.same"]["only_for"], "2 NVLink domains")
        self.assertEqual([name for name, check in checks.items()
                          if name.startswith("site.") and not check["calibrated"]], ["site.seen", "site.like"])
        text = muster("skus", SKU, "--overlay", site).stdout
        self.assertIn("otherwise  cannot fail\n", text[text.index("\nsite.seen"):].split("\n\n")[0])
        self.assertIn("otherwise  fail\n", text[text.index("\nsite.like"):].split("\n\n")[0])

    def test_checks_that_nobody_has_confirmed_can_be_listed(self):
        whole, part = (muster("skus", SKU, *option).stdout for option in ([], ["--uncertain"]))
        count = dict((word, int(number)) for number, word in re.findall(
            r"(\d+) (\w+)", re.search(r"^certainty (.*)$", whole, re.M).group(1)))
        self.assertEqual(list(count), ["measured", "threshold", "specified", "inferred"])
        self.assertEqual(part.count("    source  "), part.count("    otherwise  warn; cannot fail: the value is inferred"))
        self.assertEqual(whole.count("cannot fail: the value is inferred"), part.count("cannot fail: the value is inferred"))
        self.assertIn("\nring.large.512m:", part)
        for confirmed in ("copy.h2d", "gpu.pcie_gen", "ring.sum", "ring.2nodes.512m"):  # a threshold, a fact, measured
            self.assertIn(f"\n{confirmed}", whole)
            self.assertNotIn(f"\n{confirmed}:", part)
        self.assertIn("    seen on    ND96asr_v4, 8 x 200 Gb/s: 2 to 3 nodes, 16 to 24 GPUs (", whole)
        self.assertIn("\nring.large.8g:", muster("skus", SKU, "ring.large.8g", "copy.h2d", "--uncertain").stdout)

    def test_a_check_that_was_removed_and_made_anew_is_the_later_files(self):
        check = {"metric": "node.gpu_count", "equals": 8, "source": "s"}
        self.put("a.json", {"schema_version": 1, "name": "a", "checks": {"x": check, "y": check}})
        self.put("b.json", {"schema_version": 1, "name": "b", "extends": "a.json", "checks": {"x": None}})
        last = self.put("c.json", {"schema_version": 1, "name": "c", "extends": "b.json", "checks": {"x": check}})
        checks = {check["check"]: check for check in json.loads(muster("skus", last, "--format", "json").stdout)["checks"]}
        self.assertEqual((checks["x"]["file"], checks["x"]["changes"]), (last, []))
        self.assertEqual(os.path.basename(checks["y"]["file"]), "a.json")

    def test_mistakes_are_said_in_one_line(self):
        for arguments in (["Nobody_v1"], [SKU, SKU], [SKU, "--overlay", "/none.json"], ["--overlay", "x.json"], ["--uncertain"]):
            done = muster("skus", *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)


class Lint(InDirectory):
    def test_the_shipped_files_have_no_problem(self):
        files = [os.path.join(CONFIGS, entry) for entry in sorted(os.listdir(CONFIGS))]
        done = muster("lint", *files)
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(files)} files, no problem\n"))

    def test_all_problems_of_all_files_are_printed_each_once(self):
        parent = self.put("parent.json", {"schema_version": 1, "name": "p", "checks": {
            "a": {"metric": "node.gpu_count", "equals": "8"}}})
        child = self.put("child.json", {"schema_version": 1, "name": "c", "extends": "parent.json", "checks": {
            "b": {"metric": "gpu.h2d_gbps", "min": 20, "warn_below": 10, "source": "s", "action_code": "none"}}})
        broken = self.put("broken.json", "{")
        done = muster("lint", parent, child, broken)
        self.assertEqual(done.returncode, 2)
        self.assertEqual([re.sub(r"line \d.*", "", line) for line in done.stdout.splitlines()], [
            f'{parent}: $.checks.a.equals: a number is needed for node.gpu_count, found "8"',
            f"{parent}: $.checks.a: no source: give the source of the expected value",
            f"{child}: $.checks.b.warn_below: 10 has no effect: min is 20",
            f"{broken}: "])

    def test_an_overlay_is_held_against_its_machine_type(self):
        good = self.put("good.json", {"checks": {"copy.h2d": {"min": 22, "source": "s"}}})
        done = muster("lint", "--sku", SKU, good)
        self.assertEqual((done.returncode, done.stdout), (0, "1 file, no problem\n"))
        bad = self.put("bad.json", {"checks": {"copy.h2d": {"min": 22}, "copy.hd2": None}})
        done = muster("lint", "--sku", SKU, good, bad)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn('cannot remove "copy.hd2": it does not exist; did you mean "copy.h2d"', done.stdout)
        self.assertIn(f'{bad}: $.checks["copy.h2d"].min: changed without a source', done.stdout)

    def test_no_file_is_a_mistake(self):
        self.assertEqual(muster("lint").returncode, 2)
        self.assertIn("No such file", muster("lint", "/none.json").stdout)


MPIRUN = "mpirun --map-by ppr:%d:node --bind-to none -x CUDA_DEVICE_ORDER=PCI_BUS_ID muster bind --exec --"


class Bind(InDirectory):
    expected = [
        "srun --ntasks-per-node=8 --cpu-bind=mask_cpu:" + MASKS,
        MPIRUN % 8,
        "Name=gpu File=/dev/nvidia[0-1] Cores=24-47",
        "Name=gpu File=/dev/nvidia[2-3] Cores=0-23",
        "Name=gpu File=/dev/nvidia[4-5] Cores=72-95",
        "Name=gpu File=/dev/nvidia[6-7] Cores=48-71",
    ]

    def node(self, sku=SKU, directory=None):
        """A machine of that type as hwloc and the kernel show it: its root, and the environment that leads there."""
        directory = directory or self.directory
        os.makedirs(directory, exist_ok=True)
        made = subprocess.run([WRITE_NODE, HARDWARE, sku, directory], capture_output=True, text=True, check=True)
        root = made.stdout.strip()
        return root, {"MUSTER_ROOT": root, "HWLOC_XMLFILE": root + "/topology.xml", "HWLOC_THISSYSTEM": "1"}

    def test_a_machine_type_is_bound_by_its_description(self):
        done = muster("bind", "--sku", SKU)
        self.assertEqual((done.returncode, plain(done)), (0, self.expected))

    def test_this_machine_is_bound_by_hwloc(self):
        _, environment = self.node()
        done = muster("bind", **environment)
        self.assertEqual((done.returncode, plain(done)), (0, self.expected), done.stderr)

    def test_lines_for_sbatch_are_those_of_the_job_script(self):
        """The table in preflight.sbatch has every machine type once, with the counts of its hardware description."""
        with open(os.path.join(SOURCE, "slurm", "preflight.sbatch"), encoding="utf-8") as file:
            rows = re.findall(r"^#   (--\S+ --\S+ --\S+) +(\S.*)$", file.read(), re.MULTILINE)
        table = {f"Standard_{name}": options for options, names in rows for name in names.split()}
        self.assertEqual(sum(len(names.split()) for _, names in rows), len(table), "a machine type stands there twice")
        self.assertEqual(sorted(table), sorted(name[:-len(".json")] for name in os.listdir(HARDWARE)))
        for sku, options in table.items():
            self.assertIn(f"\n#SBATCH {options}\n", muster("bind", "--sku", sku).stdout, sku)
        self.assertEqual(table[SKU], "--ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=12")

    def test_parts_of_sockets_come_with_what_slurm_needs_for_them(self):
        """In gres.conf; seen with Slurm 24.11, which drains the node otherwise."""
        advice = ("#   SlurmdParameters=numa_node_as_socket\n"
                  "#   NodeName=... Sockets=4 CoresPerSocket=24 ThreadsPerCore=1\nName=gpu")
        self.assertIn(advice, muster("bind", "--sku", SKU).stdout)
        _, environment = self.node()
        self.assertIn(advice, muster("bind", **environment).stdout)
        for sku in "Standard_ND96isr_H100_v5", "Standard_ND128isr_NDR_GB200_v6":
            self.assertNotIn("numa_node_as_socket", muster("bind", "--sku", sku).stdout)

    def test_masks_hold_every_thread_and_cores_count_cores(self):
        done = muster("bind", "--sku", "Standard_NC288ds_xl_RTXPro6000_v6")
        self.assertEqual(plain(done), [
            "srun --ntasks-per-node=2 --cpu-bind=mask_cpu:" + "f" * 18 + "," + "f" * 18 + "0" * 36,
            MPIRUN % 2,
            "Name=gpu File=/dev/nvidia0 Cores=0-35",
            "Name=gpu File=/dev/nvidia1 Cores=72-107"], done.stderr)

    def test_every_description_binds_as_hwloc_binds_what_is_made_of_it(self):
        for name in sorted(os.listdir(HARDWARE)):
            sku = name[:-len(".json")]
            with self.subTest(sku=sku):
                _, environment = self.node(sku, os.path.join(self.directory, sku))
                described, seen = muster("bind", "--sku", sku), muster("bind", **environment)
                self.assertEqual((described.returncode, seen.returncode), (0, 0), described.stderr + seen.stderr)
                self.assertEqual(plain(described), plain(seen))
                self.assertEqual(*(re.findall("^#SBATCH .*", done.stdout, re.MULTILINE) for done in (described, seen)))

    def test_device_files_are_the_drivers(self):
        root, environment = self.node()
        buses = ["0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e"]
        for bus, minor in zip(buses, [7, 6, 0, 1, 2, 3, 4, 5]):
            self.put(f"{root}/proc/driver/nvidia/gpus/{bus}:00:00.0/information",
                     f"Model: \t\t NVIDIA A100\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n")
        lines = plain(muster("bind", **environment))
        self.assertEqual([line for line in lines if line.startswith("Name=")], [
            "Name=gpu File=/dev/nvidia7 Cores=24-47",
            "Name=gpu File=/dev/nvidia6 Cores=24-47",
            "Name=gpu File=/dev/nvidia[0-1] Cores=0-23",
            "Name=gpu File=/dev/nvidia[2-3] Cores=72-95",
            "Name=gpu File=/dev/nvidia[4-5] Cores=48-71"])

    def gpus(self, *numa_nodes):
        """Their files, and what the driver says of them, beneath the directory; bus ids and minors count along."""
        for minor, node in enumerate(numa_nodes):
            device = f"{self.directory}/sys/bus/pci/devices/0000:0{minor + 1}:00.0"
            for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("numa_node", str(node))):
                self.put(f"{device}/{name}", text + "\n")

    def machine(self, *packages, allowed=None, threads=1):
        """hwloc's XML: packages of one NUMA node with these CPUs, `threads` of a core far apart in the list."""
        unique = iter(range(1, 1000))
        mask = lambda cpus: f"0x{sum(1 << cpu for cpu in cpus):x}"
        every = [cpu for cpus in packages for cpu in cpus]
        nodes = f"0x{(1 << len(packages)) - 1:x}"

        def element(kind, index, cpus, nodes, inside="", more=""):
            return (f'<object type="{kind}" os_index="{index}" cpuset="{mask(cpus)}" complete_cpuset="{mask(cpus)}" '
                    f'nodeset="{nodes}" complete_nodeset="{nodes}" gp_index="{next(unique)}" {more}>{inside}</object>')

        inside, core = "", 0
        for number, cpus in enumerate(packages):
            here, parts = f"0x{1 << number:x}", element("NUMANode", number, cpus, f"0x{1 << number:x}", more='local_memory="1"')
            for first in range(len(cpus) // threads):
                own = cpus[first::len(cpus) // threads]
                parts += element("Core", core, own, here, "".join(element("PU", cpu, [cpu], here) for cpu in own))
                core += 1
            inside += element("Package", number, cpus, here, parts)
        limits = f'allowed_cpuset="{mask(every if allowed is None else allowed)}" allowed_nodeset="{nodes}"'
        xml = self.put("topology.xml", '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">' +
                       element("Machine", 0, every, nodes, inside, limits) + "</topology>")
        return {"HWLOC_XMLFILE": xml, "HWLOC_THISSYSTEM": "1", "MUSTER_ROOT": self.directory}

    def test_two_threads_a_core_are_told_apart(self):
        self.gpus(1)
        done = muster("bind", **self.machine([0, 1, 4, 5], [2, 3, 6, 7], threads=2))
        self.assertEqual(plain(done), ["srun --ntasks-per-node=1 --cpu-bind=mask_cpu:cc", MPIRUN % 1,
                                       "Name=gpu File=/dev/nvidia0 Cores=2-3"], done.stderr)

    def test_lines_for_ranks_name_only_cpus_that_may_be_used(self):
        """And gres.conf, which is of the node and not of the job, names them all."""
        self.gpus(0, 1)
        done = muster("bind", **self.machine([0, 1, 2, 3], [4, 5, 6, 7], allowed=[1, 2, 3, 5, 6, 7]))
        self.assertEqual(plain(done), ["srun --ntasks-per-node=2 --cpu-bind=mask_cpu:e,e0", MPIRUN % 2,
                                       "Name=gpu File=/dev/nvidia0 Cores=0-3", "Name=gpu File=/dev/nvidia1 Cores=4-7"])
        self.assertIn("# 6 of 8 CPUs may be used here", done.stdout)
        self.assertIn("#SBATCH --ntasks-per-node=2 --gpus-per-node=2 --cpus-per-task=3\n", done.stdout)

    def test_a_job_script_has_the_cpus_of_its_mask_and_a_step_says_nothing_of_its_job(self):
        cpu = max(os.sched_getaffinity(0))
        self.gpus(0)
        machine = self.machine([cpu, cpu + 1])
        for variables, mask in (({}, 3), ({"SLURM_JOB_ID": "7"}, 1), ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}, 3),
                                ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967290"}, 1)):
            done = muster("bind", **machine, **variables)
            self.assertIn(f"--cpu-bind=mask_cpu:{mask << cpu:x}\n", done.stdout, variables)

    def test_a_gpu_none_of_whose_cpus_may_be_used_leaves_no_line(self):
        self.gpus(0, 1)
        done = muster("bind", **self.machine([0, 1], [2, 3], allowed=[0, 1]))
        self.assertEqual([line for line in plain(done) if not line.startswith("Name=")], [])
        self.assertIn("None of the CPUs near GPU 0000:02:00.0 may be used", done.stdout)

    def test_gpus_of_virtual_machines_are_not_counted(self):
        """Virtual functions, and a GPU that vfio-pci holds."""
        self.gpus(0, 0, 0)
        device = self.directory + "/sys/bus/pci/devices/0000:0%d:00.0"
        os.symlink("../0000:01:00.0", device % 2 + "/physfn")
        os.symlink("../../../drivers/vfio-pci", device % 3 + "/driver")
        self.assertIn("srun --ntasks-per-node=1 ", muster("bind", **self.machine([0, 1])).stdout)

    def test_packages_that_share_a_numa_node_leave_a_doubt(self):
        self.gpus(0)
        machine = self.machine([0, 1], [2, 3])
        with open(machine["HWLOC_XMLFILE"], encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r'<object type="NUMANode" os_index="1".*?</object>', "", text).replace('nodeset="0x3"', 'nodeset="0x1"')
        text = text.replace('nodeset="0x2"', 'nodeset="0x1"')
        text = re.sub(r'(<object type="NUMANode" os_index="0") cpuset="0x3" complete_cpuset="0x3"(.*?</object>)', "", text)
        node = ('<object type="NUMANode" os_index="0" cpuset="0xf" complete_cpuset="0xf" nodeset="0x1" '
                'complete_nodeset="0x1" gp_index="999" local_memory="1"/>')
        self.put("topology.xml", text.replace('<object type="Package" os_index="0"', node + '<object type="Package" os_index="0"'))
        self.assertIn("# NUMA node 0 has the CPUs of 2 packages (NUMA is off", muster("bind", **machine).stdout)

    def place(self, machine, **variables):
        """The CPUs of a command that `muster bind --exec` starts, and what it says."""
        done = muster("bind", "--exec", "--", "grep", "Cpus_allowed_list", "/proc/self/status", **machine, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()[1], done.stderr

    def test_a_rank_places_itself(self):
        cpus = sorted(os.sched_getaffinity(0))
        low, high = cpus[0], cpus[-1]
        if low == high:
            self.skipTest("one CPU only")
        self.gpus(1, 0)
        machine = self.machine([low], [high])
        for variables, cpu in (({"OMPI_COMM_WORLD_LOCAL_RANK": "0", "SLURM_LOCALID": "1"}, high), ({"SLURM_LOCALID": "1"}, low),
                               ({"SLURM_LOCALID": "0", "CUDA_VISIBLE_DEVICES": "1,0"}, low),
                               ({"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "0"}, high)):
            self.assertEqual(self.place(machine, **variables), (str(cpu), ""), variables)

    def test_a_rank_that_cannot_be_placed_starts_all_the_same(self):
        before = self.place({})[0]
        self.gpus(0)
        cpu = min(os.sched_getaffinity(0))
        for allowed, variables, why in (
                (None, {}, "no launcher has given this process a local rank"),
                ([], {"SLURM_LOCALID": "0"}, "none of the CPUs near GPU 0000:01:00.0 may be used"),
                (None, {"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "0,0,0,GPU-1"}, "CUDA_VISIBLE_DEVICES")):
            cpus, text = self.place(self.machine([cpu, 4000], allowed=allowed), **variables)
            self.assertEqual(cpus, before)
            self.assertIn("muster: bind: this rank keeps its CPUs: ", text)
            self.assertIn(why, text)

    def test_a_command_that_cannot_be_started_has_the_codes_of_a_shell(self):
        for command, code in (("/no/such/program", 127), ("/etc/passwd", 126)):
            done = muster("bind", "--exec", "--", command)
            self.assertEqual(done.returncode, code)
            self.assertIn(f"muster: {command}: ", done.stderr)
        self.assertEqual(muster("bind", "--exec").returncode, 2)
        self.assertEqual(muster("bind", "--", "true").returncode, 2)

    def test_a_machine_without_a_gpu_is_inconclusive_and_an_unknown_type_a_mistake(self):
        sets = 'os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"'
        xml = self.put("bare.xml", '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
            f'<topology version="2.0"><object type="Machine" {sets} allowed_cpuset="0x1" allowed_nodeset="0x1" '
            f'gp_index="1"><object type="NUMANode" {sets} gp_index="2" local_memory="1048576"/>'
            f'<object type="PU" {sets} gp_index="3"/></object></topology>')
        done = muster("bind", HWLOC_XMLFILE=xml, HWLOC_THISSYSTEM="1", MUSTER_ROOT=self.directory)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("no NVIDIA GPU", done.stderr)
        xml = self.put("coreless.xml", '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
            f'<topology version="2.0"><object type="Machine" {sets} allowed_cpuset="0x1" allowed_nodeset="0x1" '
            f'gp_index="1"><object type="NUMANode" {sets} gp_index="2" local_memory="1048576"/></object></topology>')
        done = muster("bind", HWLOC_XMLFILE=xml, HWLOC_THISSYSTEM="1")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("has no cores and no CPUs", done.stderr)
        done = muster("bind", "--sku", "Nobody_v1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no hardware description", done.stderr)


unittest.main(argv=sys.argv[:1])
