#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prolog and epilog write to no disk unless the site says so, and a node is not drained because it may not.

usage: prolog_storage.py MUSTER SOURCE     needs root: /etc/default is replaced in a mount namespace of its own
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

MUSTER, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
# In place of the program: two GPUs, a drain that leaves a trace, and the real program for all else.
PROGRAM = """#!/bin/sh
case $1 in
bind) echo '# GPU 0'; echo '# GPU 1' ;;
drain) echo "$@" >>{folder}/drained; exit 0 ;;
*) echo "${{MUSTER_STORAGE_IN_PROLOG:-unset}} $*" >>{folder}/calls; exec {muster} "$@" ;;
esac
"""


class Prolog(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="muster-prolog-")
        os.chmod(self.folder, 0o755)
        os.mkdir(f"{self.folder}/scratch")
        self.write("muster", PROGRAM.format(folder=self.folder, muster=MUSTER))
        os.chmod(f"{self.folder}/muster", 0o755)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def check(self, context, settings):
        """Run the script as slurmd does, with this site file."""
        self.write("default", f"MUSTER={self.folder}/muster\nMUSTER_LOG={self.folder}/log\n{settings}\n")
        os.makedirs(f"{self.folder}/log", mode=0o700, exist_ok=True)
        inner = ('mount -t tmpfs none /etc/default && cp "$0" /etc/default/muster && '
                 f'exec sh {SOURCE}/slurm/prolog.d/50-muster')
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0,1",
                       "SLURM_SCRIPT_CONTEXT": context}
        done = subprocess.run(["unshare", "--mount", "sh", "-c", inner, f"{self.folder}/default"], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        return done.returncode, self.read("log/log"), done.stdout

    def test_storage_is_refused_and_the_node_stays_in_service(self):
        for context in ("prolog_slurmd", "epilog_slurmd"):
            with self.subTest(context):
                code, log, said = self.check(context, f"MUSTER_NODE_OPTIONS='--storage {self.folder}/scratch'")
                self.assertEqual(code, 0, (log, said))
                self.assertIn("exit 2: ", log)
                self.assertIn("--storage in a prolog or epilog needs MUSTER_STORAGE_IN_PROLOG=yes", log)
                self.assertEqual(self.read("drained"), "")

    def test_the_site_file_may_ask_for_it(self):
        for setting, code in (("yes", None), ("no", 2), ("'YES '", 2)):
            with self.subTest(setting):
                options = f"--storage {self.folder}/scratch --storage-bytes 16M --help"
                self.check("prolog_slurmd", f"MUSTER_STORAGE_IN_PROLOG={setting}\nMUSTER_NODE_OPTIONS='{options}'")
                self.assertIn(setting.strip("'") + " node ", self.read("calls"))
        options = f"--storage {self.folder}/scratch --storage-bytes 16M"
        _, log, _ = self.check("prolog_slurmd", f"MUSTER_STORAGE_IN_PROLOG=yes\nMUSTER_NODE_OPTIONS='{options}'")
        self.assertNotIn("exit 2: ", log.splitlines()[-1])
        self.assertIn("MUSTER ", log.splitlines()[-1])

    def test_the_profile_full_measures_no_disks_there(self):
        environment = dict(os.environ, SLURM_SCRIPT_CONTEXT="prolog_slurmd")
        environment.pop("MUSTER_STORAGE_IN_PROLOG", None)
        # without a GPU, and most likely without a scratch
        command = [MUSTER, "node", "--sku", "generic-nvidia", "--profile", "full", "--deadline", "100",
                   "--storage-bytes", "16M", "--report", f"{self.folder}/report.json"]
        for context, measured in (("prolog_slurmd", False), ("", True)):
            environment["SLURM_SCRIPT_CONTEXT"] = context
            subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=300, check=False)
            self.assertEqual("node.scratch_io" in self.read("report.json"), measured, context)


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        print("needs root, and mount namespaces")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
