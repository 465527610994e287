#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster drain` and `muster resume`: made-up reports, and a Slurm that writes down what it is asked.

usage: drain.py MUSTER
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
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
        path = self.eight([h2d("n2"), finding("fail", "rank.missing", "n5", rank=4, observed="no message", proof="hard")])
        done = self.muster("drain", path, "--apply", "--per-hour", "100%")
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
        done = self.muster("drain", path, "--apply", "--limit", "6", "--per-hour", "6")
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
        self.assertEqual(self.muster("drain", path, "--apply", "--limit", "5", "--per-hour", "100%").returncode, 0)
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
        evil = finding("fail", "x", "n2", proof="hard", observed="a' ; reboot \"$(b)`c`\\ \x1b[31m\nState=UP " + "word " * 200)
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
                ("hang", "muster: Slurm does not answer; no node is changed: scontrol gave no answer within 1 s\nmuster: 2 more nodes were skipped\n", 1),
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
            self.assertRegex(done.stderr, "muster: Slurm does not answer(; no node is changed)?: scontrol is not in PATH\n")

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

    def test_strikes_of_another_user_count_only_with_trust(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        for uid, mode in ((33, 0o644), (0, 0o666)):
            self.states({f"n{i}": ("IDLE", "") for i in range(1, 9)})
            self.muster("drain", self.soft(0, h2d("n2")), "--apply")
            os.chown(os.path.join(self.folder, "muster-strikes.json"), uid, -1)
            os.chmod(os.path.join(self.folder, "muster-strikes.json"), mode)
            for command in ("drain", "resume"):
                done = self.muster(command, self.soft(5, h2d("n2")), "--apply")
                self.assertEqual((done.returncode, done.stdout, self.state("n2")[0]), (2, "", "IDLE"), command)
                self.assertRegex(done.stderr, f"^muster: .*muster-strikes.json: user {uid} .*--trust\n$")
            self.assertIn("may have written anything into it", self.muster("drain", "report.json").stderr)
            self.assertEqual(self.muster("drain", "report.json", "--apply", "--trust").returncode, 0)
            self.assertEqual((self.state("n2")[0], os.unlink(os.path.join(self.folder, "muster-strikes.json"))), ("IDLE+DRAIN", None))

    def soft(self, minute, *findings, name="report.json", **more):
        """A report of eight nodes; each finding is of a speed."""
        return self.eight([{**one, "proof": "soft"} for one in findings], name=name, verdict="fail" if findings else "pass",
                          started=f"2026-11-29T{12 + minute // 60:.0f}:{int(minute) % 60:02}:{minute % 1 * 60:02.0f}Z",
                          checks=[{**tally("copy.h2d", **{"pass": 8 - len(findings), "fail": len(findings)}), "proof": "soft"}], **more)

    def kept(self):
        path = os.path.join(self.folder, "muster-strikes.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_a_soft_finding_drains_only_in_a_second_run_a_minute_later(self):
        done = self.muster("drain", self.soft(0, h2d("n2")), "--apply", "--by", "prolog")
        self.assertEqual((done.returncode, done.stderr, self.updates()), (0, "", []))
        self.assertEqual(done.stdout, "# n2: not drained: copy.h2d is a first strike; a run at least a minute later that finds it again drains the node\n")
        self.assertEqual(self.kept(), {"strikes": [{"node": "n2", "check": "copy.h2d", "part": "000b:00:00.0", "first": "2026-11-29T12:00:00Z",
                                                    "by": "prolog"}], "passes": []})
        again = self.muster("drain", self.soft(0, h2d("n2")), "--apply")
        self.assertEqual(self.updates(), [], "the same run is no second one")
        self.assertIn("first strike since 2026-11-29T12:00:00Z;", again.stdout)
        shown = self.muster("drain", self.soft(1, h2d("n2")))
        self.assertEqual((shown.stdout.count("State=DRAIN"), self.updates()), (1, []), "what is printed")
        self.assertEqual(self.muster("drain", self.soft(1, h2d("n2")), "--apply").returncode, 0)
        self.assertEqual(self.state("n2"), ("IDLE+DRAIN", "muster: copy.h2d GPU 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s"))

    def test_a_node_waits_for_a_week(self):
        def strike(node, check, days):
            first = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86400))
            return {"node": node, "check": check, "part": "g0", "first": first, "by": "prolog"}
        kept = [strike("n2", "old", 7.1), strike("n3", "old", 7.1), strike("n2", "copy.h2d", 6.9)]
        save(self.folder, "muster-strikes.json", {"strikes": kept, "passes": []})
        waiting = self.muster("nodes", "report.json", "--waiting")
        self.assertEqual((waiting.stdout, waiting.stderr), ("n2\n", f"muster: n2: copy.h2d at g0 since {kept[2]['first']} (prolog)\n"))

    def test_another_part_or_a_pass_between_is_no_second_strike(self):
        self.muster("drain", self.soft(0, h2d("n2")), "--apply")
        other = h2d("n2")
        other["where"] = {**other["where"], "gpu": "000c:00:00.0"}
        self.muster("drain", self.soft(5, other), "--apply")
        self.assertEqual((self.updates(), len(self.kept()["strikes"])), ([], 2))
        self.muster("drain", self.soft(9), "--apply")
        self.assertIsNone(self.kept(), "a pass")
        self.muster("drain", self.soft(20, h2d("n2")), "--apply")
        self.assertEqual(self.updates(), [])
        self.muster("drain", self.soft(20 + 8 * 60, h2d("n2")), "--apply")
        self.assertEqual(len(self.updates()), 1)

    def test_an_old_strike_is_forgotten(self):
        self.muster("drain", self.soft(0, h2d("n2")), "--apply")
        later = self.eight([{**h2d("n2"), "proof": "soft"}], started="2026-12-06T12:00:01Z")
        self.muster("drain", later, "--apply")
        self.assertEqual((self.updates(), self.kept()["strikes"][0]["first"]), ([], "2026-12-06T12:00:01Z"))

    def test_a_fact_drains_at_once_and_names_itself(self):
        fact = finding("fail", "gpu.count", "n2", metric="node.gpu_count", observed="7", expected="8", proof="hard", action_code="reboot")
        done = self.muster("drain", self.soft(0, {**h2d("n2"), "action_code": "replace-node"}), "--apply")
        self.assertEqual(self.updates(), [], done.stdout)
        self.muster("drain", self.eight([{**h2d("n2"), "proof": "soft", "action_code": "replace-node"}, fact]), "--apply")
        self.assertEqual(self.state("n2"), ("IDLE+DRAIN", "muster: replace-node: gpu.count: 7; expected 8; and 1 more"))

    def test_a_node_comes_back_after_two_passes_ten_minutes_apart(self):
        for code in ("", "replace-node: "):
            self.states({"n2": ("IDLE+DRAIN", f"muster(health): {code}copy.h2d GPU 0: 1"), "n1": ("IDLE", "")})
            said = self.muster("resume", self.soft(0), "--apply", "--by", "health").stdout
            self.assertIn("# n2: skipped: passed once; a run at least ten minutes later", said)
            self.muster("resume", self.soft(9), "--apply")
            self.muster("drain", self.soft(10, h2d("n2")), "--apply")
            self.muster("resume", self.soft(11), "--apply")
            self.muster("resume", self.soft(20), "--apply")
            self.assertEqual(self.state("n2")[0], "IDLE+DRAIN", "it failed between")
            self.muster("resume", self.soft(21), "--apply")
            self.assertEqual((self.state("n2"), self.kept()), (("IDLE", ""), None))

    def with_history(self, command, minute, *findings, keep=True, **more):
        """The command with a report and the history, and then the report is in the history."""
        done = self.muster(command, self.soft(minute, *findings, **more), "--apply", "--history", "h.db")
        if keep:
            self.assertEqual(self.muster("history", "add", "report.json", "--db", "h.db").returncode, 0)
        self.assertIsNone(self.kept(), done.stderr)
        return done

    def test_first_strikes_come_from_a_history(self):
        done = self.with_history("drain", 0, h2d("n2"))
        self.assertRegex(done.stderr, "^muster: no earlier run counts: .*h.db: there is no such history: .*\n$")
        self.assertIn("copy.h2d is a first strike;", self.with_history("drain", 0, h2d("n2")).stdout, "the same run is no second one")
        other = h2d("n2")
        other["where"] = {**other["where"], "gpu": "000c:00:00.0"}
        self.assertIn("copy.h2d is a first strike;", self.with_history("drain", 20, other, keep=False).stdout)
        self.with_history("drain", 20)
        self.assertIn("copy.h2d is a first strike;", self.with_history("drain", 40, h2d("n2")).stdout, "a pass between")
        self.assertIn("first strike since 2026-11-29T12:40:00Z;", self.with_history("drain", 40.5, h2d("n2"), keep=False).stdout)
        self.with_history("drain", 45, {**h2d("n2"), "check": "copy.d2h"})  # it fails, which is no pass
        path = self.soft(50, h2d("n2"))
        for key, value in (("profile", "full"), ("sku", "other"), ("started", "2026-12-06T12:40:01Z")):
            with open(path, encoding="utf-8") as file:
                changed = json.load(file)
            changed["sku" if key == "sku" else "run"].update({"name": value} if key == "sku" else
                                                             {"job": {**changed["run"]["job"], key: value}})
            self.muster("drain", save(self.folder, "changed.json", changed), "--apply", "--history", "h.db")
            self.assertEqual(self.updates(), [], key)
        self.assertEqual(self.muster("drain", path, "--apply", "--history", "h.db").returncode, 0)
        self.assertEqual(self.state("n2")[0], "IDLE+DRAIN")

    def test_a_fact_drains_whatever_is_wrong_with_the_history(self):
        with open(os.path.join(self.folder, "h.db"), "w", encoding="utf-8") as file:
            file.write("no database, but long enough to have the header of one, which has a hundred bytes, as this text has")
        done = self.muster("drain", self.eight([h2d("n2")]), "--apply", "--history", "h.db")
        self.assertEqual((done.returncode, self.state("n2")[0], done.stderr.count("\n")), (0, "IDLE+DRAIN", 1), done.stderr)
        self.assertRegex(done.stderr, "no earlier run counts: .*h.db: not an SQLite database")

    def test_first_passes_come_from_a_history(self):
        self.states({"n2": ("IDLE+DRAIN", "muster(health): copy.h2d GPU 0: 1"), "n1": ("IDLE", "")})
        self.with_history("drain", 0, h2d("n2"))
        said = self.with_history("resume", 5).stdout
        self.assertIn("# n2: skipped: passed once; a run at least ten minutes later", said)
        self.with_history("resume", 14)
        self.with_history("drain", 15, h2d("n2"))
        self.with_history("resume", 16)
        self.with_history("resume", 25)
        self.assertEqual(self.state("n2")[0], "IDLE+DRAIN", "it failed between")
        self.environment["TZ"] = "UTC"
        drained = {"state": "IDLE+DRAIN", "reason": "muster(health): copy.h2d GPU 0: 1", "since": "2026-11-29T12:16:30"}
        save(self.folder, "nodes.json", {"n2": drained, "n1": {"state": "IDLE", "reason": ""}})
        self.with_history("resume", 26, keep=False)
        self.assertEqual(self.state("n2")[0], "IDLE+DRAIN", "the first pass was before the drain")
        save(self.folder, "nodes.json", {"n2": {**drained, "since": "2026-11-29T12:15:30"}, "n1": {"state": "IDLE", "reason": ""}})
        self.with_history("resume", 26, keep=False)
        self.assertEqual(self.state("n2"), ("IDLE", ""))

    def test_damaged_strikes_count_for_nothing_and_stop_no_fact(self):
        for text, said in (("{", "the text ends too early"), ('{"strikes": [], "passes": [], "x": 1}', "$.x: unknown key"),
                           ('{"strikes": [{"node": "n2", "check": "a", "part": "", "first": "today", "by": "prolog"}], "passes": []}',
                            "$.strikes[0].first: a time like")):
            self.states({f"n{i}": ("IDLE+DRAIN", "muster: copy.h2d: x") if i == 3 else ("IDLE", "") for i in range(1, 9)})
            for arguments, code, after in ((("nodes", "report.json", "--waiting"), 2, ""), (("drain", self.soft(0, h2d("n2")), "--apply"), 0, "first strike;"),
                                           (("resume", "report.json", "--apply"), 0, "passed once;"), (("drain", self.eight([h2d("n2")], name="hard.json"), "--apply", "--per-hour", "9"), 0, "State=DRAIN")):
                with open(os.path.join(self.folder, "muster-strikes.json"), "w", encoding="utf-8") as file:
                    file.write(text)
                done = self.muster(*arguments)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
                self.assertRegex(done.stderr, r"muster-strikes.json: .*" + re.escape(said))
                self.assertIn(after, done.stdout)
            self.assertIsNone(self.kept(), "the next run begins anew")
        undated = self.eight([h2d("n2")], started="noon")
        self.assertEqual(self.muster("drain", undated).returncode, 2)

    def test_only_so_many_in_an_hour_and_of_a_rack(self):
        path = self.eight([h2d(f"n{i}") for i in range(1, 5)])
        done = self.muster("drain", path, "--apply")
        self.assertEqual((done.returncode, [call[1] for call in self.updates()]), (3, ["NodeName=n1"]))
        self.assertEqual(done.stderr.count("muster has drained 1 other of 8 nodes in partition all within an hour, and at most 1 may be drained "
                                           "within an hour"), 3)
        with open(os.path.join(self.folder, "topology"), "w", encoding="utf-8") as file:
            file.write("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-3,8]\nSwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[4-7]\n"
                       "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=leaf[1-2]\n")
        done = self.muster("drain", path, "--apply", "--per-hour", "100%")
        self.assertEqual([call[1] for call in self.updates()], ["NodeName=n1", "NodeName=n2", "NodeName=n4"])
        self.assertIn("muster: n3: muster has drained 2 others of 4 nodes of one rack or switch within an hour, and at most 2", done.stderr)
        self.assertEqual(self.muster("drain", path, "--apply", "--per-hour", "100%", "--per-rack", "3").returncode, 0)
        self.assertEqual(self.state("n3")[0], "IDLE+DRAIN")
        for wrong in (("--per-hour", "x"), ("--per-rack", "-1")):
            self.assertEqual(self.muster("drain", path, *wrong).returncode, 2)

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

    def test_a_long_list_of_nodes_is_read_to_its_end_or_not_taken(self):
        """Of a cluster with some thousand nodes; what is cut tells nothing of the nodes behind it."""
        for lines, code in ((30000, 0), (1700000, 3)):
            with open(os.path.join(self.folder, "bin", "sinfo"), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n/usr/bin/yes 'gpu|other|idle|2020-01-01T00:00:00|none none' | /usr/bin/head -n {lines}\necho 'n2|all|idle|Unknown|none'\n")
            done = self.muster("drain", self.save(["n2"], [h2d("n2")]))
            self.assertEqual((done.returncode, done.stdout.count("State=DRAIN")), (code, code == 0), done.stderr)
        self.assertIn("muster: n2: sinfo --noheader: exit status 0: it printed too much\n", done.stderr)

    def test_whoever_finds_too_many_afterwards_undrains_itself(self):
        """As when many nodes drain themselves at once: others come between the first count and the second."""
        with open(os.path.join(self.folder, "bin", "sinfo"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n[ -e {self.folder}/asked ] && echo 'n1|all|drained|2020-01-01T00:00:00|muster(health): x'\n"
                       f": >{self.folder}/asked\necho 'n2|all|idle|Unknown|none'\n")
        done = self.muster("drain", self.save(["n2"], [h2d("n2")]), "--apply", "--at-most", "1")
        self.assertEqual((done.returncode, self.state("n2")), (3, ("IDLE", "")), done.stderr)
        self.assertEqual([call[2] for call in self.updates()], ["State=DRAIN", "State=UNDRAIN"])
        self.mood("keep drained")
        os.unlink(os.path.join(self.folder, "asked"))
        done = self.muster("drain", self.save(["n2"], [h2d("n2")]), "--apply", "--at-most", "1")
        self.assertEqual((done.returncode, self.state("n2")[0]), (0, "IDLE+DRAIN"), "no job may start there: " + done.stderr)
        self.assertEqual([call[2] for call in self.updates()][2:], ["State=DRAIN", "State=UNDRAIN", "State=UNDRAIN"])
        self.assertIn("\nmuster: n2: stays drained: Slurm does not undrain it\n", done.stderr)

    def test_a_node_that_is_down_or_about_to_reboot_keeps_its_drain(self):
        """Nor is anything but the drain of the others touched."""
        states = ("DOWN*+DRAIN", "IDLE+DRAIN+REBOOT_REQUESTED", "IDLE+DRAIN+MAINTENANCE", "IDLE+DRAIN+POWERING_UP", "FAILING+DRAIN", "MIXED+DRAIN")
        self.states({f"n{i + 1}": (state, "muster: copy.h2d: x") for i, state in enumerate(states)})
        done = self.muster("resume", "n[1-6]", "--apply")
        self.assertEqual((done.returncode, self.updates()), (0, [["update", "NodeName=n6", "State=UNDRAIN"]]))
        self.assertIn("# n1: skipped: Slurm has more to do there than to undrain it (DOWN*+DRAIN: muster: copy.h2d: x)\n", done.stdout)

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
        """Whether a report undrains a node that has this reason, and for what is no check, a second one ten minutes later."""
        self.states({name: ("IDLE+DRAIN", reason), "n2": ("IDLE", "")})
        done = self.muster("resume", self.save(names, findings, verdict="pass", checks=checks, **more), "--apply")
        if "passed once" in done.stdout:
            done = self.muster("resume", self.save(names, findings, verdict="pass", checks=checks, started="2026-11-29T12:10:00Z", **more), "--apply")
        self.assertEqual(done.returncode, 0, done.stderr)
        resumed = self.state(name) == ("IDLE", "")
        self.assertEqual(done.stdout.count("State=UNDRAIN"), resumed)
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

    def probes(self, minute, names, *probes):
        made = report(names, verdict="pass", started=f"2026-11-29T12:{minute:02}:00Z")
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
            self.muster("resume", self.probes(0, ["n1", "n2"], *probes), "--apply")
            self.assertEqual(self.state("n1")[0], "IDLE+DRAIN", "after one pass")
            done = self.muster("resume", self.probes(10, ["n1", "n2"], *probes), "--apply")
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
