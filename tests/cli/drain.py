#!/usr/bin/python3
"""`muster drain` and `muster resume`: made-up reports, and a Slurm that writes down what it is asked.

usage: drain.py MUSTER
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, report, save, tally
from report_commands import Commands, bind, h2d


class Drain(Commands):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "bin", "scontrol")
        for name in ("scontrol", "squeue", "sacct", "sinfo"):
            shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "fake_slurm.py"),
                        os.path.join(self.folder, "bin", name))
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
        later = self.eight([h2d("n5")], name="later.json", checks=[tally("copy.h2d", **{"pass": 7, "fail": 1})])
        self.assertEqual(self.muster("resume", later, "--apply").returncode, 0)
        self.assertEqual((self.state("n2"), self.state("n5")[0]), (("IDLE", ""), "IDLE+DRAIN"))
        self.assertEqual(self.muster("resume", "n[1-5]", "--apply").returncode, 0)
        self.assertEqual(self.state("n5"), ("IDLE", ""))

    def test_what_others_have_done_stays(self):
        """But for a reason that Slurm 24.11 has kept of a node in service (n4, n6): it protects from nothing."""
        others = {"n1": ("IDLE+DRAIN", "bad PSU"), "n2": ("DOWN*", "Not responding"), "n3": ("MIXED+DRAIN", ""),
                  "n4": ("IDLE", "sent to the vendor"), "n5": ("IDLE", ""), "n6": ("IDLE", "muster: old")}
        self.states(others)
        names = sorted(others)
        path = self.save(names, [h2d(name) for name in names])
        done = self.muster("drain", path, "--apply", "--limit", "6")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([call[1] for call in self.updates()], ["NodeName=n4", "NodeName=n5", "NodeName=n6"])
        self.assertIn("# n1: skipped: has a reason from someone else (IDLE+DRAIN: bad PSU)\n", done.stdout)
        for name in ("n1", "n2", "n3"):
            self.assertEqual(self.state(name), others[name])
        done = self.muster("resume", "n[1-3]", "--apply")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("n1", "n2", "n3"):
            self.assertEqual(self.state(name), others[name])

    def test_when_most_nodes_fail_none_is_drained(self):
        path = self.eight([h2d(f"n{i}") for i in range(1, 6)])
        done = self.muster("drain", path, "--apply")
        self.assertEqual((done.returncode, done.stdout, self.updates()), (2, "", []))
        self.assertIn("5 of 8 nodes failed, and the limit is 4", done.stderr)
        shown = self.muster("drain", path)
        self.assertEqual((shown.returncode, shown.stdout), (2, ""), "what is printed may go to a shell")
        self.assertIn("the limit is 4", shown.stderr)
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

    def test_without_scontrol_no_command_is_printed(self):
        os.unlink(self.program)
        path = self.eight([h2d("n1"), h2d("n2")])
        for arguments in (("drain", path), ("drain", path, "--apply"), ("resume", "n1"), ("resume", "n1", "--apply")):
            done = self.muster(*arguments)
            self.assertEqual((done.returncode, done.stdout), (3, ""), arguments)
            self.assertIn("muster: n1: scontrol is not in PATH\n", done.stderr)

    def test_what_was_refused_is_not_printed_as_done(self):
        self.mood("deny")
        done = self.muster("drain", self.eight([h2d("n1")]), "--apply")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("muster: n1: scontrol update: exit status 1: slurm_update error: Access", done.stderr)

    def test_a_name_of_many_nodes_is_refused(self):
        for name in ("ALL", "all", "All", "n[1-8]", "n1,n2"):
            done = self.muster("drain", self.save([name, "n1"], [h2d(name)]))
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertIn("is not a valid node name: nothing is changed", done.stderr)
        self.assertEqual(self.muster("resume", "ALL", "--apply").returncode, 2)
        for shown, said in ((["n1", "n2"], "means several nodes"), (["n1"], 'is called "n1"')):
            save(self.folder, "nodes.json", {"h100": {"state": "IDLE", "reason": "", "shown_as": shown}})
            done = self.muster("drain", self.save(["h100", "n1"], [h2d("h100")]), "--apply")
            self.assertEqual((done.returncode, done.stdout, self.updates()), (3, "", []), shown)
            self.assertIn(said, done.stderr)

    def test_a_report_of_another_user_is_not_applied_without_trust(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        path = self.eight([h2d("n2")])
        for uid, mode in ((33, 0o644), (0, 0o666)):
            os.chown(path, uid, -1)
            os.chmod(path, mode)
            for command in ("drain", "resume"):
                done = self.muster(command, path, "--apply")
                self.assertEqual((done.returncode, done.stdout, self.updates()), (2, "", []), command)
                self.assertIn("--trust", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
            done = self.muster("drain", path)
            self.assertEqual((done.returncode, done.stdout.count("NodeName=n2 ")), (0, 1))
            self.assertIn("may have written anything into it", done.stderr)
            self.assertIn("names no job: its nodes are not compared", done.stderr)
        os.chown(path, 33, -1)
        self.assertEqual(self.muster("drain", path, "--apply", "--trust").returncode, 0)
        self.assertEqual(len(self.updates()), 1)

    def test_only_what_failed_in_both_reports_drains(self):
        path, other = self.eight([h2d("n2"), h2d("n4"), bind("n3")]), self.save(["n2", "n4"], [h2d("n2")], name="first.json")
        done = self.muster("drain", path, "--apply", "--also", other)
        self.assertEqual((done.returncode, len(self.updates()), self.state("n4")), (0, 1, ("IDLE", "")), done.stderr)
        self.assertIn("NodeName=n2 ", done.stdout)
        self.assertIn("# n4: skipped: copy.h2d failed only once\n", done.stdout)
        self.assertEqual(self.muster("drain", path, "--also", "/none.json").returncode, 2)

    def test_only_nodes_of_the_job_are_drained(self):
        path = self.eight([h2d("n2")], job="24")
        for where, entry in (("jobs.json", "COMPLETED|n[1,3-8]\n"), ("past.json", "n[1,3-8]\n")):
            save(self.folder, where, {"24": entry})
            for arguments in (("drain", path), ("drain", path, "--apply", "--trust"), ("resume", path, "--apply")):
                done = self.muster(*arguments)
                self.assertEqual((done.returncode, done.stdout, self.updates()), (2, "", []), arguments)
                self.assertIn('the node "n2" was not in job 24: nothing is changed', done.stderr)
            os.unlink(os.path.join(self.folder, where))
        save(self.folder, "jobs.json", {"24": "RUNNING|n[1-2]\nRUNNING|n[3-8]\n"})
        done = self.muster("drain", path)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("NodeName=n2 ")), (0, "", 1))

    def test_a_job_that_slurm_does_not_know_is_said(self):
        path = self.eight([h2d("n2")], job="24")
        for jobs, said in (({}, "Slurm does not list the nodes of job 24"), ({"24": "COMPLETING|n1\n"}, "is still ending")):
            save(self.folder, "jobs.json", jobs)
            done = self.muster("drain", path)
            self.assertEqual((done.returncode, done.stdout.count("NodeName=n2 ")), (0, 1))
            self.assertIn("the nodes of job 24 are not compared with the report: ", done.stderr)
            self.assertIn(said, done.stderr)
        done = self.muster("drain", self.eight([h2d("n2")], job="-a"))
        self.assertIn('"-a" is not the number of a job', done.stderr)

    def drained_by_muster(self, *names):
        self.states({f"n{i}": ("IDLE+DRAIN", "muster(prolog): x: y") if f"n{i}" in names else ("IDLE", "") for i in range(1, 9)})

    def test_at_most_so_many_nodes_are_drained(self):
        path = self.save(["n2"], [h2d("n2")])
        for drained, most, allowed in (((), "1", True), (("n1",), "1", False), (("n1",), "25%", True), ((), "0%", False)):
            self.drained_by_muster(*drained)
            done = self.muster("drain", path, "--at-most", most)
            self.assertEqual((done.returncode, done.stdout.count("State=DRAIN")), (0, 1) if allowed else (3, 0), (drained, most))
            done = self.muster("drain", path, "--apply", "--at-most", most, "--by", "prolog")
            self.assertEqual((done.returncode, self.state("n2")[0]), (0, "IDLE+DRAIN") if allowed else (3, "IDLE"), (drained, most))
        self.assertIn("at most 0 may be drained", done.stderr)
        self.assertEqual(self.muster("drain", path, "--at-most", "5 %").returncode, 2)

    def test_every_partition_of_the_node_counts(self):
        save(self.folder, "partitions.json", {"n1": ["few"], "n2": ["few", "other"], "n3": ["other"]})
        self.drained_by_muster("n1")
        path = self.save(["n2"], [h2d("n2")])
        done = self.muster("drain", path, "--apply", "--at-most", "50%")
        self.assertEqual((done.returncode, self.updates()), (3, []))
        self.assertIn("muster has drained 1 other of 2 nodes in partition few, and at most 1 may be drained", done.stderr)

    def test_whoever_finds_too_many_afterwards_undrains_itself(self):
        """As when many nodes drain themselves at once: others come between the first count and the second."""
        with open(os.path.join(self.folder, "bin", "sinfo"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ -e {self.folder}/asked ] && echo 'n1|all|drained|muster(health): x'\n"
                       f": >{self.folder}/asked\necho 'n2|all|idle|none'\n")
        done = self.muster("drain", self.save(["n2"], [h2d("n2")]), "--apply", "--at-most", "1")
        self.assertEqual((done.returncode, self.state("n2")), (3, ("IDLE", "")), done.stderr)
        self.assertEqual([call[2] for call in self.updates()], ["State=DRAIN", "State=RESUME"])

    def test_a_script_undrains_only_what_it_drained(self):
        names = ("person", "health", "prolog", "epilog")
        reasons = ["muster: copy.h2d: x"] + [f"muster({name}): copy.h2d: x" for name in names[1:]]
        for by in (*names, None):
            self.states({f"n{i + 1}": ("IDLE+DRAIN", reason) for i, reason in enumerate(reasons)})
            options = ("--by", by) if by else ()
            self.assertEqual(self.muster("resume", "n[1-4]", "--apply", *options).returncode, 0)
            self.assertEqual([self.state(f"n{i + 1}")[0] for i, name in enumerate(names)],
                             ["IDLE" if by in (None, name) else "IDLE+DRAIN" for name in names], by)
        self.states({"n1": ("IDLE", "")})
        self.muster("drain", self.save(["n1"], [h2d("n1")]), "--apply", "--by", "health")
        self.assertTrue(self.state("n1")[1].startswith("muster(health): copy.h2d GPU 000b:00:00.0: 11.2 GB/s;"))
        self.assertEqual(self.muster("resume", "n1", "--by", "nobody").returncode, 2)

    def resumes(self, reason, names, checks, findings=(), name="n1", **more):
        """Whether a report undrains a node that has this reason."""
        self.states({name: ("IDLE+DRAIN", reason), "n2": ("IDLE", "")})
        done = self.muster("resume", self.save(names, findings, verdict="pass", checks=checks, **more), "--apply")
        self.assertEqual(done.returncode, 0, done.stderr)
        resumed = self.state(name) == ("IDLE", "")
        self.assertEqual(done.stdout.count("State=RESUME"), resumed)
        return resumed, done.stdout

    def test_a_report_undrains_a_node_only_if_the_check_of_the_reason_passed(self):
        passed, skipped = tally("copy.h2d", **{"pass": 2}), tally("copy.h2d", skip=2)
        same = tally("same.driver", "node.driver_version", "the same on all nodes", **{"pass": 2})
        same["compares_nodes"] = True
        ring = tally("ring.busbw", "nccl.allreduce_busbw_gbps", **{"pass": 1})
        ring["probe"] = "nccl_allreduce"
        one, two = ["n1"], ["n1", "n2"]
        warned = [finding("warn", "copy.h2d", "n1", metric="gpu.h2d_gbps", observed="x")]
        blocked = [{**finding("skip", "gpu.x"), "blocked": ["copy.h2d"]}]
        for reason, names, checks, findings, gone in (
                ("muster: copy.h2d GPU 0: 1", one, [passed], (), True),
                ("muster: copy.h2d: 1", two, [passed], (), True),
                ("muster: copy.h2d: 1", one, [], (), False),
                ("muster: copy.h2d: 1", one, [skipped], (), False),
                ("muster: copy.h2d: 1", one, [{**passed, "skipped": "not here"}], (), False),
                ("muster: copy.h2d: 1", one, [tally("copy.h2d", skip=1, **{"pass": 1})], (), False),
                ("muster: copy.h2d: 1", one, [passed], warned, False),
                ("muster: copy.h2d: 1", one, [passed], blocked, False),
                ("muster: copy.h2d: 1", one, [tally("copy.d2h", **{"pass": 1})], (), False),
                ("muster: same.driver: 1", one, [same], (), False),
                ("muster: same.driver: 1", two, [same], (), True),
                ("muster: ring.busbw: 1", one, [ring], (), False),
                ("muster: ring.busbw: 1", two, [ring], (), True),
                ("muster(health): ring.busbw: 1", one, [ring], (), True),
                ("muster: ring.suspect: bad", two, [passed], (), False),
                ("muster: rank.missing: gone", two, [passed], (), True),
                ("muster: probe.gpu_copy: crashed", one, [passed], (), False),
                ("muster:", one, [passed], (), False)):
            resumed, said = self.resumes(reason, names, checks, findings)
            self.assertEqual(resumed, gone, (reason, names, checks, findings))
            if not gone:
                self.assertIn("# n1: skipped: ", said)

    def probes(self, names, *probes):
        made = report(names, verdict="pass")
        for node in made["run"]["nodes"]:
            node["ranks"][0]["probes"] = list(probes)
        return save(self.folder, "probes.json", made)

    def test_probes_and_rings_must_have_ended_well(self):
        ok = {"probe": "gpu_copy", "status": "ok", "elapsed_ms": 1}
        ring = {"probe": "nccl_allreduce", "status": "ok", "elapsed_ms": 1, "ring": 2}
        bad = {**ok, "status": "error", "code": "io", "detail": "x"}
        for reason, probes, gone in (("muster: probe.gpu_copy: x", [ok], True), ("muster: probe.gpu_copy: x", [bad], False),
                                     ("muster: probe.gpu_copy: x", [ring], False), ("muster: ring.suspect: x", [ok, ring], True),
                                     ("muster: ring.suspect: x", [ok, {**ring, "ring": 1}], False)):
            self.states({"n1": ("IDLE+DRAIN", reason), "n2": ("IDLE", "")})
            done = self.muster("resume", self.probes(["n1", "n2"], *probes), "--apply")
            self.assertEqual((done.returncode, self.state("n1")[0] == "IDLE"), (0, gone), (reason, probes, done.stderr))

    def test_a_part_that_was_skipped_is_not_proved_good(self):
        checks = [tally("copy.h2d", skip=1, **{"pass": 1})]
        for value, gone in ((25.0, True), (None, False)):
            made = report(["n1"], verdict="pass", checks=checks)
            sample = {"metric": "gpu.h2d_gbps", "labels": {"gpu": "000b:00:00.0"}, "value": value}
            made["run"]["nodes"][0]["ranks"][0]["samples"] = [sample if value else {**sample, "reason": "not measured"}]
            self.states({"n1": ("IDLE+DRAIN", "muster(health): copy.h2d GPU 000b:00:00.0: 11.2 GB/s; expected at least 21")})
            done = self.muster("resume", save(self.folder, "part.json", made), "--apply")
            self.assertEqual((done.returncode, self.state("n1")[0] == "IDLE"), (0, gone), done.stdout + done.stderr)

    def test_a_file_with_the_name_of_a_node_is_no_report(self):
        save(self.folder, "n1", {})
        self.states({"n1": ("IDLE+DRAIN", "muster: copy.h2d: x")})
        self.assertEqual(self.muster("resume", "n1", "--apply").returncode, 0)
        self.assertEqual(self.state("n1"), ("IDLE", ""))
        self.assertEqual(self.muster("resume", "./n1", "--apply").returncode, 2)


unittest.main(argv=sys.argv[:1])
