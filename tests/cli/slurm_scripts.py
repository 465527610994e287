#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prolog, epilog and health check with stand-ins for muster and for Slurm's commands: when they measure, and what a failure
must be to change a node.

usage: slurm_scripts.py MUSTER SOURCE
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = sys.argv[2]
# `node` takes its exit code from the next line of `codes`; "hang" waits for a signal. All calls are in `calls`.
MUSTER = """#!/bin/sh
echo "$*" >>{0}/calls
case $1 in
bind) printf '# GPU 0\\n# GPU 1\\n' ;;
drain)
	[ ! -e {0}/drain-locked ] || exec /bin/sleep 60
	env >{0}/environment && echo "scontrol update NodeName=gpu-1 State=DRAIN"
	[ ! -e {0}/drain-slow ] || exec /bin/sleep 60
	[ ! -e {0}/drain-fails ] || exit 3
	;;
node)
	code=$(head -n 1 {0}/codes)
	sed -i 1d {0}/codes
	[ "$code" != hang ] || {{ : >{0}/begun && exec /bin/sleep 60; }}
	while [ $# -gt 0 ]; do [ "$1" != --report ] || echo "{{}}" >"$2"; shift; done
	echo "MUSTER said $code"
	exit "$code"
	;;
esac
"""
SQUEUE = """#!/bin/sh
echo squeue >>{0}/asked
"""
SCONTROL = """#!/bin/sh
env >{0}/environment
echo scontrol >>{0}/asked
[ "$(grep -c . {0}/asked)" -ge "$(cat {0}/answers-at)" ] || exit 1
printf 'NodeName=gpu-1 Arch=x86_64\\n   State=%s ThreadsPerCore=1\\n   Reason=MAINT is over\\n' "$(cat {0}/state)"
"""
PS = """#!/bin/sh
[ ! -e {0}/begun ] || echo "{1} slurmstepd: [12.batch]"
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(os.path.join(SOURCE, "slurm"), self.path("slurm"), symlinks=True)
        text = self.read("slurm/node-check.sh").replace("/etc/default/muster", self.path("site"))
        self.put("slurm/node-check.sh", text.replace("/var/log/muster", self.path("log")).replace("-k 1 40", "-k 1 1"))
        os.mkdir(self.path("bin"))
        for name, text in (("muster", MUSTER), ("squeue", SQUEUE), ("scontrol", SCONTROL), ("ps", PS),
                           ("sleep", "#!/bin/sh\nexec /bin/sleep 0.1\n"), ("logger", "#!/bin/sh\n")):
            self.put("bin/" + name, text.format(self.folder, os.getpid()) if "{0}" in text else text)
            os.chmod(self.path("bin/" + name), 0o755)
        self.put("answers-at", "1")
        self.put("state", "IDLE")
        self.put("site", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        if not os.path.exists(self.path(name)):
            return ""
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def put(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_script(self, name, codes, **variables):
        """The script's exit code; `calls` and `asked` are those of this run."""
        self.put("codes", "".join(f"{code}\n" for code in codes))
        for old in ("calls", "asked", "begun"):
            if os.path.exists(self.path(old)):
                os.unlink(self.path(old))
        return subprocess.run([self.path("slurm/" + name)], check=False, timeout=120, stdin=subprocess.DEVNULL, env={
            "PATH": self.path("bin") + ":/usr/bin:/bin", "SLURMD_NODENAME": "gpu-1", **variables}).returncode

    def prolog(self, *codes, gpus="0,1"):
        return self.run_script("prolog.d/50-muster", codes, SLURM_JOB_ID="7", SLURM_JOB_GPUS=gpus, SLURM_SCRIPT_CONTEXT="prolog_slurmd")

    def health(self, *codes):
        self.assertEqual(self.run_script("healthcheck", codes), 0)

    def called(self):
        return [line.split()[0] for line in self.read("calls").splitlines()]

    def test_no_site_file_changes_the_exit_code_or_keeps_a_job_waiting(self):
        for text, measures in (("status=1", True), ("readonly status=1", True), ("export finished=yes status=1", True),
                               ("trap 'exit 1' EXIT", True), ("ulimit -f 1", True), ("kill -9 $$", False), ("exit 3", False),
                               ("while :; do :; done", False), ("/bin/sleep 100", False), ("MUSTER_X=$UNSET", False)):
            self.put("site", text + "\n")
            self.assertEqual((self.prolog(0), "node" in self.called()), (0, measures), text)
        self.assertIn("it takes longer than 5 s", self.read("log/log"))

    def test_a_site_file_sets_what_it_may(self):
        self.put("site", "SKU=\"a b\"\nMUSTER_NODE_OPTIONS=\"--sku $SKU\"\nMUSTER_DRAIN=no\nexport TEXT='it'\"'\"'s\n$(true)'\n")
        self.assertEqual(self.prolog(1), 0)
        self.assertRegex(self.read("calls"), "node .* --sku a b\n")
        self.assertIn("not drained: MUSTER_DRAIN=no", self.read("log/log"))

    def assert_called(self, *wanted):
        """Also in the background."""
        for _ in range(300):
            kept = self.read("calls").splitlines()
            if not set(wanted) - set(kept):
                return
            time.sleep(0.1)
        self.fail((wanted, kept))

    def test_a_trial_drains_nothing_and_keeps_all_results(self):
        """By default where `muster history` of root reads; the log says what would be done."""
        for setting, db in (("MUSTER_HISTORY=/h.db", "/h.db"), ("", "/var/lib/muster/history.db")):
            self.put("site", f"MUSTER_DRAIN=trial\n{setting}\n")
            for run, by, name in (((lambda: self.prolog(1)), "prolog", "prolog"), ((lambda: self.health(1)), "health", "healthcheck")):
                self.assertIn(run(), (0, None), "the exit code")
                self.assert_called(f"history add {self.folder}/log/{name}.json --db {db} --quiet",
                                   f"drain {self.folder}/log/{name}.json --by {by} --at-most 10% --per-hour 10% --per-rack 2 --deadline 5 --history {db}")
        self.assertIn("prolog of job 7, trial: scontrol update NodeName=gpu-1 State=DRAIN\n", self.read("log/log"))
        self.put("state", "IDLE+DRAIN")
        self.put("log/muster-strikes.json", "{}")
        self.health(0)
        self.assert_called(f"history add {self.folder}/log/healthcheck.json --db {db} --quiet")
        self.assertEqual(sorted(self.called()), ["history", "node"])

    def test_with_a_history_it_has_the_first_strikes_and_passes(self):
        self.put("site", "MUSTER_HISTORY='/a b/h.db'\n")
        self.assertEqual(self.prolog(1), 1)
        self.assertRegex(self.read("calls"), r"drain \S+/prolog.json --apply .* --history /a b/h.db\n")
        self.put("log/muster-strikes.json", "{}")
        self.put("state", "IDLE+DRAIN")
        self.health(0)
        self.assertNotIn("drain", self.called(), "of a time without a history")
        self.assertRegex(self.read("calls"), r"resume \S+/healthcheck.json --apply .* --history /a b/h.db\n")

    def test_an_unknown_word_for_drains_drains_nothing(self):
        self.put("site", "MUSTER_DRAIN=Trial\n")
        self.assertEqual((self.prolog(1), self.called()), (0, ["bind", "node"]))
        self.assertIn("prolog of job 7: MUSTER_DRAIN=Trial: yes, no or trial is needed; no node is drained\n", self.read("log/log"))

    def test_a_job_without_gpus_waits_for_no_lock(self):
        self.prolog(0)
        with open(self.path("log/lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual((self.prolog(gpus=""), self.called()), (0, []))
            self.assertTrue(self.read("log/log").endswith("check skipped: the job has no GPU\n"))
            self.assertEqual((self.prolog(), self.called()), (0, []))
            self.assertTrue(self.read("log/log").endswith("check skipped: the lock was busy for 10 s\n"))

    def test_a_prolog_measures_once_and_drains_what_muster_drains(self):
        self.assertEqual((self.prolog(0), self.called()), (0, ["bind", "node"]))
        self.assertEqual((self.prolog(1), self.called()), (1, ["bind", "node", "drain"]))
        self.assertRegex(self.read("calls"), r"drain \S+/prolog.json --apply --by prolog --at-most 10% --per-hour 10% --per-rack 2 --deadline 5\n")
        self.put("site", "MUSTER_DRAIN_AT_MOST=8\nMUSTER_DRAIN_PER_HOUR=4\nMUSTER_DRAIN_PER_RACK=1\n")
        self.prolog(1)
        self.assertIn(" --at-most 8 --per-hour 4 --per-rack 1 ", self.read("calls"))
        self.put("bin/muster", MUSTER.format(self.folder).replace("scontrol update NodeName=gpu-1 State=DRAIN", "# gpu-1: not drained: copy.h2d is a first strike"))
        self.assertEqual(self.prolog(1), 0)
        self.assertIn("prolog of job 7: # gpu-1: not drained: copy.h2d is a first strike\n", self.read("log/log"))

    def test_a_pass_is_told_where_a_first_strike_waits(self):
        for run in (self.prolog, self.health):
            run(0)
            self.assertNotIn("drain", self.called())
            self.put("log/muster-strikes.json", "{}")
            run(0)
            self.assertEqual(self.called()[-1], "drain")
            os.unlink(self.path("log/muster-strikes.json"))

    def test_the_measurement_is_kept(self):
        self.put("site", "MUSTER_HISTORY=/h.db\n")
        for run, name in ((lambda: self.prolog(1), "prolog"), (lambda: self.health(1), "healthcheck"), (lambda: self.prolog(0), "prolog")):
            run()
            self.assert_called(f"history add {self.folder}/log/{name}.json --db /h.db --quiet")

    def test_a_health_check_drains_and_offers_drained_nodes_their_return(self):
        for state, code, called in (("IDLE", 0, ["node"]), ("IDLE", 1, ["node", "drain"]), ("IDLE", 3, ["node"]), ("IDLE+DRAIN", 0, ["node", "resume"]),
                                    ("IDLE+DRAIN", 1, ["node", "drain"]), ("IDLE+DRAIN", 3, ["node"])):
            self.put("state", state)
            self.health(code)
            self.assertEqual(self.called(), called, (state, code))

    def test_no_log_is_written_where_users_can_put_a_link(self):
        for mode, written in ((0o755, True), (0o777, False), (0o1777, False)):
            os.makedirs(self.path("json"), exist_ok=True)
            os.chmod(self.path("json"), mode)
            self.put("site", f"MUSTER_JSON_LOG={self.path('json/x')}\n")
            self.health(0)
            self.assertEqual(("--log-format json" in self.read("calls"), "MUSTER_JSON_LOG: cannot write to" in self.read("log/log")), (written, not written))

    def test_a_drain_counts_where_strikes_cannot_be_written(self):
        self.put("drain-fails", "")
        self.assertEqual(self.prolog(1), 1)

    def test_a_drain_has_a_time_limit_and_what_it_did_counts(self):
        for name, code in (("drain-slow", 1), ("drain-locked", 0)):
            self.put(name, "")
            self.assertEqual(self.prolog(1), code, name)
            self.assertTrue(self.read("log/log").endswith("muster drain: ended early, exit 124\n"), self.read("log/log"))

    def test_a_job_that_begins_ends_a_health_check(self):
        self.health("hang")
        self.assertEqual(self.called(), ["node"])
        self.assertTrue(self.read("log/log").endswith("check skipped: job 12 has begun\n"), self.read("log/log"))

    def test_slurm_is_asked_three_times(self):
        self.put("answers-at", "3")
        self.health(0)
        self.assertEqual(self.called(), ["node"])
        self.put("answers-at", "4")
        self.health(0)
        self.assertEqual((self.called(), self.read("asked").count("scontrol")), ([], 3))
        self.assertTrue(self.read("log/log").endswith("scontrol does not respond\n"))

    def test_jobs_are_asked_for_only_if_the_state_of_the_node_does_not_tell(self):
        for state, asked, measures in (("IDLE+DRAIN", 0, True), ("ALLOCATED", 0, False), ("MIXED+DRAIN", 0, False), ("IDLE+COMPLETING", 0, False),
                                       ("DOWN", 1, True)):
            self.put("state", state)
            self.health(0)
            self.assertEqual((self.read("asked").count("squeue"), "node" in self.called()), (asked, measures), state)

    def test_options_of_slurms_commands_in_the_environment_are_not_for_the_scripts(self):
        hostile = {"SQUEUE_STATES": "PENDING", "SCONTROL_FUTURE": "1", "SINFO_PARTITION": "none", "SLURM_CLUSTERS": "other",
                   "SLURM_TIME_FORMAT": "%s\nSLURM_CONF=/x", "SLURM_JOB_NODELIST": "gpu-9"}
        self.put("site", "export SLURM_CONF=/shared/slurm.conf SLURM_JWT=token SQUEUE_USERS=nobody\n")
        for run in (lambda: self.run_script("healthcheck", [0], **hostile),
                    lambda: self.run_script("prolog.d/50-muster", [1], SLURM_JOB_ID="7", SLURM_JOB_GPUS="0,1", **hostile)):
            run()
            seen = dict(re.findall(r"^((?:SLURM|SQUEUE|SCONTROL|SINFO)_\w+)=(.*)", self.read("environment"), re.MULTILINE))
            self.assertLessEqual({"SLURM_CONF": "/shared/slurm.conf", "SLURM_JWT": "token"}.items(), seen.items())
            self.assertLessEqual(set(seen), {"SLURM_CONF", "SLURM_JWT", "SLURM_JOB_ID", "SLURM_JOB_GPUS"})

    def test_a_node_at_which_somebody_works_is_not_measured(self):
        for state in ("IDLE+MAINTENANCE", "IDLE+PLANNED", "IDLE+POWERING_DOWN", "IDLE+DRAIN+REBOOT_REQUESTED", "DOWN+REBOOT_ISSUED"):
            self.put("state", state)
            self.health(0)
            self.assertEqual(self.called(), [], state)
            self.assertTrue(self.read("log/log").endswith(f"check skipped: the node is {state}\n"))
        self.put("state", "IDLE+DRAIN")
        self.health(0)
        self.assertEqual(self.called(), ["node", "resume"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
