#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--expect-path, and "paths" of files, with real folders: what is there, what is not, and what never answers.

usage: paths.py MUSTER
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

MUSTER = os.path.abspath(sys.argv[1])
SKU = "Standard_NC24ads_A100_v4"
NOBODY = 65534


class Paths(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.chmod(self.folder, 0o777)
        self.apps = os.path.join(self.folder, "apps")
        os.makedirs(os.path.join(self.apps, "bin"))
        self.put("apps/bin/python", "python")
        self.put("apps/VERSION", "2.9")

    def put(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def program(self):
        """A copy of muster and of its files where other users reach it, wherever this tree is."""
        folder = os.path.join(self.folder, "program")
        configs = "share/muster/configs"
        shutil.copytree(os.path.join(os.path.dirname(MUSTER), configs), os.path.join(folder, configs))
        return shutil.copy(MUSTER, folder)

    def run_muster(self, *options, user=None):
        """The exit code, the report (None when there is none) and what stands on standard error."""
        report = os.path.join(self.folder, "report.json")
        program = MUSTER if user is None else self.program()
        done = subprocess.run([program, "node", "--profile", "quick", "--report", report, *options], capture_output=True, text=True,
                              timeout=150, check=False, user=user, group=user, env=dict(os.environ, MUSTER_METADATA_URL=""))
        loaded = None
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                loaded = json.load(file)
            os.remove(report)
        return done.returncode, loaded, done.stderr

    def samples(self, report, metric):
        """By path: the value, or why there is none."""
        found = {}
        for sample in report["run"]["nodes"][0]["samples"]:
            if sample["metric"] == metric:
                found[sample["labels"]["path"]] = sample["reason"] if sample["value"] is None else sample["value"]
        return found

    def findings(self, report):
        return {(f["check"], f["status"], f["where"].get("labels", {}).get("path")) for f in report["findings"]
                if f["check"].startswith("path.") or f["check"] == "probe.paths"}

    def test_what_is_there_passes_and_what_is_not_fails(self):
        link, fifo = os.path.join(self.folder, "link"), os.path.join(self.folder, "fifo")
        os.symlink("apps", link)
        os.mkfifo(fifo)
        missing, version = os.path.join(self.folder, "nothing"), os.path.join(self.apps, "VERSION")
        start = time.monotonic()
        _, report, _ = self.run_muster(*(word for path in (self.apps, link, version, fifo, missing, self.apps)
                                         for word in ("--expect-path", path)))
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(self.samples(report, "node.path_type"),
                         {self.apps: "folder", link: "folder", version: "file", fifo: "a FIFO", missing: "missing"})
        hashes = self.samples(report, "node.path_hash")
        self.assertEqual(hashes[self.apps], hashes[link])
        self.assertRegex(hashes[self.apps], r"\A[0-9a-f]{16}, 3 entries\Z")
        self.assertRegex(hashes[version], r"\A[0-9a-f]{16}, 3 bytes\Z")
        self.assertEqual(self.findings(report), {("path.there", "fail", fifo)})
        observed = [f["observed"] for f in report["findings"] if f["check"] == "path.there"]
        self.assertEqual(observed, [f"a FIFO with path {fifo}; missing with path {missing}"])
        self.assertIn("paths", report["run"]["job"]["measures"])

    def test_without_paths_nothing_says_so(self):
        _, report, _ = self.run_muster()
        self.assertEqual(self.findings(report), set())
        self.assertEqual(self.samples(report, "node.path_type"), {})
        self.assertNotIn("paths", report["run"]["job"].get("measures", []))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another user")
    def test_what_the_user_may_not_read_fails(self):
        closed = self.put("closed", "secret")
        os.chmod(closed, 0)
        inside = os.path.join(self.apps, "bin")
        os.chmod(inside, 0o700)
        _, report, _ = self.run_muster("--expect-path", closed, "--expect-path", inside, "--expect-path", self.apps, user=NOBODY)
        denied = "unreadable: Permission denied"
        self.assertEqual(self.samples(report, "node.path_type"), {closed: denied, inside: denied, self.apps: "folder"})

    def test_a_list_in_an_overlay_counts(self):
        version = os.path.join(self.apps, "VERSION")
        overlay = self.put("site.json", json.dumps({"paths": [version, {"path": self.apps, "content": True}]}))
        for sku in ([], ["--sku", SKU]):
            _, report, _ = self.run_muster("--overlay", overlay, "--expect-path", version, *sku)
            hashes = self.samples(report, "node.path_hash")
            self.assertEqual(set(hashes), {version, self.apps})
            self.assertRegex(hashes[self.apps], r"\A[0-9a-f]{16}, 3 entries, 9 bytes of content\Z")
            self.assertEqual(self.findings(report), set())

    def test_a_list_in_a_file_counts_and_an_overlay_replaces_it(self):
        version = os.path.join(self.apps, "VERSION")
        checks = {"site.os": {"metric": "node.os", "observe": True, "source": "-"}}
        file = self.put("type.json", json.dumps({"schema_version": 1, "name": "type", "paths": [self.apps], "checks": checks}))
        _, report, _ = self.run_muster("--sku", file)
        self.assertEqual(set(self.samples(report, "node.path_type")), {self.apps})
        for paths, expected in (([version], {version}), (None, set())):
            overlay = self.put("site.json", json.dumps({"paths": paths}))
            _, report, _ = self.run_muster("--sku", file, "--overlay", overlay)
            self.assertEqual(set(self.samples(report, "node.path_type")), expected)

    def test_a_wrong_list_is_named(self):
        for paths, text in ((["apps"], r'\$\.paths\[0\]: an absolute path is needed, found "apps"'),
                            ([{"path": "apps"}], r'\$\.paths\[0\]\.path: an absolute path is needed, found "apps"'),
                            ([{"paths": "/apps"}], r"\$\.paths\[0\]"),
                            ([{"path": "/apps", "content": 1}], r"\$\.paths\[0\]\.content"),
                            ([{"content": True}], r"\$\.paths\[0\].*path"),
                            ([7], r"\$\.paths\[0\]"),
                            ("/apps", r"\$\.paths"),
                            (["/" + "x" * 4095], r"\$\.paths\[0\]"),
                            (["/x"] * 65, r"\$\.paths: more than 64 paths")):
            overlay = self.put("site.json", json.dumps({"paths": paths}))
            for command in (["node", "--sku", SKU, "--overlay", overlay], ["lint", "--sku", SKU, overlay]):
                done = subprocess.run([MUSTER, *command], capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)
                self.assertEqual(done.returncode, 2, (paths, done.stdout))
                self.assertRegex(done.stderr + done.stdout, text)
        code, _, err = self.run_muster("--expect-path", "apps")
        self.assertEqual(code, 2)
        self.assertRegex(err, r'--expect-path apps: an absolute path is needed, found "apps"')

    @unittest.skipUnless(os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK), "needs root and /dev/fuse")
    def test_a_file_system_that_never_answers_is_named(self):
        mount = os.path.join(self.folder, "stuck")
        os.mkdir(mount)
        libc = ctypes.CDLL(None, use_errno=True)
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        try:
            options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
            if libc.mount(b"stuck", mount.encode(), b"fuse", 0, options) != 0:
                self.skipTest(f"mount: {os.strerror(ctypes.get_errno())}")
            try:
                _, report, _ = self.run_muster("--expect-path", self.apps, "--expect-path", mount + "/data")
            finally:
                libc.umount2(mount.encode(), 2)
        finally:
            os.close(device)
        self.assertEqual(self.samples(report, "node.path_type"), {self.apps: "folder"})
        finding = [f for f in report["findings"] if f["check"] == "probe.paths"]
        self.assertEqual(len(finding), 1, report["findings"])
        self.assertIn(f"read {mount}/data", finding[0]["observed"])
        self.assertIn("did not answer", finding[0]["advice"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
