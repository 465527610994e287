# SPDX-License-Identifier: Apache-2.0
"""What the index docs/troubleshooting.md names exists.

Usage: troubleshooting.py MUSTER SOURCE
"""
import json
import os
import re
import subprocess
import sys
import unittest

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PAGE = os.path.join(SOURCE, "docs/troubleshooting.md")


def listed(*kinds):
    return json.loads(subprocess.run([MUSTER, "explain", "--list", *kinds, "--format", "json"], capture_output=True, check=True, timeout=60).stdout)


def read(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


class Troubleshooting(unittest.TestCase):
    def test_each_id_of_the_index_can_be_explained(self):
        """Of the second column of the tables by symptom."""
        known = {name for entry in listed() for name in (entry["id"], f"{entry['kind']} {entry['id']}")}
        known |= {f"{group['id']}.*" for group in listed("group")} | {"xid N", "sxid N"}
        cells = [line.rsplit("|", 2)[1] for part in read(PAGE).split("| what you see | ids |")[1:]
                 for line in part.splitlines() if line.startswith("| ")]
        ids = {name for cell in cells for name in re.findall("`([^`]+)`", cell) if not name.startswith(("muster ", "--"))}
        self.assertGreater(len(ids), 100)
        self.assertEqual(ids - known, set())

    def test_each_group_of_checks_is_in_the_index(self):
        groups = {group["id"] for group in listed("group")} - {"history", "job"}
        self.assertEqual({name for name in groups if f"`{name}." not in read(PAGE)}, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
