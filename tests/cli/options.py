#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the options of all commands have in common: suggestions, --output, --format, -, --, helps; and lines that users of
small runs read.

usage: options.py MUSTER SOURCE
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MUSTER, SOURCE = (os.path.abspath(word) for word in sys.argv[1:3])
SKU = "Standard_ND96asr_v4"
SMALL = "Standard_NC40ads_H100_v5"  # one GPU
COMMANDS = ("run", "node", "check", "assemble", "sim", "metrics", "skus", "lint", "bind", "report", "baseline", "diff", "history", "history add",
            "history flapping", "history worst", "history diff", "history trial", "nodes", "drain", "resume", "ticket", "version")


def setUpModule():
    global PLACE
    PLACE = tempfile.mkdtemp(prefix="muster-test-")
    unittest.addModuleCleanup(shutil.rmtree, PLACE)
    for name, *words in (("one.json", "--sku", SMALL, "--alone"), ("a100.json", "--sku", SKU, "--nodes", "3", "--profile", "quick"),
                         ("bad.json", "--sku", SKU, "--nodes", "3", "--profile", "quick", "--fault", "ib-down@node1/mlx5_ib3",
                          "--fault", "ib-down@node2/mlx5_ib3")):
        done = muster("sim", *words, "--report", name)
        assert done.returncode in (0, 1), done.stderr


def muster(*words, **more):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=200, cwd=PLACE, check=False, **more)


class Names(unittest.TestCase):
    def test_what_is_mistyped_gets_a_suggestion(self):
        for words, said in (
                (("report", "one.json", "--fromat", "json"), '--fromat; did you mean "--format"?'),
                (("run", "--profil", "quick"), '--profil; did you mean "--profile"?'),
                (("nodes", "one.json", "-o", "x"), '-o; did you mean "--output"?'),
                (("sim", "--sku", SKU, "--fualt", "x"), '--fualt; did you mean "--fault"?'),
                (("sim", "--sku", SKU, "--profil", "quick"), '--profil; did you mean "--profile"?'),
                (("report", "one.json", "--profile", "quick"), "--profile is an option of muster run, muster node,"),
                (("run", "--nodes", "4"), "--nodes is an option of muster sim "),
                (("version", "x"), "unexpected argument 'x' (usage: muster version)"),
                (("--version", "x"), "unexpected argument 'x' (usage: muster version)"),
                (("runn",), 'unknown command "runn"; did you mean "run"? ('),
                (("metrics", "gpu.h2d"), 'did you mean "gpu.h2d_gbps", '),
                (("baseline", "one.json", "--output", "-", "--metric", "gpu.h2d"), 'did you mean "gpu.h2d_gbps", '),
                (("sim", "--sku", "Standard_ND96isr_H100"), 'did you mean "Standard_ND96isr_H100_v5"'),
                (("bind", "--sku", "Standard_ND96isr_H100"), 'did you mean "Standard_ND96isr_H100_v5"'),
                (("sim", "--sku", SKU, "--fault", "hbm@node1"), 'did you mean "hbm-slow"'),
                (("sim", "--sku", SKU, "--fault", "ib-down@node1/mlx5_0"), "its devices are mlx5_"),
                (("history", "worse"), 'no such question: "worse"; did you mean "worst"')):
            done = muster(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_an_old_spelling_works_and_names_the_new_one_once(self):
        for old, new, said in ((("metrics", "--json"), ("metrics", "--format", "json"), "--json is now --format json"),
                               (("skus", "--json"), ("skus", "--format", "json"), "--json is now --format json"),
                               (("history", "--db", "h.db", "--count", "0"), ("history", "--db", "h.db", "--rows", "0"), "--count is now --rows"),
                               (("assemble", "none", "--expect-nodes", "a"), ("assemble", "none", "--expect", "a"), "--expect-nodes is now --expect")):
            first, second = muster(*old), muster(*new)
            self.assertEqual((first.stdout, first.returncode), (second.stdout, second.returncode))
            self.assertEqual(first.stderr, f"muster: {said}\n" + second.stderr)


class Output(unittest.TestCase):
    def test_each_command_that_prints_prints_into_a_file(self):
        for words in (("report", "one.json"), ("report", "one.json", "--format", "html"), ("check", "one.json"), ("check", "one.json", "--format", "json"),
                      ("nodes", "one.json", "--good"), ("diff", "one.json", "one.json", "--format", "json"), ("metrics",), ("skus", SKU), ("bind", "--sku", SKU),
                      ("lint", os.path.join(SOURCE, "configs", SKU + ".json")), ("ticket", "bad.json", "--node", "sim-1")):
            printed = muster(*words)
            path = os.path.join(PLACE, "printed")
            written = muster(*words, "--output", path)
            self.assertEqual((written.stdout, written.returncode), ("", printed.returncode), (words, written.stderr))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), printed.stdout, words)
            os.remove(path)
            self.assertEqual(muster(*words, "--output", "-").stdout, printed.stdout)

    def test_a_command_that_fails_leaves_the_file_as_it_was(self):
        path = os.path.join(PLACE, "kept")
        with open(path, "w", encoding="utf-8") as file:
            file.write("before")
        for words in (("report", "none.json"), ("skus", "nonsense"), ("nodes", "one.json", "--good", "--expect", "a[")):
            self.assertEqual(muster(*words, "--output", path).returncode, 2)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "before")
        self.assertEqual([name for name in os.listdir(PLACE) if name.startswith("kept.")], [])

    def test_a_folder_that_is_not_there_is_named(self):
        for words in (("report", "one.json", "--output"), ("sim", "--sku", SMALL, "--alone", "--report"), ("check", "one.json", "--report")):
            done = muster(*words, "/nodir/x")
            self.assertIn("/nodir/x: the folder /nodir does not exist", done.stderr)
            self.assertNotEqual(done.returncode, 0)

    def test_what_is_full_is_said(self):
        done = muster("metrics", "--output", "/dev/full")
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left on device", done.stderr)

    def test_json_is_a_format_everywhere(self):
        self.assertEqual(json.loads(muster("nodes", "a100.json", "--good", "--format", "json").stdout), ["sim-1", "sim-2", "sim-3"])
        self.assertEqual(json.loads(muster("nodes", "a100.json", "--bad", "--format", "json").stdout), [])
        self.assertEqual(json.loads(muster("check", "a100.json", "--format", "json").stdout)["verdict"], "pass")
        self.assertTrue(json.loads(muster("skus", SKU, "copy.h2d", "--format", "json").stdout)["checks"])


class Input(unittest.TestCase):
    def test_a_hyphen_is_standard_input(self):
        with open(os.path.join(PLACE, "one.json"), encoding="utf-8") as file:
            text = file.read()
        for words in (("report",), ("check",), ("nodes", "--good"), ("diff", "one.json")):
            named, piped = muster(*words, "one.json"), muster(*words, "-", input=text)
            self.assertEqual(piped.returncode, named.returncode, piped.stderr)
            self.assertEqual(piped.stdout, re.sub(r"(?<![\w.])one\.json(?=\n)", "-", named.stdout) if words == ("check",) else piped.stdout)
        self.assertEqual(muster("report", "-", input=text).stdout, re.sub("report=one.json$", "report=-", muster("report", "one.json").stdout.rstrip()) + "\n")

    def test_after_two_hyphens_all_words_are_operands(self):
        shutil.copy(os.path.join(PLACE, "one.json"), os.path.join(PLACE, "--one.json"))
        self.assertEqual(muster("report", "--", "--one.json").stdout.replace("report=--one", "report=one"), muster("report", "one.json").stdout)
        self.assertEqual(muster("nodes", "--good", "--", "one.json").returncode, 0)
        done = muster("report", "--", "one.json", "--format", "json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unexpected argument '--format'", done.stderr)

    def test_what_is_no_report_is_said_to_be_none(self):
        for name, text in (("text", "hello\n"), ("empty", ""), ("other.json", '{"a": 1}'), ("binary", "\0\1\2")):
            with open(os.path.join(PLACE, name), "w", encoding="utf-8") as file:
                file.write(text)
            for command in (("report",), ("check",), ("nodes", "--bad"), ("diff", "one.json")):
                done = muster(*command, name)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"{name}: not a Muster report: ", done.stderr)
        with open(os.path.join(PLACE, "one.json"), encoding="utf-8") as file:
            text = file.read()
        done = muster("report", "-", input=text[:len(text) // 2])
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("not a Muster report", done.stderr)  # but half of one


class Help(unittest.TestCase):
    def test_each_help_is_at_most_80_columns_wide_and_lists_its_options_once(self):
        for command in COMMANDS:
            text = muster(*command.split(), "--help").stdout
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [], command)
            listed = re.findall(r"^  (--[a-z-]+)", text, re.M)
            self.assertEqual(len(listed), len(set(listed)), command)
            self.assertIn("--help", listed)
            if command != "sim":  # which takes the options of run too
                offered = [line.split("\t")[0] for line in muster(*command.split(), "--complete", "--").stdout.splitlines()]
                self.assertEqual(sorted(offered), sorted(listed), command)

    def test_options_of_a_run_are_in_groups_with_ranges(self):
        text = muster("run", "--help").stdout
        titles = re.findall(r"^(\S.*):$", text, re.M)
        self.assertEqual(titles, ["What is measured or read", "Thresholds and verdict", "Output", "Storage", "For experts"])
        self.assertIn("10 to 86400 s", text)

    def test_the_help_of_muster_lists_all(self):
        text = " ".join(muster("--help").stdout.split())
        for word in (*COMMANDS[:7], "HTML", "Prometheus", "history add", "flapping", "worst", "diff, trial", "help", "version", "-V"):
            self.assertIn(word, text)
        self.assertEqual(muster("-V").stdout, muster("--version").stdout)
        self.assertEqual(muster("run", "-h", env={**os.environ, "OMPI_COMM_WORLD_RANK": "1"}).stdout, "", "rank 0 alone prints")
        self.assertEqual(muster("help", "version").stdout, muster("version", "--help").stdout)
        self.assertEqual(max(map(len, muster("--help").stdout.splitlines())) <= 80, True)

    def test_only_drain_speaks_of_its_limits(self):
        self.assertIn("limit on drained nodes", " ".join(muster("drain", "--help").stdout.split()))
        self.assertNotIn("limit", muster("resume", "--help").stdout)

    def test_help_and_manual_name_the_same_percentages(self):
        with open(os.path.join(SOURCE, "docs/man/muster.1"), encoding="utf-8") as file:
            manual = file.read()
        for low, high in re.findall(r"(\d+) to (\d+), by what was learned", " ".join(muster("baseline", "--help").stdout.split())):
            self.assertRegex(manual, rf"\b{low} to {high}\b")


class Simulation(unittest.TestCase):
    def sim(self, *words):
        return muster("sim", "--sku", SMALL, "--alone", "--report", "sim.json", *words)

    def test_options_of_a_run_need_no_two_hyphens(self):
        self.assertEqual(self.sim("--profile", "standard", "--strict", "--deadline", "2m").returncode, 0)
        with open(os.path.join(PLACE, "sim.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["run"]["job"]["profile"], report["strict"]), ("standard", True))
        self.assertIn("--profile\t", muster("sim", "--complete", "--prof").stdout)

    def test_a_wrong_option_of_a_run_is_refused_before_the_run(self):
        for words, said in ((("--profile", "fast"), "--profile: quick, standard or full is needed"),
                            (("--deadline", "9s"), "--deadline: a time from 10 to 86400 s is needed"),
                            (("--", "--soak", "3"), "--soak needs --profile standard")):
            done = self.sim(*words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_fault_that_the_run_did_not_measure_is_said(self):
        faults = ("--fault", "hbm-slow@node1/gpu0=1000", "--fault", "h2d-slow@node1/gpu0=12", "--fault", "bit-rot@node1")
        done = self.sim(*faults)
        self.assertEqual(re.findall("^muster: fault .*", done.stderr, re.M),
                         ["muster: fault hbm-slow@node1/gpu0=1000: the profile quick does not measure gpu.memory_read_gbps; use --profile standard",
                          "muster: fault bit-rot@node1: this run did not measure node.scratch_wrong; use --storage"])
        done = self.sim(*faults, "--profile", "standard", "--storage")
        self.assertNotIn("muster: fault", done.stderr)

    def test_each_fault_names_a_metric(self):
        with open(os.path.join(SOURCE, "src/sim/fault_kinds.c"), encoding="utf-8") as file:
            shown = re.findall(r'SHOWN_BY\("([^"]+)"', file.read())
        self.assertGreater(len(shown), 20)
        self.assertEqual(set(shown) - {metric["name"] for metric in json.loads(muster("metrics", "--format", "json").stdout)}, set())

    def test_node_says_what_the_profile_quick_leaves_out(self):
        said = "The profile quick has no load"
        self.assertEqual(self.sim().stdout.count(said), 1)
        self.assertNotIn(said, self.sim("--profile", "standard").stdout)
        self.assertNotIn(said, self.sim("--inventory").stdout)
        json.loads(muster("sim", "--sku", SMALL, "--alone", "--report", "-").stdout)

    def test_a_healthy_node_alone_has_no_warning(self):
        done = muster("sim", "--sku", "Standard_ND96isr_H100_v5", "--alone", "--strict", "--report", "sim.json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("failed=0 warned=0", done.stdout)


class Lines(unittest.TestCase):
    def test_jq_reads_a_quick_report_as_the_documentation_says(self):
        if not shutil.which("jq"):
            self.skipTest("jq is not installed")
        with open(os.path.join(SOURCE, "docs/report.md"), encoding="utf-8") as file:
            lines = re.findall(r"^jq .*muster-report\.json.*", file.read(), re.M)
        self.assertGreater(len(lines), 4)
        for name in "one.json", "bad.json":
            for line in lines:
                subprocess.run(line.replace("muster-report.json", name), shell=True, check=True, cwd=PLACE, capture_output=True)

    def test_two_machine_types_are_not_comparable(self):
        done = muster("diff", "one.json", "a100.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("The reports cannot be compared: the reports are of different machine types", done.stdout)
        self.assertIn("MUSTER DIFF NOT_COMPARABLE", done.stdout)

    def test_a_baseline_of_one_report_says_so(self):
        done = muster("baseline", "a100.json", "--output", "learned.json")
        self.assertIn("muster: learned from 1 report: ", done.stderr)
        self.assertIn("give at least 5", done.stderr)

    def test_drain_and_resume_stop_at_the_first_answer_that_does_not_come(self):
        bin_folder = os.path.join(PLACE, "bin")
        os.makedirs(bin_folder, exist_ok=True)
        for name in "scontrol", "squeue", "sacct":
            with open(os.path.join(bin_folder, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho {name} $* >>'{PLACE}/asked'\necho '{name}: fatal: Could not establish a configuration source' >&2\nexit 1\n")
            os.chmod(file.name, 0o755)
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
        for words in (("drain", "bad.json", "--limit", "3"), ("resume", "sim-[1-3]", "--apply")):
            done = muster(*words, env=environment)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertEqual(done.stderr.count("Slurm does not answer"), 1, done.stderr)
            self.assertEqual("no node is changed" in done.stderr, "--apply" in words)
        with open(os.path.join(PLACE, "asked"), encoding="utf-8") as file:
            self.assertEqual(file.read().count("scontrol show node"), 2)

    def test_a_history_of_simulated_runs_says_no_run(self):
        self.assertEqual(muster("history", "add", "a100.json", "--db", "sim.db").returncode, 0)
        text = muster("history", "--db", "sim.db").stdout
        self.assertIn("no run\n", text)
        self.assertNotIn("such a node", text)
        self.assertIn("no run of such a node", muster("history", "--db", "sim.db", "--node", "x1").stdout)

    def test_a_history_lists_nodes_in_natural_order(self):
        with open(os.path.join(PLACE, "a100.json"), encoding="utf-8") as file:
            text = file.read().replace('"sim-3"', '"sim-10"')
        with open(os.path.join(PLACE, "ten.json"), "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(muster("history", "add", "ten.json", "--db", "ten.db").returncode, 0)
        listed = [row["node"] for row in json.loads(muster("history", "--db", "ten.db", "--simulated", "--format", "json").stdout)["rows"]]
        self.assertEqual(listed, ["sim-1", "sim-2", "sim-10"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
