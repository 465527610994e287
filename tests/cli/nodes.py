#!/usr/bin/python3
"""`muster nodes`, `muster drain` and `muster resume`: made-up reports, and a scontrol that writes down what it is told.

usage: nodes.py MUSTER
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, report, save

MUSTER = sys.argv[1]
H2D = {"gpu": "000b:00:00.0", "metric": "gpu.h2d_gbps", "observed": "11.2", "expected": "at least 21 GB/s"}


def h2d(node):
    return {**finding("fail", "copy.h2d", node, **H2D), "value": 11.2, "unit": "GB/s"}


def bind(node):
    return finding("fail", "affinity.cpus", node, metric="rank.cpu_locality", observed="outside", expected="inside")


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "bin"))
        self.environment = dict(os.environ, PATH=os.path.join(self.folder, "bin"), FAKE_SLURM=self.folder)

    def muster(self, *arguments):
        return subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=60, env=self.environment,
                              cwd=self.folder, check=False)

    def save(self, *arguments, name="report.json", **more):
        return save(self.folder, name, report(*arguments, **more))


class Nodes(Commands):
    def select(self, path, *arguments, code=0):
        done = self.muster("nodes", path, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_each_node_stands_in_one_list(self):
        names = [f"gpu-{i:02}" for i in range(1, 13)]
        doubt = finding("inconclusive", "ib.state", "gpu-04", metric="port.state", observed="INIT")
        path = self.save(names, [h2d("gpu-03"), finding("fail", "rank.missing", "gpu-09", rank=8), doubt],
                         missing=["gpu-09"])
        self.assertEqual(self.select(path, "--good"), "gpu-[01-02,05-08,10-12]\n")
        self.assertEqual(self.select(path, "--bad"), "gpu-[03,09]\n")
        self.assertEqual(self.select(path, "--inconclusive"), "gpu-04\n")
        self.assertEqual(self.select(path, "--missing"), "gpu-09\n")
        self.assertEqual(self.select(path, "--bad", "--format", "lines"), "gpu-03\ngpu-09\n")
        self.assertEqual(self.select(path, "--bad", "--format", "exclude"), "--exclude=gpu-[03,09]\n")
        self.assertEqual(self.select(path, "--missing", "--expect", "gpu-[01-14]"), "gpu-[09,13-14]\n")
        self.assertEqual(self.select(path, "--good", "--expect", "gpu-[01-14]"), "gpu-[01-02,05-08,10-12]\n")

    def test_an_empty_list_prints_nothing_and_is_no_failure(self):
        path = self.save(["a", "b"], verdict="pass")
        for form in ("hostlist", "lines", "exclude"):
            for which in ("--bad", "--missing", "--inconclusive"):
                self.assertEqual(self.select(path, which, "--format", form), "")
        self.assertEqual(self.select(path, "--good"), "a,b\n")

    def test_nobody_good_is_said_by_the_exit_code(self):
        everybody = self.save(["n1", "n2"], [h2d("n1"), h2d("n2")], name="everybody.json")
        self.assertEqual(self.select(everybody, "--good", code=1), "")
        self.assertEqual(self.muster("nodes", everybody, "--good").stderr,
                         "muster: no good node: at least one check failed\n")
        ring = finding("fail", "ring.busbw", metric="nccl.allreduce_busbw_gbps", observed="17")
        wide = self.save(["n1", "n2"], [ring], name="wide.json")
        done = self.muster("nodes", wide, "--good")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "muster: no good node: ring.busbw fails for the whole job, without a "
                                      "node: 17\n")
        self.assertEqual(self.select(wide, "--bad"), "")
        self.assertEqual(self.select(wide, "--inconclusive"), "n[1-2]\n")
        unknown = self.save(["n1"], [finding("inconclusive", "sku.unknown", observed="no file")],
                            verdict="inconclusive", name="unknown.json")
        self.assertEqual(self.select(unknown, "--good", code=3), "")

    def test_a_name_that_is_no_name_prints_nothing_at_all(self):
        for name in ("gpu-1,gpu-2", "gpu-[1-9]", "-w", "a b", "$(reboot)", "x\ny"):
            path = self.save([name, "good"], [h2d(name), h2d("good")])
            done = self.muster("nodes", path, "--bad")
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertNotIn("\x1b", done.stderr)

    def test_what_the_user_gets_wrong_is_one_line(self):
        path = self.save(["a"], verdict="pass")
        for arguments, said in (((path,), "one of --good"), ((path, "--good", "--bad"), "one of --good"),
                                (("--good",), "no report given"), (("none.json", "--good"), "No such file"),
                                ((path, "--good", "--format", "csv"), "hostlist, lines or exclude"),
                                ((path, "--missing", "--expect", "a[1"), "--expect: host list")):
            done = self.muster("nodes", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_run_that_nobody_judged_is_refused(self):
        value = report(["a"], verdict="pass")
        for key in ("verdict", "findings", "checks", "summary", "sku", "strict"):
            del value[key]
        done = self.muster("nodes", save(self.folder, "bare.json", value), "--good")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("this run has not been evaluated yet", done.stderr)


@unittest.skipUnless(shutil.which("scontrol"), "no scontrol here")
class HostLists(Commands):
    """Slurm itself on the same names, where it is installed. It needs a configuration, and no daemon."""

    LISTS = (["n1"], ["n1", "n2"], ["n2", "n1", "n1"], ["n8", "n9", "n10", "n11"], ["n08", "n09", "n10"],
             ["n1", "n01", "n001"], ["r1c2n3", "r1c2n4", "r1c3n4"], ["a-1-ib", "a-2-ib"], ["login", "gpu", "n1"],
             ["1", "2", "3"], ["n099", "n100", "n101"], ["n98", "n99", "n100"], ["a.b-7", "a.b-8"],
             ["n0", "n00", "n2"], ["x123456789012", "x123456789013"])

    def setUp(self):
        super().setUp()
        with open(os.path.join(self.folder, "slurm.conf"), "w", encoding="utf-8") as file:
            file.write("ClusterName=t\nSlurmctldHost=localhost\nNodeName=localhost\n")
        self.slurm = dict(os.environ, SLURM_CONF=os.path.join(self.folder, "slurm.conf"))

    def test_slurm_expands_what_muster_compresses(self):
        for names in self.LISTS:
            path = self.save(sorted(set(names)), verdict="pass")
            listed = self.muster("nodes", path, "--good").stdout.strip()
            shown = subprocess.run(["scontrol", "show", "hostnames", listed], capture_output=True, text=True,
                                   timeout=60, env=self.slurm, check=False)
            self.assertEqual(sorted(shown.stdout.split()), sorted(set(names)), f"{listed}: {shown.stderr}")

    def test_muster_expands_what_slurm_compresses(self):
        for names in self.LISTS:
            listed = subprocess.run(["scontrol", "show", "hostlist", ",".join(names)], capture_output=True, text=True,
                                    timeout=60, env=self.slurm, check=True).stdout.strip()
            path = self.save(["other"], verdict="pass")
            shown = self.muster("nodes", path, "--missing", "--expect", listed, "--format", "lines")
            self.assertEqual(shown.stdout.split(), sorted(set(names)), listed)


class Drain(Commands):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "bin", "scontrol")
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "fake_scontrol.py"), self.program)
        self.states({f"n{i}": ("IDLE", "") for i in range(1, 9)})

    def states(self, table):
        save(self.folder, "nodes.json", {name: {"state": s, "reason": r} for name, (s, r) in table.items()})

    def state(self, name):
        with open(os.path.join(self.folder, "nodes.json"), encoding="utf-8") as file:
            node = json.load(file)[name]
        return node["state"], node["reason"]

    def mood(self, mood):
        with open(os.path.join(self.folder, "mood"), "w", encoding="utf-8") as file:
            file.write(mood)

    def updates(self):
        path = os.path.join(self.folder, "calls")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [call for call in map(json.loads, file) if call[0] == "update"]

    def eight(self, findings, **more):
        return self.save([f"n{i}" for i in range(1, 9)], findings, **more)

    def test_without_apply_the_commands_are_printed_and_nothing_is_touched(self):
        path = self.eight([h2d("n2"), h2d("n2"), bind("n3")])
        done = self.muster("drain", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "scontrol update NodeName=n2 State=DRAIN Reason='muster: copy.h2d GPU 000b:00:00.0: 11.2 GB/s; expected "
            "at least 21 GB/s; and 1 more'",
            "# n3: skipped: only the launch of the job failed there"])
        self.assertEqual(self.updates(), [])
        shell = subprocess.run(["/bin/sh", "-c", done.stdout], env=dict(self.environment, PATH=self.environment["PATH"]
                               + ":/usr/bin:/bin"), timeout=60, check=False)
        self.assertEqual(shell.returncode, 0)
        self.assertTrue(self.state("n2")[1].startswith("muster: copy.h2d"))

    def test_apply_drains_the_bad_nodes_and_resume_gives_them_back(self):
        path = self.eight([h2d("n2"), finding("fail", "rank.missing", "n5", rank=4, observed="no message")])
        done = self.muster("drain", path, "--apply")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([call[1:3] for call in self.updates()],
                         [["NodeName=n2", "State=DRAIN"], ["NodeName=n5", "State=DRAIN"]])
        self.assertEqual(self.state("n5"), ("IDLE+DRAIN", "muster: rank.missing: no message"))
        again = self.muster("drain", path, "--apply")
        self.assertEqual(again.returncode, 0)
        self.assertIn("# n2: already drained by muster (IDLE+DRAIN: muster: copy.h2d", again.stdout)
        self.assertEqual(len(self.updates()), 2)
        later = self.eight([h2d("n5")], name="later.json")
        self.assertEqual(self.muster("resume", later, "--apply").returncode, 0)
        self.assertEqual((self.state("n2"), self.state("n5")[0]), (("IDLE", ""), "IDLE+DRAIN"))
        self.assertEqual(self.muster("resume", "n[1-5]", "--apply").returncode, 0)
        self.assertEqual(self.state("n5"), ("IDLE", ""))

    def test_what_others_have_done_stays(self):
        others = {"n1": ("IDLE+DRAIN", "bad PSU"), "n2": ("DOWN*", "Not responding"), "n3": ("MIXED+DRAIN", ""),
                  "n4": ("IDLE", "look at muster: later"), "n5": ("IDLE", ""), "n6": ("IDLE", "muster: old")}
        self.states(others)
        names = sorted(others)
        path = self.save(names, [h2d(name) for name in names])
        done = self.muster("drain", path, "--apply", "--limit", "6")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([call[1] for call in self.updates()], ["NodeName=n5", "NodeName=n6"])
        self.assertIn("# n1: skipped: has a reason from someone else (IDLE+DRAIN: bad PSU)\n", done.stdout)
        for name in ("n1", "n2", "n3", "n4"):
            self.assertEqual(self.state(name), others[name])
        done = self.muster("resume", "n[1-4]", "--apply")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("n1", "n2", "n3", "n4"):
            self.assertEqual(self.state(name), others[name])

    def test_when_most_nodes_fail_none_is_drained(self):
        path = self.eight([h2d(f"n{i}") for i in range(1, 6)])
        done = self.muster("drain", path, "--apply")
        self.assertEqual((done.returncode, done.stdout, self.updates()), (2, "", []))
        self.assertIn("5 of 8 nodes failed, and the limit is 4", done.stderr)
        shown = self.muster("drain", path)
        self.assertEqual((shown.returncode, shown.stdout.count("State=DRAIN")), (0, 5))
        self.assertIn("the limit is 4", shown.stderr, "the preview says that --apply would refuse")
        self.assertEqual(self.muster("drain", path, "--apply", "--limit", "5").returncode, 0)
        self.assertEqual(len(self.updates()), 5)

    def test_a_simulated_report_changes_nothing(self):
        path = self.eight([h2d("n2")], simulated=True)
        for command in ("drain", "resume"):
            done = self.muster(command, path, "--apply")
            self.assertEqual((done.returncode, self.updates()), (2, []))
            self.assertIn("is simulated", done.stderr)
        self.assertEqual(self.muster("drain", path, "--apply", "--simulated").returncode, 0)
        self.assertEqual(len(self.updates()), 1)

    def test_a_reason_is_one_argument_whatever_the_machine_says(self):
        evil = finding("fail", "x", "n2", observed="a' ; reboot \"$(b)`c`\\ \x1b[31m\nState=UP " + "word " * 200)
        done = self.muster("drain", self.eight([evil]), "--apply")
        self.assertEqual(done.returncode, 0, done.stderr)
        reason = self.updates()[0][3][len("Reason="):]
        self.assertLessEqual(len(reason), 255)
        self.assertTrue(reason.endswith(" word..."), reason)
        for character in "'\"`$\\\n\x1b":
            self.assertNotIn(character, reason)

    def test_a_scontrol_that_does_not_work_is_named(self):
        path = self.eight([h2d("n1"), h2d("n2"), h2d("n3")])
        for mood, said, calls in (
                ("fail", "muster: n1: scontrol show: exit status 1: slurm_update error: Access/permission denied\n", 3),
                ("hang", "muster: n1: scontrol gave no answer within 1 s\nmuster: 2 more nodes were skipped\n", 1),
                ("garbage", "muster: n1: scontrol show node printed no node", 3),
                ("flood", "muster: n1: scontrol show node printed no node", 3)):
            self.mood(mood)
            if os.path.exists(os.path.join(self.folder, "calls")):
                os.unlink(os.path.join(self.folder, "calls"))
            done = self.muster("drain", path, "--apply", "--deadline", "1" if mood == "hang" else "60")
            self.assertEqual((done.returncode, done.stdout), (3, ""), mood)
            self.assertIn(said, done.stderr, mood)
            self.assertLess(len(done.stderr), 2000)
            with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
                self.assertEqual(len(file.readlines()), calls, mood)
        self.mood("deny")
        self.assertEqual(self.muster("drain", path, "--apply").returncode, 3)
        self.assertEqual(self.state("n1"), ("IDLE", ""))

    def test_without_scontrol_the_commands_are_still_printed(self):
        os.unlink(self.program)
        path = self.eight([h2d("n1"), h2d("n2")])
        done = self.muster("drain", path)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("\nscontrol update NodeName="), 2)
        self.assertEqual(done.stdout.count("# n1: cannot read its state: scontrol is not in PATH\n"), 1)
        done = self.muster("drain", path, "--apply")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("muster: n1: scontrol is not in PATH\n", done.stderr)
        done = self.muster("resume", "n1")
        self.assertEqual((done.returncode, done.stdout.count("update")), (0, 0))


unittest.main(argv=sys.argv[:1])
