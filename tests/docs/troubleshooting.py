"""What the index docs/troubleshooting.md names, and the table of docs/golden-image.md, what one node shows, which is
written from the expectation files.

Usage: troubleshooting.py MUSTER SOURCE            all ids exist, and the table is as the files are
       troubleshooting.py MUSTER SOURCE --write    write the table anew
"""
import collections
import json
import os
import re
import subprocess
import sys
import unittest

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PAGES = [os.path.join(SOURCE, "docs", name) for name in ("troubleshooting.md", "events.md")]
IMAGE = os.path.join(SOURCE, "docs/golden-image.md")
BEGIN, END = "<!-- findings: begin -->\n", "<!-- findings: end -->\n"


def call(*arguments):
    return json.loads(subprocess.run([MUSTER, *arguments], capture_output=True, check=True, timeout=60).stdout)


def machine_types():
    done = subprocess.run([MUSTER, "skus"], capture_output=True, text=True, check=True, timeout=60)
    return [line.split()[0] for line in done.stdout.splitlines()[1:]]


def all_checks():
    """{id: [the check as each machine type has it]}"""
    checks = collections.defaultdict(list)
    for machine in machine_types():
        for check in call("skus", machine, "--format", "json")["checks"]:
            checks[check["check"]].append(check)
    return checks


def listed(*kinds):
    return call("explain", "--list", *kinds, "--format", "json")


def of_one_node(check):
    """Whether `muster node --profile standard` evaluates it."""
    only = check["only_for"] or ""
    nodes = re.search(r"(\d+) (node|NVLink domain)s or more", only)
    return not (nodes and int(nodes[1]) > 1) and check["expected"] != "the same on all nodes" and ("profile" not in only or "standard" in only)


def table_of_image():
    """By what checks are about: those of one node, and those that need more of it."""
    seen, unseen = collections.defaultdict(list), collections.defaultdict(list)
    for name, checks in sorted(all_checks().items(), key=lambda item: natural(item[0])):
        group, _, rest = name.partition(".")
        (seen if any(map(of_one_node, checks)) else unseen)[group].append(f"`{rest}`")
    lines = ["", "| about | seen on one node | only on several nodes, or in the profile full |", "|---|---|---|"]
    lines += [f"| {group['means']}: `{group['id']}.*` | {', '.join(seen[group['id']]) or '-'} | {', '.join(unseen[group['id']]) or '-'} |"
              for group in listed("group") if seen[group["id"]] or unseen[group["id"]]]
    return "\n".join(lines) + "\n\n"


def natural(name):
    """Sizes in their order: 8m, 64m, 1g."""
    size = re.search(r"(\d+)([mg])$", name)
    return (name[:size.start()], int(size[1]) * (1024 if size[2] == "g" else 1)) if size else (name, 0)


def read(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


class Troubleshooting(unittest.TestCase):
    def test_the_table_is_as_the_expectation_files(self):
        inside = read(IMAGE).partition(BEGIN)[2].partition(END)[0]
        self.assertTrue(inside == table_of_image(), "write it anew: tests/docs/troubleshooting.py build/muster . --write")

    def test_each_id_of_the_index_can_be_explained(self):
        """Of the second column of the tables by symptom."""
        known = {name for entry in listed() for name in (entry["id"], f"{entry['kind']} {entry['id']}")}
        known |= {f"{group['id']}.*" for group in listed("group")} | {"xid N", "sxid N"}
        cells = [line.rsplit("|", 2)[1] for part in read(PAGES[0]).split("| what you see | ids |")[1:]
                 for line in part.splitlines() if line.startswith("| ")]
        ids = {name for cell in cells for name in re.findall("`([^`]+)`", cell) if not name.startswith(("muster ", "--"))}
        self.assertGreater(len(ids), 100)
        self.assertEqual(ids - known, set())

    def test_each_group_of_checks_is_in_the_index(self):
        groups = {group["id"] for group in listed("group")} - {"history", "job"}
        self.assertEqual({name for name in groups if f"`{name}." not in read(PAGES[0])}, set())

    def test_the_pages_stay_short(self):
        for page in PAGES:
            self.assertLess(len(read(page).split()), 1500, page)


if __name__ == "__main__":
    if sys.argv[3:] == ["--write"]:
        before, _, after = read(IMAGE).partition(BEGIN)
        with open(IMAGE, "w", encoding="utf-8") as image:
            image.write(before + BEGIN + table_of_image() + END + after.partition(END)[2])
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
