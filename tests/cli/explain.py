#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster explain`: each id of each shipped file has a meaning, a reason and something to do.

usage: explain.py MUSTER SOURCE
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
A100, H200 = "Standard_ND96asr_v4", "Standard_ND96isr_H200_v5"


def muster(*arguments):
    return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=60, check=False)


def listed(*kinds):
    return json.loads(muster("explain", "--list", *kinds, "--format", "json").stdout)


def explained(kind, *more):
    """{id: entry}, of all ids of the kind; a command takes 1000 words."""
    ids = [entry["id"] for entry in listed(kind)]
    entries = []
    for at in range(0, len(ids), 500):
        words = [word for name in ids[at:at + 500] for word in (kind, name)]
        entries += json.loads(muster("explain", *words, *more, "--format", "json").stdout)
    return {entry["id"]: entry for entry in entries}


def configs():
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(SOURCE, "configs").glob("*.json"))]


class Complete(unittest.TestCase):
    """By the files themselves, not by the program."""

    def has(self, entry, *keys):
        for key in keys:
            self.assertTrue(entry.get(key), (entry["kind"], entry["id"], key))

    def test_each_check_of_each_file_is_explained_for_each_machine_type(self):
        ids = {name for file in configs() for name, check in file.get("checks", {}).items() if check is not None}
        checks = explained("check")
        self.assertEqual(set(checks), ids)
        for entry in checks.values():
            self.has(entry, "means", "metric", "probe", "machine_types", "types")
            for variant in entry["types"]:
                for key in ("skus", "do", "action_code", "who", "usual_causes", "expected", "otherwise", "why", "measured_in"):
                    self.assertTrue(variant[key], (entry["id"], key))
                self.assertNotIn("${", variant["do"])

    def test_each_event_is_explained(self):
        (tables,) = (file["events"] for file in configs() if "events" in file)
        for kind, table in (("xid", "xid"), ("sxid", "sxid"), ("event", "kernel")):
            entries = explained(kind)
            self.assertEqual(list(entries), list(tables[table]))
            for entry in entries.values():
                self.has(entry, "means", "class", "do", "action_code", "who", "counts_until", "why", "check", "probe")
                self.assertIn({"warn": "warns", "fail": "fails", "note": "note"}[tables[table][entry["id"]]["class"]], entry["class"])

    def test_each_metric_and_each_probe_is_explained(self):
        metrics = json.loads(muster("metrics", "--json").stdout)
        entries = explained("metric")
        self.assertEqual(list(entries), [metric["name"] for metric in metrics])
        for entry in entries.values():
            self.has(entry, "means", "value", "probe", "measured_in", "checks")
        probes = explained("probe")
        self.assertEqual(set(probes), {metric["probe"] for metric in metrics} | {"nccl_split"})
        for entry in probes.values():
            self.has(entry, "means", "runs_on", "measured_in")

    def test_each_finding_of_a_simulated_fault_is_explained(self):
        found = set()
        for path in Path(SOURCE, "tests", "scenarios").glob("*.json"):
            found |= set(re.findall(r'"((?:probe|rank|node|run|sku|ring)\.[a-z_0-9.]+)"', path.read_text(encoding="utf-8")))
        findings = explained("finding")
        self.assertIn("ring.suspect", found)
        self.assertEqual(found - set(findings) - {entry["id"] for entry in listed("check", "metric")}, set())
        for entry in findings.values():
            self.has(entry, "means", "why", "do")

    def test_each_word_of_a_report_is_explained(self):
        schema = json.loads(Path(SOURCE, "docs/expectations.schema.json").read_text(encoding="utf-8"))["$defs"]
        words = {"certainty": set(schema["check"]["properties"]["certainty"]["enum"]) - {None}, "exit": set("0123"),
                 "action": set(schema["action_code"]["enum"]) - {None},
                 "status": {"pass", "warn", "fail", "skip", "n/a", "inconclusive", "blocked"},
                 "profile": {"quick", "standard", "full"}, "proof": {"soft", "hard"}}
        for kind, ids in words.items():
            entries = explained(kind)
            self.assertEqual(set(entries), ids)
            for entry in entries.values():
                self.has(entry, "means", *(("who", "node_empty") if kind == "action" else ("why", "do")))

    def test_each_operator_is_explained(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            known = set()
            for metric in "node.gpu_count", "node.driver_version":
                Path(file.name).write_text(json.dumps({"schema_version": 1, "name": "t", "checks": {
                    "a": {"metric": metric, "source": "s"}}}), encoding="utf-8")
                known |= set(re.search("give one of (.*)", muster("lint", file.name).stdout)[1].split(", "))
        self.assertEqual({entry["id"] for entry in listed("operator")} - {"no_event"}, known - {"no_event"})

    def test_groups_have_causes_and_no_check_is_outside(self):
        entries = explained("group")
        inside = [name for entry in entries.values() for name in entry.get("checks", "").split(", ")]
        self.assertEqual(sorted(name for name in inside if name),
                         sorted(entry["id"] for entry in listed("check", "finding")))
        for entry in entries.values():
            self.has(entry, "means", "usual_causes")

    def test_the_page_about_action_codes_has_the_same_words(self):
        page = Path(SOURCE, "docs/reference/action-codes.md").read_text(encoding="utf-8")
        rows = {cells[1].strip(" `"): [cell.strip().replace("`", "") for cell in cells[2:5]]
                for cells in (line.split("|") for line in page.partition("\n## ")[0].splitlines()) if len(cells) == 6}
        for name, entry in explained("action").items():
            self.assertEqual(rows[name], [entry["means"], entry["who"], entry["node_empty"]])


class Found(unittest.TestCase):
    def test_an_event_is_found_however_it_is_written(self):
        expected = muster("explain", "xid", "79").stdout
        self.assertIn("Xid 79: GPU has fallen off the bus\n", expected)
        for words in (["xid 79"], ["xid-79"], ["XID-79"], ["xid79"], ["79"], ["Xid", "79"]):
            self.assertEqual(muster("explain", *words).stdout, expected, words)
        self.assertIn("SXid 12028: ", muster("explain", "sxid", "12028").stdout)
        self.assertIn("kernel event link-flap: ", muster("explain", "link-flap").stdout)
        self.assertIn("exit code 3: inconclusive", muster("explain", "exit", "3").stdout)

    def test_a_case_without_an_entry_is_its_number(self):
        self.assertIn("Xid 149: ", muster("explain", "xid-149-fatal").stdout)
        self.assertIn("Xid 149-nonfatal: ", muster("explain", "xid", "149-nonfatal").stdout)
        result = muster("explain", "xid", "999")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn('no table has the event "xid-999": it warns', result.stderr)
        self.assertIn('nothing is called "xid"', muster("explain", "xid").stderr)

    def test_an_id_of_two_kinds_is_explained_twice(self):
        heads = [line for line in muster("explain", "step").stdout.splitlines() if not line.startswith(" ") and line]
        self.assertEqual([line.partition(":")[0] for line in heads], ["probe step", "group of checks step"])
        self.assertNotIn("group", muster("explain", "probe", "step").stdout)

    def test_several_ids_come_in_their_order(self):
        ids = ["reset-gpu", "IB.State", "rank.missing"]
        self.assertEqual([entry["id"] for entry in json.loads(muster("explain", *ids, "--format", "json").stdout)],
                         ["reset-gpu", "ib.state", "rank.missing"])

    def test_an_unknown_id_is_named_with_those_near_to_it(self):
        result = muster("explain", "copy.h2", "ib.state")
        self.assertEqual((result.returncode, result.stdout), (2, muster("explain", "ib.state").stdout))
        self.assertIn('nothing is called "copy.h2"; did you mean "copy.h2d"', result.stderr)

    def test_wrong_use_is_one_line(self):
        for words, said in (([], "an id is needed"), (["ib.state", "--overlay", "x.json"], "--overlay needs --sku"),
                            (["--list", "nothing"], '"nothing" is no kind of ids: give one of check, '),
                            (["ib.state", "--sku", "none"], '"none"')):
            result = muster("explain", *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)


def expected_of(sku, check):
    return json.loads(muster("skus", sku, check, "--format", "json").stdout)["checks"][0]["expected"]


class MachineTypes(unittest.TestCase):
    def test_without_a_machine_type_the_values_of_all_are_shown(self):
        text = " ".join(muster("explain", "copy.h2d").stdout.split())
        self.assertNotEqual(expected_of(A100, "copy.h2d"), expected_of(H200, "copy.h2d"))
        for sku in A100, H200:
            self.assertIn(f"{sku[len('Standard_'):]}: {expected_of(sku, 'copy.h2d')} ", text)
        self.assertIn("muster explain copy.h2d --sku NAME", text)

    def test_of_one_machine_type_only_its_own_value_is_shown(self):
        text = " ".join(muster("explain", "copy.h2d", "--sku", H200).stdout.split())
        self.assertIn(f"expected {expected_of(H200, 'copy.h2d')} otherwise fail", text)
        self.assertNotIn(expected_of(A100, "copy.h2d"), text)
        self.assertIn("check copy.h2d: host to device do GPU <gpu>", text)
        self.assertNotIn("machine types", text)
        result = muster("explain", "ring.gdr", "--sku", "Standard_NC24ads_A100_v4")
        self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_where_titles_differ_a_check_means_what_its_metric_does(self):
        self.assertIn("copy.h2d: host to device, alone on its path\n", muster("explain", "copy.h2d").stdout)
        self.assertIn("copy.h2d: host to device\n", muster("explain", "copy.h2d", "--sku", H200).stdout)

    def test_a_check_of_an_overlay_is_explained(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps({"checks": {"site.driver": {"metric": "node.driver_version", "one_of": ["580.*"], "source": "our image",
                                                              "title": "our driver", "action_code": "fix-settings"}}}))
            file.flush()
            text = muster("explain", "site.driver", "--sku", A100, "--overlay", file.name).stdout
        self.assertIn("check site.driver: our driver\n", text)
        self.assertIn("  why            our image\n", text)

    def test_which_runs_measure_it_is_said(self):
        runs = {"gpu.h2d_gbps": "every profile", "gpu.gemm_bf16_tflops": "profile standard or full",
                "rank.step_p50_ms": "profile standard or full", "pair.exchange_gbps": "every profile; in quick only between nodes", "port.state": "every profile"}
        for name, expected in runs.items():
            self.assertIn(f"  measured in    {expected}\n", muster("explain", name).stdout, name)
        self.assertIn("with --storage", muster("explain", "gpu_stream").stdout)


class Listed(unittest.TestCase):
    def test_each_listed_name_is_found(self):
        names = [line.split()[1] for line in muster("explain", "--list").stdout.splitlines()]
        names = [name for name in names if name not in ("probe", "sku")]  # also kinds, and then the next word is an id of these
        self.assertGreater(len(names), 1000)
        for at in range(0, len(names), 1000):
            self.assertEqual(muster("explain", *names[at:at + 1000]).returncode, 0)

    def test_only_the_given_kinds_are_listed(self):
        lines = muster("explain", "--list", "exit", "proof").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines],
                         [["exit", "exit-0"], ["exit", "exit-1"], ["exit", "exit-2"], ["exit", "exit-3"], ["proof", "hard"], ["proof", "soft"]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
