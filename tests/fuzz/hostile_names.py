#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Names and messages of machines with quotes, control characters, escape sequences and bytes that are not UTF-8: in the
text they do nothing to a terminal and look like no line of ours, in the JSON they are strings.

usage: hostile_names.py MUSTER
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

MUSTER = os.path.abspath(sys.argv.pop(1))
SKU = "Standard_ND96asr_v4"
# What turns or hides text, besides what Python itself calls not printable.
TURNING = "\u061c\u200b\u200e\u202a\u202e\u2066\u2028\u2029\ufeff"
HOSTILE = ("q\"uo'te\\ \x1b[31mred\x1b[0m \x1b]0;title\x07 \x08\r\n\tMUSTER PASS sku=x\n\x7f \x9b2J \u202egpj.exe\u202c"
           "\u2028\ufeff%s%n </b> \u00b5")
BYTES = HOSTILE.encode() + b" \xff\xfe \xc0\x80 \xed\xa0\x80 \xe2\x82"
AS_TEXT = BYTES.decode("utf-8", "replace")


def environment(**more):
    result = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "PMI", "OMPI", "NCCL", "CUDA"))}
    result.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MUSTER_METADATA_URL="")
    return {**{k.encode(): v.encode() for k, v in result.items()}, **{k.encode(): v for k, v in more.items()}}


def strings(value):
    """All strings in a tree of JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from strings(member)


def twice(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice: {keys}")
    return dict(pairs)


class HostileNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.saved = os.path.join(cls.folder.name, "saved.json")
        subprocess.run([MUSTER, "sim", "--sku", SKU, "--report", cls.saved, "--", "--profile", "quick"], check=True,
                       env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_harmless(self, data):
        text = data.decode("utf-8")  # or this fails
        self.assertEqual([], [c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c in TURNING],
                         ascii(text))
        return text

    def run_muster(self, code, *arguments, **more):
        """Its report; what it printed has been looked at."""
        report = os.path.join(self.folder.name, "report.json")
        done = subprocess.run([MUSTER.encode(), *(a if isinstance(a, bytes) else a.encode() for a in arguments)],
                              capture_output=True, env=environment(**more), timeout=100)
        self.assertEqual(done.returncode, code, done.stderr)
        text = self.assert_harmless(done.stdout)
        self.assert_harmless(done.stderr)
        ours = [line for line in text.split("\n") if line.startswith("MUSTER ")]
        self.assertEqual(ours, [text.rstrip("\n").rpartition("\n")[2]], "one last line, and none that looks like it")
        self.assertNotIn("MUSTER PASS", ours[0])
        with open(report, "rb") as file:
            written = self.assert_harmless(file.read())
        os.unlink(report)
        return json.loads(written, object_pairs_hook=twice), text

    def report_path(self):
        return os.path.join(self.folder.name, "report.json")

    def test_a_saved_report_keeps_them_and_shows_them_escaped(self):
        with open(self.saved, encoding="utf-8") as file:
            report = json.load(file)
        job, [node] = report["run"]["job"], report["run"]["nodes"]
        job["id"] = node["name"] = HOSTILE
        for rank in node["ranks"]:
            rank["gpu"] = rank["gpu_uuid"] = HOSTILE
            for sample in rank["samples"]:
                for label in "gpu", "name":
                    if label in sample.get("labels", {}):
                        sample["labels"][label] = HOSTILE
        for sample in node["samples"] + sum((rank["samples"] for rank in node["ranks"]), []):
            if "port" in sample.get("labels", {}):
                sample["labels"]["port"] = HOSTILE
            if isinstance(sample["value"], str):
                sample["value"] = HOSTILE
            if "reason" in sample:
                sample["reason"] = HOSTILE
        for probe in node["ranks"][3]["probes"]:
            probe.update(status="crashed", detail=HOSTILE, step=HOSTILE)
        for probe in node["ranks"][4]["probes"]:
            probe.update(status="error", detail=HOSTILE, code=HOSTILE)
        node["ranks"][5].update(missing=HOSTILE, samples=[], probes=[])
        hostile = os.path.join(self.folder.name, "hostile.json")
        with open(hostile, "w", encoding="utf-8") as file:
            json.dump(report, file)
        again, text = self.run_muster(1, "check", hostile, "--sku", SKU, "--report", self.report_path())
        self.assertEqual(again["run"], report["run"])
        self.assertIn("\\x1b[31mred\\x1b[0m", text)

    def test_every_string_of_a_report_may_be_so(self):
        """Each alone, so that none hides behind the others: a report that is refused has one plain line too."""
        with open(self.saved, encoding="utf-8") as file:
            report = json.load(file)
        node = report["run"]["nodes"][0]
        report["run"]["nodes"][0]["ranks"] = node["ranks"][:1]
        report["run"]["job"]["ranks"] = 1
        places = []

        def walk(value, path):
            members = value.items() if isinstance(value, dict) else enumerate(value)
            for key, member in members:
                if isinstance(member, str):
                    places.append((*path, key))
                elif isinstance(member, (dict, list)) and key not in ("findings", "checks"):
                    walk(member, (*path, key))

        walk(report, ())
        kinds = {tuple("" if isinstance(key, int) else key for key in place): place for place in places}
        self.assertGreater(len(kinds), 15)
        for place in kinds.values():
            changed = copy.deepcopy(report)
            inner = changed
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = HOSTILE
            hostile = os.path.join(self.folder.name, "hostile.json")
            with open(hostile, "w", encoding="utf-8") as file:
                json.dump(changed, file)
            with self.subTest(place=place):
                done = subprocess.run([MUSTER, "check", hostile, "--sku", SKU], capture_output=True, timeout=100)
                self.assert_harmless(done.stdout)
                self.assert_harmless(done.stderr)
                self.assertIn(done.returncode, (0, 1, 2, 3))
                if done.returncode == 2:
                    self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))

    def test_a_gpu_of_the_stand_ins_may_have_any_name(self):
        name = BYTES.replace(b"\0", b"")
        report, text = self.run_muster(1, "sim", "--sku", SKU, "--fault", b"gpu-name@node1/gpu2=" + name, "--report",
                                       self.report_path(), "--", "--profile", "quick")
        names = [s["value"] for rank in report["run"]["nodes"][0]["ranks"] for s in rank["samples"]
                 if s["metric"] == "gpu.name"]
        self.assertIn("red", names[2])
        self.assertEqual(len(set(names)), 2)
        self.assertIn("\\x1b[31mred", text)
        found = [f for f in report["findings"] if f["status"] == "fail" and f.get("metric") == "gpu.name"]
        self.assertEqual(len(found), 1)

    def test_a_node_and_its_files_may_be_called_anything(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        device = b"mlx" + BYTES.replace(b"/", b"").replace(b"\0", b"")[:120]
        files = {b"etc/os-release": b'PRETTY_NAME="' + BYTES.replace(b"\n", b" ") + b'"\n',
                 b"proc/sys/kernel/osrelease": BYTES, b"proc/meminfo": b"MemTotal: " + BYTES,
                 b"proc/cpuinfo": b"model name : " + BYTES, b"etc/nccl.conf": b"NCCL_X=" + BYTES}
        for name in b"link_layer", b"state", b"phys_state", b"rate", b"lid", b"gids/0", b"pkeys/0":
            files[b"sys/class/infiniband/" + device + b"/ports/1/" + name] = BYTES
        for name, content in files.items():
            path = os.path.join(root.name.encode(), name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        report, text = self.run_muster(1, "run", "--sku", "generic-nvidia", "--profile", "quick", "--report",
                                       self.report_path(), MUSTER_ROOT=root.name.encode(), SLURMD_NODENAME=BYTES,
                                       SLURM_JOB_ID=BYTES, NCCL_IB_HCA=BYTES, CUDA_VISIBLE_DEVICES=BYTES)
        [node] = report["run"]["nodes"]
        self.assertIn("\x1b[31mred", node["name"])
        self.assertIn("\ufffd", node["name"])
        self.assertIn("\\x1b[31mred", text)
        values = {s["metric"]: s["value"] for s in node["samples"] + node["ranks"][0]["samples"]}
        self.assertIn("\x1b[31mred", values["node.os"])
        self.assertTrue([s for s in strings(node["samples"]) if s.startswith("mlx") and "\x1b[31m" in s])

    def test_the_last_words_of_a_worker_may_be_anything(self):
        script = os.path.join(self.folder.name, "last-words")
        with open(script, "wb") as file:
            file.write(b"#!/usr/bin/python3\nimport os\nos.write(2, " + ascii(BYTES).encode() + b")\nos._exit(9)\n")
        os.chmod(script, 0o700)
        report, _ = self.run_muster(1, "run", "--sku", "generic-nvidia", "--profile", "quick", "--report",
                                    self.report_path(), MUSTER_WORKER_WRAPPER=script.encode())
        details = [p["detail"] for p in report["run"]["nodes"][0]["ranks"][0]["probes"] if p["status"] == "crashed"]
        self.assertTrue(details and all("exit status 9" in d and "gpj.exe" in d for d in details), details)

    def test_a_scenario_that_breaks_in_a_way_of_its_own_is_told_plainly(self):
        scenario = os.path.join(self.folder.name, "scenario.json")
        for key in "sku", "faults", "cpu_masks":
            with open(scenario, "w", encoding="utf-8") as file:
                json.dump({"sku": SKU, "nodes": 1, key: [HOSTILE] if key == "faults" else HOSTILE}, file)
            done = subprocess.run([MUSTER, "sim", "--scenario", scenario], capture_output=True, timeout=100)
            self.assertEqual(done.returncode, 2)
            self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1))
            self.assert_harmless(done.stderr)


unittest.main(verbosity=0)
