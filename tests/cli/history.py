#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster history`: reports in, answers out, in all formats; many writers at once; files that are no history.

usage: history.py MUSTER
"""

import os
import sys

# in place of this folder, whose html.py would be taken for Python's own
sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools")

import contextlib
import csv
import html.parser
import io
import json
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from made_reports import finding, report, save
from report_commands import MUSTER, Commands, h2d

GPU = "0001:00:00.0"


def run_of(day, nodes, values=None, findings=(), verdict="pass", simulated=False, profile="quick", job=None, sku="T"):
    """A report of a day, with the speed of one GPU on each node."""
    made = report(nodes, findings, verdict=verdict, simulated=simulated, job=job)
    made["sku"]["name"] = sku
    made["run"]["job"].update(started=f"2026-01-{day:02}T12:00:00Z", profile=profile)
    for node, value in zip(made["run"]["nodes"], values or []):
        node["ranks"][0].update(gpu=GPU)
        node["ranks"][0]["samples"] = [{"metric": "gpu.h2d_gbps", "labels": {"gpu": GPU}, "value": value}]
    return made


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.data = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.data.append(data)


class History(Commands):
    def setUp(self):
        super().setUp()
        self.db = os.path.join(self.folder, "history.db")

    def put(self, name, made):
        return save(self.folder, name, made)

    def history(self, *arguments, code=0):
        done = self.muster("history", *arguments, "--db", self.db)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def rows(self, *arguments):
        return json.loads(self.history(*arguments, "--format", "json"))["rows"]

    def add(self, *made):
        paths = [self.put(f"{i}.json", one) for i, one in enumerate(made)]
        self.history("add", *paths)

    def test_reports_are_added_once(self):
        paths = [self.put(f"{day}.json", run_of(day, ["a", "b"])) for day in (1, 2)]
        copy = self.put("copy.json", run_of(1, ["a", "b"]))
        self.assertEqual(self.history("add", *paths, copy), "2 added\n1 already there\n")
        again = self.put("again.json", run_of(1, ["a", "b"], findings=[h2d("a")], verdict="fail"))
        self.assertEqual(self.history("add", again), "0 added\n1 updated\n")
        self.assertEqual(self.history("add", again, "--quiet"), "")
        self.assertEqual([row["verdicts"] for row in self.rows()], ["F.", ".."])

    def test_a_bad_report_does_not_keep_out_the_others(self):
        good, bad = self.put("good.json", run_of(1, ["a"])), self.put("bad.json", {"schema_version": 1})
        timeless = run_of(2, ["a"])
        del timeless["run"]["job"]["started"]
        said = self.history("add", bad, self.put("timeless.json", timeless), good, code=2)
        self.assertIn(bad, said)
        self.assertIn("timeless.json: $.run.job.started: a time as", said)
        self.assertEqual(len(said.splitlines()), 2)
        self.assertEqual(self.rows()[0]["runs"], 1)

    def test_nodes_stand_with_the_failed_ones_first(self):
        self.add(run_of(1, ["a", "b", "c"]),
                 run_of(2, ["a", "b"], findings=[h2d("b")], verdict="fail"),
                 run_of(3, ["a", "b"], findings=[h2d("b"), finding("warn", "ib.rate", "a", port="mlx5_0/1")],
                        verdict="fail"),
                 # of the whole job: it belongs to no node
                 run_of(4, ["a", "c"], findings=[finding("fail", "ring.2nodes.8m")], verdict="fail"),
                 run_of(5, ["a"], simulated=True))
        rows = self.rows()
        self.assertEqual([(row["node"], row["last"], row["since"], row["verdicts"], row["last_findings"]) for row in rows],
                         [("b", "fail", "2026-01-02", ".FF", f"copy.h2d {H2D_GPU}"),
                          ("a", "pass", "2026-01-04", "..w.", "ib.rate mlx5_0/1"),
                          ("c", "pass", "2026-01-01", "..", None)])
        self.assertEqual([row["node"] for row in self.rows("--node", "a,c")], ["a", "c"])
        self.assertEqual([row["runs"] for row in self.rows("--since", "2026-01-03", "--node", "a")], [2])
        self.assertEqual([row["runs"] for row in self.rows("--simulated")], [1])
        text = self.history()
        self.assertIn("1 of 3 nodes failed their last run", text)
        self.assertIn("1 simulated run is not included", text)
        self.assertIn("SIMULATED", self.history("--simulated"))

    def test_flapping_nodes_failed_some_of_their_last_runs(self):
        failing = {"a": (1, 2, 3), "b": (2, 4), "c": (4,)}  # a failed long ago, c once
        made = []
        for day in range(1, 14):
            bad = [node for node, days in failing.items() if day in days] + (["d"] if day > 3 else [])
            made.append(run_of(day, ["a", "b", "c", "d"], findings=[h2d(node) for node in bad],
                               verdict="fail" if bad else "pass"))
        self.add(*made)
        self.assertEqual([row["node"] for row in self.rows("flapping")], [])  # d failed all of them
        self.assertEqual([(row["node"], row["failed"]) for row in self.rows("flapping", "--runs", "13")],
                         [("d", 10), ("a", 3), ("b", 2)])
        self.assertEqual([row["node"] for row in self.rows("flapping", "--runs", "12", "--failed", "1")],
                         ["d", "a", "b", "c"])
        self.assertIn("--failed: less than --runs (2) is needed, found 2",
                      self.history("flapping", "--runs", "2", code=2))

    def test_values_over_time_are_not_mixed(self):
        self.add(*(run_of(day, ["a", "b"], [26 - day, 20]) for day in range(1, 5)),
                 run_of(5, ["a"], [50], profile="full"), run_of(6, ["a"], [60], sku="U"))
        rows = self.rows("--metric", "gpu.h2d_gbps")
        self.assertEqual([(row["machine_type"], row["profile"], row["node"], row["values"], row["lowest"], row["median"],
                           row["newest"]) for row in rows],
                         [("T", "full", "a", 1, 50, 50, 50), ("T", "quick", "b", 4, 20, 20, 20),
                          ("T", "quick", "a", 4, 22, 23.5, 22), ("U", "quick", "a", 1, 60, 60, 60)])
        self.assertEqual(rows[2]["over_time"], "█▆▃▁")
        rows = self.rows("--metric", "gpu.h2d_gbps", "--node", "a", "--sku", "T", "--profile", "quick")
        self.assertEqual([(row["part"], row["lowest_at"]) for row in rows], [(GPU, "2026-01-04")])
        self.assertEqual(self.rows("--metric", "gpu.d2h_gbps"), [])

    def test_the_worst_are_lowest_of_their_machine_type(self):
        nodes = [f"n{i}" for i in range(10)]
        speeds = [26.0, 26.1, 26.2, 26.1, 26.0, 25.9, 26.1, 19.0, 26.2, 26.1]
        self.add(*(run_of(day, nodes, speeds) for day in (1, 2, 3)), run_of(4, nodes[:7], [5] * 7, sku="U"))
        rows = self.rows("worst", "--since", "2026-01-01")
        self.assertEqual((rows[0]["node"], rows[0]["part"], rows[0]["key"], rows[0]["median"], rows[0]["percentile"],
                          rows[0]["peers"]), ("n7", GPU, "gpu.h2d_gbps", 19, 10, 10))
        self.assertLess(rows[0]["z"], -3.5)
        self.assertGreater(rows[1]["z"], -3.5)
        self.assertEqual({row["machine_type"] for row in rows}, {"T"})  # seven are too few to compare

    def test_what_changed_at_a_date(self):
        nodes = ["a", "b", "c"]
        self.add(*(run_of(day, nodes, [26 + day / 100, 26, 20 + 3 * (day % 2)]) for day in range(1, 10)),
                 *(run_of(day, nodes, [20, 25, 20 + 3 * (day % 2)]) for day in range(10, 13)),
                 run_of(13, ["a"], [90], profile="full"))
        for before, median in ((("--before", "2026-01-01"), 26.05), ((), 26.06)):  # by default the 7 days before
            rows = self.rows("diff", "--since", "2026-01-10", *before)
            self.assertEqual([(row["change"], row["node"], row["before"], row["after"]) for row in rows],
                             [("worse", "a", median, 20)])
        self.assertIn("say with --since when the change was", self.history("diff", code=2))
        self.assertIn("is not before --since", self.history("diff", "--since", "2026-01-10", "--before", "2026-01-10",
                                                            code=2))
        self.assertIn("no node was measured both before and after", self.history("diff", "--since", "2026-01-01"))

    def test_a_part_of_many_reports_is_read_and_said(self):
        self.add(*(run_of(1 + job // 10, ["a"], [26 if job < 60 else 20], job=str(job)) for job in range(120)))
        note = "of 120 reports 100 were read, in blocks spread over the time (--reports 0 reads all)"
        ask = ("diff", "--since", "2026-01-07", "--before", "2026-01-01")
        self.assertIn(note, self.history(*ask, "--reports", "100"))
        [row] = self.rows(*ask, "--reports", "100")
        self.assertEqual((row["before"], row["after"], row["values_before"], row["values_after"]), (26, 20, 50, 50))
        for reports in ((), ("--reports", "0"), ("--reports", "120")):
            self.assertNotIn("were read", self.history(*ask, *reports))
        self.assertIn("were read", self.history("worst", "--since", "2026-01-01", "--reports", "100"))
        self.assertIn("--reports: 0 for all, or at least 100 is needed, found 99", self.history(*ask, "--reports", "99", code=2))

    def test_hostile_names_inject_nothing(self):
        names = ["=cmd|' /C calc'!A0", "<script>alert(1)</script>", "a\x1b[31mb", "'; DROP TABLE reports; --", '"quoted",x']
        self.add(run_of(1, names, [1] * 5, findings=[h2d(names[0])], verdict="fail", sku="@SUM(1)"))
        text = self.history("--rows", "0")
        self.assertNotIn("\x1b", text)
        table = list(csv.reader(io.StringIO(self.history("--format", "csv"), newline="")))
        self.assertEqual(len(table), 6)
        for row in table[1:]:
            self.assertEqual(len(row), len(table[0]))
            for cell in row:
                self.assertNotIn(cell[:1], ("=", "+", "@", "\t", "\r"))
        self.assertIn("'" + names[0], [row[0] for row in table])
        page = Page(self.history("--format", "html"))
        self.assertNotIn("script", [tag for tag, _ in page.tags])
        self.assertIn("<script>alert(1)</script>", page.data)
        self.assertFalse([value for _, attrs in page.tags for name, value in attrs.items()
                          if name in ("src", "href") or name.startswith("on")])
        self.assertEqual(len(self.rows()), 5)

    def test_times(self):
        self.add(run_of(1, ["a"]))
        for wrong in ("yesterday", "2026-13-01", "0d", "7", "-7d", "7dd", "2026-01-01T00:00:00", "99999999d"):
            self.assertIn("--since: a date as 2026-11-20", self.history("--since", wrong, code=2))
        for right in ("7d", "36h", "4w", "2026-01-01", "2026-01-01T00:00:00Z"):
            self.history("--since", right)

    # ---- the file ----

    def test_eight_writers_at_once_lose_nothing(self):
        writers = []
        for writer in range(8):
            paths = [self.put(f"{writer}-{i}.json", run_of(1 + i, [f"n{writer}"], [20], job=str(writer)))
                     for i in range(12)] + [self.put(f"same-{writer}.json", run_of(20, ["x"], [20], job="x"))]
            writers.append(subprocess.Popen([MUSTER, "history", "add", "--db", self.db, *paths],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        said = [writer.communicate(timeout=100) for writer in writers]
        self.assertEqual([writer.returncode for writer in writers], [0] * 8, said)
        self.assertEqual(sorted(out for out, _ in said), ["12 added\n1 already there\n"] * 7 + ["13 added\n"])
        rows = self.rows()
        self.assertEqual({row["node"]: row["runs"] for row in rows}, {**{f"n{i}": 12 for i in range(8)}, "x": 1})
        with sqlite3.connect(self.db) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(sorted(os.path.basename(path) for path in os.listdir(self.folder) if "history" in path),
                         ["history.db"])

    def assert_refused(self, why, code=2):
        path = self.put("one.json", run_of(1, ["a"]))
        before = self.content()
        for arguments in (("add", path), ()):
            said = self.history(*arguments, code=code)
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn(f"{self.db}: {why}", said)
        self.assertEqual(self.content(), before)

    def content(self):
        with open(self.db, "rb") as file:
            return file.read()

    def write(self, content):
        with open(self.db, "wb") as file:
            file.write(content)

    def test_what_is_no_history_is_refused_and_stays(self):
        self.write(b"{\"a report\": \"and no database, but with more than a hundred bytes, as a header of SQLite has them, "
                   b"and some more\"}\n")
        self.assert_refused("not an SQLite database")
        os.remove(self.db)
        with sqlite3.connect(self.db) as db:
            db.execute("CREATE TABLE other(a)")
        self.assert_refused("a database of another program, not a history of muster")

    def test_a_newer_or_damaged_history_is_refused_and_stays(self):
        self.add(*(run_of(day, ["a", "b"], [20, 21]) for day in range(1, 20)))
        whole = self.content()
        self.write(whole[:len(whole) // 2])
        self.assert_refused("damaged: ")
        self.write(whole[:50])
        self.assert_refused("damaged: ")
        self.write(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        self.assert_refused("damaged: ")
        self.write(whole)
        with sqlite3.connect(self.db) as db:
            db.execute("PRAGMA user_version = 9")
        db.close()
        self.assert_refused("a newer muster made this history (schema 9, this muster knows 2)")

    def test_a_full_disk_loses_nothing(self):
        self.add(run_of(1, ["a"], [20]))
        size = os.path.getsize(self.db)
        paths = [self.put(f"more-{i}.json", run_of(2, [f"n{i}-{j}" for j in range(400)], [20] * 400)) for i in range(2)]
        done = subprocess.run([MUSTER, "history", "add", "--db", self.db, *paths], capture_output=True, text=True,
                              check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192,) * 2))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"history\.db: cannot be read or written: (File too large|disk I/O error)\n"
                                      r"muster: not added: 2 of 2 reports\n$")
        self.assertEqual([(row["node"], row["runs"]) for row in self.rows()], [("a", 1)])
        self.assertEqual(self.history("add", *paths), "2 added\n")

    def test_a_locked_out_or_missing_file(self):
        self.assertIn("there is no such history: `muster history add REPORT` makes one", self.history(code=2))
        self.assertFalse(os.path.exists(self.db))
        path = self.put("one.json", run_of(1, ["a"]))
        os.mkfifo(self.db)
        self.assertIn("not a file", self.history("add", path, code=2))
        os.remove(self.db)
        self.db = os.path.join(self.folder, "none", "at-all", "history.db")
        self.assertIn(f"{self.folder}/none: No such file", self.history("add", path, code=2))
        self.assertEqual(f"muster: {self.db}: there is no such history: `muster history add REPORT` makes one\n", self.history(code=2))
        self.db = os.path.join(self.folder, "new", "history.db")
        self.assertIn("there is no such history", self.history(code=2))
        self.history("add", path)
        self.assertEqual(self.rows()[0]["node"], "a")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_writes_only_where_users_cannot(self):
        path = self.put("one.json", run_of(1, ["a"]))
        self.history("add", path)
        shared, real = os.path.join(self.folder, "shared"), self.db
        os.mkdir(shared)
        for mode in (0o777, 0o1777, 0o775):
            os.chmod(shared, mode)
            self.db = os.path.join(shared, "history.db")
            self.assertIn(f"{shared}: users can change what is in it", self.history("add", path, code=2))
            self.assertEqual(os.listdir(shared), [])
        os.chmod(shared, 0o755)
        os.symlink(real, self.db)
        self.assertIn("a symbolic link", self.history("add", path, code=2))
        self.assertEqual(self.rows()[0]["node"], "a")  # reading follows it
        os.remove(self.db)
        os.chown(shared, 1000, 1000)
        self.assertIn(f"{shared}: users can change", self.history("add", path, code=2))
        os.chown(shared, 0, 0)
        self.history("add", path)
        os.chown(self.db, 1000, 1000)
        self.assertIn("belongs to a user", self.history("add", path, code=2))
        os.chmod(shared, 0o777)
        self.assertEqual(self.rows()[0]["node"], "a")

    def program_for_users(self):
        """A copy of muster where other users reach it, wherever this tree is."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        return shutil.copy(MUSTER, folder)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become a user")
    def test_a_user_reads_and_cannot_write(self):
        program, path = self.program_for_users(), self.put("one.json", run_of(1, ["a"]))
        self.history("add", path)
        os.chmod(self.folder, 0o755)
        os.chmod(self.db, 0o644)

        def user(*arguments):
            return subprocess.run([program, "history", *arguments], capture_output=True, text=True, check=False, user=65534,
                                  group=65534, extra_groups=[], env={"HOME": "/nonexistent", "PATH": "/usr/bin"})
        self.assertIn("\na ", user("--db", self.db).stdout)
        path = self.put("two.json", run_of(2, ["a"]))
        os.chmod(path, 0o644)
        done = user("add", "--db", self.db, path)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("cannot be written: the file or its folder is read-only", done.stderr)
        done = user("add", path)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^muster: /nonexistent: [A-Z].*\n$")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to make a user's folder")
    def test_root_reads_no_write_ahead_log_of_a_user(self):
        self.history("add", self.put("one.json", run_of(1, ["a"])))
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.execute("PRAGMA journal_mode = WAL")
        self.assertIn("\na ", self.history())
        os.chown(self.folder, 65534, 65534)
        os.chown(self.db, 65534, 65534)
        before = sorted(os.listdir(self.folder))
        done = self.history(code=2)
        self.assertIn("or reads one with a write-ahead log, only in a folder that only root can write", done)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become a user")
    def test_the_default_is_in_the_users_state_folder(self):
        program, path = self.program_for_users(), self.put("one.json", run_of(1, ["a"]))
        state = os.path.join(self.folder, "state")
        os.chmod(self.folder, 0o755)
        os.mkdir(state)
        os.chown(state, 65534, 65534)
        for environment, file in (({"XDG_STATE_HOME": state, "HOME": "/"}, "muster/history.db"),
                                  ({"HOME": state}, ".local/state/muster/history.db"),
                                  ({"XDG_STATE_HOME": "not/absolute", "HOME": state}, ".local/state/muster/history.db")):
            done = subprocess.run([program, "history", "add", path], capture_output=True, text=True, check=False, user=65534,
                                  group=65534, extra_groups=[], env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(os.path.join(state, file)))
        done = subprocess.run([program, "history"], capture_output=True, text=True, check=False, user=65534, group=65534,
                              extra_groups=[], env={})
        self.assertEqual((done.returncode, done.stderr),
                         (2, "muster: neither XDG_STATE_HOME nor HOME is set: say where with --db PATH\n"))

    def test_no_other_command_loads_sqlite(self):
        needed = subprocess.run(["/usr/bin/ldd", MUSTER], capture_output=True, text=True, check=True).stdout
        self.assertIn("libc.so", needed)
        self.assertNotIn("sqlite", needed)


H2D_GPU = "000b:00:00.0"

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
