#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped expectation files against the simulated hardware, and against docs/reference/machine-types.md.

usage: configs.py MUSTER SOURCE          test
       configs.py MUSTER SOURCE --write  write the table in docs/reference/machine-types.md anew
"""

import json
import math
import os
import subprocess
import sys
import unittest
from pathlib import Path

MUSTER, SOURCE = sys.argv[1:3]
CONFIGS, HARDWARE = os.path.join(SOURCE, "configs"), os.path.join(SOURCE, "src", "sim", "hardware")
MIB = 1 << 20
PROFILES = {"quick": [64], "standard": [8, 64, 256, 512], "full": [8, 64, 256, 512, 1024, 2048, 4096, 8192]}
CERTAINTIES = ("measured", "threshold", "specified", "inferred")
BEGIN, END = "<!-- certainties: begin -->\n", "<!-- certainties: end -->\n"
PAGE = Path(SOURCE, "docs", "reference", "machine-types.md")


def merge(base, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def load(folder, name):
    value = json.loads(Path(folder, name if name.endswith(".json") else name + ".json").read_text(encoding="utf-8"))
    return merge(load(folder, value["extends"]), value) if "extends" in value else value


MACHINES = sorted(name[:-5] for name in os.listdir(HARDWARE))


def busbw(rows, domains, nodes, size):
    """GB/s of a healthy all-reduce, as the simulation has it."""
    if domains > 1 and nodes > domains:  # racks: nodes side by side, up to what one rack reaches
        return min(busbw(rows, domains, domains, size) * (nodes // domains), busbw(rows, 1, nodes, size))
    fits = [row for row in rows if (row["domains"], row["nodes"]) <= (domains, nodes)] or rows[:1]
    last = max((row["domains"], row["nodes"]) for row in fits)
    table = [row for row in rows if (row["domains"], row["nodes"]) == last]
    for low, high in zip(table, table[1:]):
        if low["bytes"] <= size <= high["bytes"]:
            share = math.log(size / low["bytes"]) / math.log(high["bytes"] / low["bytes"])
            return low["busbw_gbps"] + share * (high["busbw_gbps"] - low["busbw_gbps"])
    return table[-1]["busbw_gbps"]


def holds(condition, value):
    if isinstance(condition, dict):
        return condition.get("min", value) <= value <= condition.get("max", value)
    return condition is None or value in (condition if isinstance(condition, list) else [condition])


def line_rate(machine, nodes, domains):
    """GB/s of a ring between racks."""
    hardware = load(HARDWARE, machine)
    network = sum(float(kind["rate"].split()[0]) / 8 * len(kind["devices"]) for kind in hardware["adapters"]
                  if kind["link_layer"] == "InfiniBand") * (nodes // domains)
    return min(network, hardware["gpu"]["nvlinks"] * hardware["gpu"]["nvlink_mbps"] / 1e3)


def limits(machine, checks, profile, nodes, domains, ranks, size):
    """The highest fail and warning limit of an all-reduce of this size in such a run: (fail, warn), None without."""
    run = {"nodes": nodes, "domains": domains, "ranks": ranks}
    fail = warn = None
    for check in checks.values():
        where, when = check.get("where", {}), check.get("when", {})
        if check["metric"] != "nccl.allreduce_busbw_gbps" or where.get("bytes", size) != size:
            continue
        if any(where.get(key, run[key]) != run[key] or not holds(when.get(key), run[key]) for key in run) \
                or not holds(when.get("profile"), profile):
            continue
        scale = line_rate(machine, nodes, domains) if "share_of" in check else 1
        fail = max(fail or 0, check["min"] * scale) if "min" in check else fail
        if "warn_below" in check:
            warn = max(warn or 0, check["warn_below"] * scale)
    return fail, warn


def runs(machine, counts):
    """(nodes, domains, ranks) of the runs on so many nodes that reduce anything."""
    hardware = load(HARDWARE, machine)
    gpus = len(hardware["gpu"]["devices"])
    for nodes in counts:
        kinds = {1, nodes} if 0 < nodes <= hardware["rack_nodes"] else {nodes}
        for domains in sorted(kinds):
            if nodes * gpus > 1:
                yield nodes, domains, nodes * gpus


class Rings(unittest.TestCase):
    def test_each_size_of_each_profile_has_a_limit_for_any_number_of_nodes(self):
        for machine in MACHINES:
            checks = load(CONFIGS, machine)["checks"]
            for nodes, domains, ranks in runs(machine, (1, 2, 3, 4, 8, 9, 16, 100, 1000)):
                for profile, sizes in PROFILES.items():
                    for size in sizes:
                        fail, warn = limits(machine, checks, profile, nodes, domains, ranks, size * MIB)
                        ethernet = "ring.nodes" in checks and nodes > 1
                        case = (machine, nodes, domains, profile, size)
                        if not ethernet or size in (64, 512, 8192):
                            self.assertIsNotNone(warn, case)
                            self.assertTrue(fail is None or fail < warn, case)

    def test_a_ring_may_fail_where_one_was_measured(self):
        """Per machine type: nodes and sizes in MiB, from which a ring can fail a run of the full profile."""
        expected = {"Standard_ND96asr_v4": {1: 8, 2: 8, 3: 8, 9: None}, "Standard_ND96isr_H100_v5": {1: 8, 2: 8, 8: 8, 16: 64, 17: 512, 249: None},
                    "Standard_ND128isr_NDR_GB200_v6": {1: 8, 2: 256, 18: 256}, "Standard_NC80adis_H100_v5": {1: 8192, 2: None}}
        for machine, spans in expected.items():
            checks, gpus = load(CONFIGS, machine)["checks"], len(load(HARDWARE, machine)["gpu"]["devices"])
            racks = load(HARDWARE, machine)["rack_nodes"]
            for nodes, smallest in spans.items():
                can = [size for size in PROFILES["full"] if limits(
                    machine, checks, "full", nodes, 1 if racks else nodes, nodes * gpus, size * MIB)[0] is not None]
                self.assertEqual(min(can) if can else None, smallest, (machine, nodes))

    def test_a_healthy_ring_passes_and_one_at_a_quarter_does_not(self):
        for machine in MACHINES:
            checks, rows = load(CONFIGS, machine)["checks"], load(HARDWARE, machine)["allreduce"]
            for nodes, domains, ranks in runs(machine, (1, 2, 3, 4)):
                for size in PROFILES["full"]:
                    healthy = busbw(rows, domains, nodes, size * MIB)
                    fail, warn = limits(machine, checks, "full", nodes, domains, ranks, size * MIB)
                    case = (machine, nodes, domains, size, healthy, fail, warn)
                    self.assertGreater(healthy, 1.005 * (warn or 0), case)
                    if "ring.nodes" in checks and nodes > 1 and size not in (64, 512, 8192):
                        continue
                    if size >= 64 and not (domains > 1 and machine.startswith("Standard_ND128") and size == 64):
                        self.assertLess(healthy / 4, warn, case)

    def test_the_documented_shares_of_the_line_rate(self):
        """60 % of what all ports of a node carry at 512 MiB and more, up to eight nodes."""
        for machine, rate in (("Standard_ND96asr_v4", 200), ("Standard_ND96isr_H200_v5", 400)):
            checks = load(CONFIGS, machine)["checks"]
            for nodes in (2, 3, 8):
                for size in (512, 1024, 2048, 4096, 8192):
                    warn = limits(machine, checks, "full", nodes, nodes, 8 * nodes, size * MIB)[1]
                    self.assertGreaterEqual(warn, 0.6 * rate, (machine, nodes, size))


FIGURES = ("memory_write_gbps", "memory_read_gbps", "gemm_bf16_tflops", "gemm_fp64_tflops", "gemm_fp8_tflops")
OPERATIONS = {(8, 0): 2048, (9, 0): 4096}  # of a multiprocessor in one clock, BF16


def load_limits(machine, figure):
    """What the checks of a GPU under load need of a figure: [(check, fail, warn)], None without."""
    gpu = load(HARDWARE, machine)["gpu"]
    operations = OPERATIONS.get((gpu["compute_major"], gpu["compute_minor"]), 0)
    whole = {"gpu.memory_limit_gbps": gpu["memory_bus_bits"] / 8 * gpu["mem_clock_max_mhz"] * 2 / 1e3,
             "gpu.matmul_bf16_limit_tflops": operations * gpu["multiprocessors"] * gpu["sm_clock_max_mhz"] / 1e6}
    for name, check in load(CONFIGS, machine)["checks"].items():
        if check["metric"] != "gpu." + figure or not {"min", "warn_below"} & set(check):
            continue
        limit = whole[check["share_of"]] if "share_of" in check else 1
        if limit > 0 and not gpu["mig"]:  # of a part of a GPU no limit is known
            yield name, check["min"] * limit if "min" in check else None, check["warn_below"] * limit


class Loads(unittest.TestCase):
    def test_healthy_figures_pass_and_a_third_of_them_fails(self):
        judged = set()
        for machine in MACHINES:
            for figure in FIGURES:
                healthy = load(HARDWARE, machine)["gpu"][figure]
                for name, fail, warn in load_limits(machine, figure):
                    case = (machine, name, healthy, fail, warn)
                    judged.add((machine, figure))
                    self.assertGreater(healthy, 1.02 * warn, case)
                    self.assertLess(healthy / 3, fail or warn, case)
                    self.assertTrue(fail is None or fail < warn, case)
        whole = [machine for machine in MACHINES if not load(HARDWARE, machine)["gpu"]["mig"]]
        for figure in FIGURES[:3]:
            self.assertEqual([machine for machine in MACHINES if (machine, figure) in judged], whole, figure)

    def test_memory_at_two_thirds_fails(self):
        for machine in MACHINES:
            for figure in FIGURES[:2]:
                for name, fail, _ in load_limits(machine, figure):
                    self.assertLess(load(HARDWARE, machine)["gpu"][figure] * 2 / 3, fail, (machine, name))

    def test_fp64_of_nd_a100_only_warns(self):
        for machine in ("Standard_ND96asr_v4", "Standard_ND96amsr_A100_v4"):
            self.assertEqual(list(load_limits(machine, "gemm_fp64_tflops")), [("load.fp64", None, 17)])


# ---- docs/reference/machine-types.md ----

def certainties(machine):
    """What `muster skus` says of the machine type's own checks: {certainty: number}."""
    sku = json.loads(subprocess.run([MUSTER, "skus", machine, "--format", "json"], capture_output=True, check=True).stdout)
    own = [check for check in sku["checks"] if check["file"] != sku["checks"][0]["file"]
           or any(change["key"] != "after" for change in check["changes"])]
    return {word: sum(check["certainty"] == word for check in own) for word in CERTAINTIES}, own


def table():
    lines = ["| machine type | measured | threshold | specified | inferred |", "|---|---|---|---|---|"]
    for machine in MACHINES:
        count, _ = certainties(machine)
        lines.append(f"| {machine[len('Standard_'):]} | " + " | ".join(str(count[word]) for word in CERTAINTIES) + " |")
    return "\n" + "\n".join(lines) + "\n\n"


def split(text):
    before, _, rest = text.partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before + BEGIN, inside, END + after


class Documented(unittest.TestCase):
    def test_the_table_is_that_of_the_files(self):
        self.assertEqual(split(PAGE.read_text(encoding="utf-8"))[1], table(), "write it anew: tests/cli/configs.py build/muster . --write")

    def test_the_uncertain_checks_are_inferred_and_warn(self):
        for machine in MACHINES:
            done = subprocess.run([MUSTER, "skus", machine, "--uncertain", "--format", "json"], capture_output=True, check=True)
            checks = load(CONFIGS, machine)["checks"]
            for name in (check["check"] for check in json.loads(done.stdout)["checks"]):
                self.assertEqual(checks[name]["certainty"], "inferred", (machine, name))
                self.assertTrue(checks[name].get("severity") == "warn" or not {"min", "max"} & set(checks[name]), (machine, name))

    def test_each_check_says_how_certain_it_is(self):
        for machine in MACHINES:
            for name, check in load(CONFIGS, machine)["checks"].items():
                self.assertIn(check.get("certainty"), CERTAINTIES, (machine, name))


if __name__ == "__main__":
    if sys.argv[3:] == ["--write"]:
        before, _, after = split(PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(before + table() + after, encoding="utf-8")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
