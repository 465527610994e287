#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster report` shows a saved report as text, JSON, JUnit XML, Markdown and HTML.

The table RULES is our own account of what Jenkins' JUnit plugin and GitLab read: which elements, which attributes, and
what each may hold.

usage: report.py MUSTER WRITE_REPORTS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, report, save

MUSTER, WRITER = sys.argv[1:3]

COUNT, SECONDS, TEXT = r"\d+", r"\d+\.\d{3}", r"[\s\S]*"
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
# element: children, required attributes, optional ones
RULES = {
    "testsuites": ({"testsuite"}, {"name": TEXT, "tests": COUNT, "failures": COUNT, "errors": COUNT, "time": SECONDS}, {}),
    "testsuite": ({"properties", "testcase"},
                  {"name": TEXT, "id": COUNT, "tests": COUNT, "failures": COUNT, "errors": COUNT, "skipped": COUNT,
                   "time": SECONDS}, {"timestamp": MOMENT, "hostname": TEXT}),
    "properties": ({"property"}, {}, {}),
    "property": (set(), {"name": r"[\s\S]+", "value": TEXT}, {}),
    "testcase": ({"failure", "error", "skipped", "system-out"}, {"name": r"[\s\S]+", "classname": r"[\s\S]+", "time": SECONDS}, {}),
    "failure": (set(), {"message": r"[\s\S]+", "type": "fail|warn"}, {}),
    "error": (set(), {"message": r"[\s\S]+", "type": "inconclusive"}, {}),
    "skipped": (set(), {"message": r"[\s\S]+"}, {}),
    "system-out": (set(), {}, {}),
}


def show(path, form, *arguments):
    return subprocess.run([MUSTER, "report", path, "--format", form, *arguments], capture_output=True, timeout=60,
                          check=False)


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.folder = cls.directory.name
        subprocess.run([WRITER, cls.folder], check=True, timeout=60)
        cls.written = [os.path.join(cls.folder, name) for name in sorted(os.listdir(cls.folder))]

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def tree(self, path):
        done = show(path, "junit")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return ElementTree.fromstring(done.stdout.decode())

    def follow(self, element):
        """The rules, from here down."""
        children, required, optional = RULES[element.tag]
        self.assertLessEqual(set(required), set(element.attrib), element.tag)
        for name, value in element.attrib.items():
            self.assertRegex(value, "^(" + {**required, **optional}[name] + ")$", f"{element.tag} {name}")
        for child in element:
            self.assertIn(child.tag, children, element.tag)
            self.follow(child)

    def count(self, root):
        total = {"tests": 0, "failures": 0, "errors": 0}
        names = [suite.get("name") for suite in root]
        self.assertEqual(len(names), len(set(names)))
        for suite in root:
            cases = suite.findall("testcase")
            found = {"tests": len(cases), "failures": len(suite.findall("testcase/failure")),
                     "errors": len(suite.findall("testcase/error")), "skipped": len(suite.findall("testcase/skipped"))}
            for key, number in found.items():
                self.assertEqual(int(suite.get(key)), number, key)
                if key in total:
                    total[key] += number
            keys = [(case.get("classname"), case.get("name")) for case in cases]
            self.assertEqual(len(keys), len(set(keys)), "one case for each check of a place")
            self.assertTrue(all(len(case) <= 1 for case in cases))
        for key, number in total.items():
            self.assertEqual(int(root.get(key)), number, key)

    def case(self, root, suite, name):
        found = root.findall(f"testsuite[@name='{suite}']/testcase[@name='{name}']")
        self.assertEqual(len(found), 1, f"{suite} {name}")
        return found[0]

    def test_every_report_is_junit_by_the_rules(self):
        self.assertGreaterEqual(len(self.written), 5)
        for path in self.written:
            root = self.tree(path)
            self.follow(root)
            self.count(root)

    def test_findings_are_failures_errors_and_skipped_cases_where_they_belong(self):
        root = self.tree(os.path.join(self.folder, "fail.json"))
        failure = self.case(root, "sim-1", "copy.h2d").find("failure")
        self.assertEqual(failure.get("message"), "expected at least 21 GB/s, observed 11.2 GB/s, 36 % of PCIe 4.0 x16 (31.5 GB/s)")
        self.assertEqual(len(self.case(root, "sim-2", "ib.state")), 0, "it passed there")
        self.assertIsNone(root.find("testsuite/testcase[@name='ring.one_node']"), "it is for other runs")
        properties = {p.get("name"): p.get("value") for p in root.findall("testsuite[@name='job']/properties/property")}
        self.assertEqual(properties["kind.copy.h2d"], "FAIL 1 node sim-1 reset-gpu")
        self.assertEqual(properties["kind.ring.busbw"], "warn whole job")
        self.assertEqual(properties["not_for_this_run"], "1 check")

    def test_hostile_names_stay_text(self):
        names = ["<script>&amp;\"'", "]]><!--", "\x01\x1b[31m\ud7ff", "\uffff\ufffe|x|", "e\u0301 \U0001f600 @all", "?a"]
        path = save(self.folder, "hostile.made", report(names, [finding("fail", name, name, observed=name, advice=name)
                                                                for name in names]))
        root = self.tree(path)
        self.follow(root)
        self.count(root)
        self.assertEqual([suite.get("name") for suite in root],
                         ["job", names[0], names[1], "\\x01\\x1b[31m\ud7ff", "\ufffd\ufffd|x|", names[4], "?a"])
        self.assertEqual(root.get("failures"), "6")
        text = show(path, "markdown").stdout.decode()
        rows = [line for line in text.splitlines() if line.startswith("| fail")]
        self.assertEqual(len(rows), 12, "a kind and a finding for each")
        for row in rows:
            self.assertIn(len(re.findall(r"(?<!\\)\|", row)), (6, 7), row)
            self.assertNotRegex(row, "[\x00-\x1f<@]")

    def test_no_format_for_people_has_the_word_null(self):
        """JSON has it, and reports of an older muster had it in their texts too."""
        old = save(self.folder, "old.made", report(["n1", "n2"], [
            finding("inconclusive", "x", "n1", observed="null: no answer"), finding("skip", "y", "n1", observed="z is null (no link)")]))
        recorded = sorted((Path(__file__).parent.parent / "gpu" / "recorded").glob("*.json"))
        self.assertGreaterEqual(len(recorded), 5)
        self.assertTrue(any('"observed": "null: ' in path.read_text() for path in recorded), "else the old texts are not tried")
        for path in [old, *self.written, *recorded]:
            for form in ("text", "junit", "markdown", "html", "prometheus"):
                for more in ((), ("--inventory",)) if form in ("text", "markdown", "html") else ((),):
                    done = show(path, form, *more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotRegex(done.stdout.decode().replace("/dev/null", ""), r"(?i)\bnull\b", f"{path} {form} {more}")
        self.assertIn("observed  no value: no answer", show(old, "text").stdout.decode())
        self.assertIn("z has no value (no link)", show(old, "html").stdout.decode())
        pairs = [subprocess.run([MUSTER, "diff", a, b], capture_output=True, text=True, timeout=60, check=False).stdout
                 for a in self.written for b in self.written]
        self.assertTrue(any("no value (" in text for text in pairs), "else no value came or went")
        for text in pairs:
            self.assertNotRegex(text.replace("/dev/null", ""), r"(?i)\bnull\b")

    def test_json_is_the_report_itself(self):
        """But for the program that has written it."""
        writer = re.compile(rb'^  "muster": "[^"]*",$', re.M)
        for path in self.written:
            with open(path, "rb") as file:
                self.assertEqual(writer.sub(b"", show(path, "json").stdout, 1), writer.sub(b"", file.read(), 1), path)

    def test_markdown_is_short_and_whole(self):
        text = show(os.path.join(self.folder, "fail.json"), "markdown").stdout.decode()
        self.assertTrue(text.startswith("### muster: FAIL\n"))
        self.assertIn("\n| fail | copy.h2d | sim-1, GPU 4 \\(000b:00:00.0\\), rank 4 | at least 21 GB/s | 11.2 GB/s, 36 % of PCIe 4.0 x16 \\(31.5 GB/s\\) | ", text)
        self.assertIn("\n| copy.h2d | 11.2 | 26.1 | GB/s | 36 to 83 % of PCIe 4.0 x16 | at least 21 GB/s |\n", text)
        tables = [line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")]
        self.assertLessEqual(set(tables), {3, 7})
        many = save(self.folder, "many.made", report([f"n{i}" for i in range(99)],
                                                     [finding("fail", "x", f"n{i}") for i in range(99)]))
        text = show(many, "markdown").stdout.decode()
        self.assertIn("\nand 49 more, all of them in the JSON report.\n", text)
        self.assertLess(len(text.splitlines()), 70)

    def test_text_is_the_summary_and_a_pass_is_no_exit_code(self):
        done = show(os.path.join(self.folder, "fail.json"), "text")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(b"FAIL: 2 of 2 nodes failed.\nTo exclude the failed nodes, use this option; "
                                               b"the command prints it again:\n  --exclude=sim-[1-2]\n  muster nodes "), done.stdout)
        self.assertTrue(done.stdout.endswith(b"/fail.json\n"), "the line for scripts is the last one")
        self.assertIn(b"\n51 results: 10 passed, ", done.stdout)

    def test_the_inventory_takes_the_place_of_the_summary(self):
        path = os.path.join(self.folder, "fail.json")
        for form, heading in (("text", "Topology by rank"), ("markdown", "#### Topology by rank")):
            done = show(path, form, "--inventory")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            lines = done.stdout.decode().splitlines()
            self.assertIn(heading, lines)
            self.assertRegex(lines[0], "FAIL")
            self.assertFalse([line for line in lines if "copy.h2d" in line])
            if form == "text":
                self.assertLessEqual(max(map(len, lines)), 120)
                self.assertTrue([line for line in lines if re.match(r"\[\d+\] no message within 60 s$", line)], lines)
        page = show(path, "html", "--inventory").stdout.decode()
        self.assertEqual(re.findall("<(?:header|section) id='([a-z]+)'", page), ["verdict", "machines", "inventory", "nodes"])
        for form in ("json", "junit"):
            done = show(path, form, "--inventory")
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"--inventory needs --format text", done.stderr)

    def test_output_is_written_whole_or_not_at_all(self):
        path, target = os.path.join(self.folder, "fail.json"), os.path.join(self.folder, "out.xml")
        self.assertEqual(show(path, "junit", "--output", target).stdout, b"")
        self.assertEqual(ElementTree.parse(target).getroot().tag, "testsuites")
        os.unlink(target)
        lost = show(path, "junit", "--output", os.path.join(self.folder, "none", "out.xml"))
        self.assertEqual(lost.returncode, 2)
        self.assertRegex(lost.stderr, rb"\Amuster: [^\n]*out.xml: the folder [^\n]*none does not exist\n\Z")
        self.assertEqual(show(path, "junit", "--output", "/dev/full").returncode, 3)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MUSTER, "report", path], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 3)
        for arguments, said in ((["x.json"], b"No such file"), ([], b"no report given"),
                                ([path, "--format", "pdf"], b"html or prometheus")):
            done = subprocess.run([MUSTER, "report", *arguments], capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(said, done.stderr)


class Anonymous(unittest.TestCase):
    """A report of a site whose names are all over it."""

    SECRETS = ["acme", "alice", "westmars", "10.20.30.40", "0x8abc", "GPU-12345678-1234", "987654"]

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.folder = cls.directory.name
        cls.path = os.path.join(cls.folder, "report.json")
        subprocess.run([MUSTER, "sim", "--sku", "Standard_NC40ads_H100_v5", "--nodes", "3", "--report", cls.path,
                        "--fault", "placement-group@node2=acme-west", "--fault", "net-bad@node3=error",
                        "--fault", "driver-drift@node2=580.1.1",
                        "--fault", "env@node1=NCCL_TOPO_FILE=/home/alice/topology/acme-7.xml",
                        "--fault", "env@node1=NCCL_HOSTID=acme", "--", "--profile", "quick"],
                       capture_output=True, timeout=100, check=False)
        text = Path(cls.path).read_text(encoding="utf-8")
        text = text.replace("sim-[1-2]", "acme-gpu-[01-02]").replace("sim-", "acme-gpu-0")
        text = text.replace('"value": "simulation"', '"value": "westmars"').replace('"id": "1"', '"id": "987654"')
        whole = json.loads(text)
        first = whole["run"]["nodes"][0]
        first["ranks"][0]["gpu_uuid"] = "GPU-12345678-1234-1234-1234-123456789abc"
        first["samples"].append({"metric": "port.pkeys", "labels": {"port": "mlx5_0/1", "link_layer": "InfiniBand"},
                                 "value": "0x8abc 0x7fff"})
        first["ranks"][0]["probes"][0]["evidence"] = "acme-login:12:13 [0] NCCL WARN 10.20.30.40<99>: see /acme/alice/log"
        Path(cls.path).write_text(json.dumps(whole), encoding="utf-8")
        cls.other = os.path.join(cls.folder, "anonymous.json")
        done = show(cls.path, "json", "--anonymous", "--output", cls.other)
        assert done.returncode == 0, done.stderr
        with open(cls.path, encoding="utf-8") as before, open(cls.other, encoding="utf-8") as after:
            cls.before, cls.after = json.load(before), json.load(after)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_no_name_is_left_in_any_format(self):
        for form, *more in (["json"], ["text"], ["junit"], ["markdown"], ["html"], ["text", "--inventory"],
                            ["markdown", "--inventory"], ["html", "--inventory"]):
            text = show(self.path, form, "--anonymous", *more).stdout.decode()
            self.assertEqual([secret for secret in self.SECRETS if secret in text], [], form)
            self.assertIn("node-2" if more else "node-3", text)
        plain = show(self.path, "json").stdout.decode()
        self.assertEqual([secret for secret in self.SECRETS if secret not in plain], [], "the test itself")

    def test_nothing_else_is_lost(self):
        self.assertEqual([node["name"] for node in self.after["run"]["nodes"]], ["node-1", "node-2", "node-3"])

        def shape(value):
            if isinstance(value, dict):
                return {key: shape(member) for key, member in value.items()}
            if isinstance(value, list):
                return [shape(member) for member in value]
            return type(value).__name__ if isinstance(value, str) else value

        for key in ("findings", "checks", "summary", "verdict", "run"):
            self.assertEqual(shape(self.before[key]), shape(self.after[key]), key)

    def test_it_is_evaluated_as_before(self):
        def evaluated(path):
            out = os.path.join(self.folder, "evaluated.json")
            done = subprocess.run([MUSTER, "check", path, "--report", out], capture_output=True, timeout=60, check=False)
            result = json.loads(Path(out).read_text(encoding="utf-8"))
            return done.returncode, result["summary"]["count"], \
                [(f["check"], f["status"], f["where"].get("rank")) for f in result["findings"]]

        self.assertEqual(evaluated(self.path), evaluated(self.other))
        self.assertEqual(evaluated(self.path)[0], 1)
        groups = [s["value"] for node in self.after["run"]["nodes"] for s in node["samples"]
                  if s["metric"] == "node.placement_group"]
        self.assertEqual(groups, ["placement-group-1", "placement-group-2", "placement-group-1"])

    def test_an_anonymous_report_stays_as_it_is(self):
        again = json.loads(show(self.other, "json", "--anonymous").stdout)
        self.assertEqual([node["name"] for node in again["run"]["nodes"]], ["node-1", "node-2", "node-3"])
        self.assertEqual(again["findings"], self.after["findings"])


unittest.main(argv=sys.argv[:1])
