# SPDX-License-Identifier: Apache-2.0
"""Whatever muster lists is documented, and nothing is documented that muster does not have: commands, options, formats,
exit codes, kinds of ids, operators, members, probes, metrics, faults, checks, machine types, settings.

Usage: lists.py MUSTER SOURCE            compare
       lists.py MUSTER SOURCE --write    write the generated pages of docs/reference/ anew
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import unittest

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
AGAIN = "write it anew: tests/docs/lists.py build/muster . --write"


def said(*words):
    done = subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def listed(*kinds):
    return json.loads(said("explain", "--list", *kinds, "--format", "json"))


def ids(kind):
    return {entry["id"] for entry in listed(kind)}


def column(page, heading):
    """The words in backticks of the first column of the tables that begin with this heading."""
    rows = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", read(page), re.M)
    return {word for table in rows for row in table.splitlines() for word in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


# ---- the generated pages ----

def page(title, text, head, rows):
    lines = [f"# {title}", "", text, "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]) + "\n"


def natural(name):
    """Sizes in their order: 8m, 64m, 1g."""
    size = re.search(r"(\d+)([mg])$", name)
    return (name[:size.start()], int(size[1]) * (1024 if size[2] == "g" else 1)) if size else (name, 0)


def of_one_node(check):
    """Whether `muster node --profile standard` evaluates it."""
    only = check["only_for"] or ""
    nodes = re.search(r"(\d+) (node|NVLink domain)s or more", only)
    return not (nodes and int(nodes[1]) > 1) and check["expected"] != "the same on all nodes" and ("profile" not in only or "standard" in only)


def checks():
    """By what checks are about: those of one node, and those that need more of it."""
    every, seen, unseen = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
    for sku in json.loads(said("skus", "--format", "json")):
        for check in json.loads(said("skus", sku["name"], "--format", "json"))["checks"]:
            every[check["check"]].append(check)
    for name in sorted(every, key=natural):
        group, _, rest = name.partition(".")
        (seen if any(map(of_one_node, every[name])) else unseen)[group].append(f"`{rest}`")
    return page("Checks of the shipped files", "`muster explain ID` says what a check means, `muster skus NAME` has those of one machine type with limits and sources.",
                ("about", "seen on one node", "only on several nodes, or in the profile full"),
                [(f"{group['means']}: `{group['id']}.*`", ", ".join(seen[group["id"]]) or "-", ", ".join(unseen[group["id"]]) or "-")
                 for group in listed("group") if seen[group["id"]] or unseen[group["id"]]])


def metrics():
    rows = json.loads(said("metrics", "--format", "json"))
    return page("Metrics", "What can be measured, as `muster metrics` prints it. [probes.md](../dev/probes.md) says how.",
                ("metric", "type", "unit", "of each", "probe", "labels", "meaning"),
                [(f"`{row['name']}`", row["type"], row["unit"] or "-", row["scope"], f"`{row['probe']}`", ", ".join(row["labels"]) or "-", row["meaning"])
                 for row in rows])


def faults():
    return page("Faults of `muster sim`", "`muster sim --fault KIND@WHERE=VALUE`, as `muster sim --list-faults` prints them; [simulation.md](../dev/simulation.md) has examples.",
                ("fault", "what it does"), [(f"`{fault}`", text) for fault, text in re.findall(r"^  (\S+) +(\S.*)$", said("sim", "--list-faults"), re.M)])


GENERATED = {f"docs/reference/{made.__name__}.md": made for made in (checks, metrics, faults)}


# ---- what stands in two places ----

def manual():
    """{command: its section}, and what holds for all."""
    common, *sections = re.split(r"^\.SS muster ", read("docs/man/muster.1").partition(".SH COMMANDS")[2].replace("\\-", "-"), flags=re.M)
    return {section.partition("\n")[0]: section.partition("\n.SH ")[0] for section in sections}, common


def options(*command):
    return set(re.findall(r"^  (--[a-z-]+)", said(*command, "--help"), re.M)) - {"--help"}


def commands():
    """{command: its options, those of its questions too}. Two commands have no options."""
    names = set(re.findall(r"^  ([a-z]+) +\S", said("--help"), re.M)) - {"help", "version"}
    every = {name: options(name) for name in names}
    every["history"] |= {option for question in ("add", "flapping", "worst", "diff", "trial") for option in options("history", question)}
    return every


def formats(command):
    words = re.search("--format: (.*) is needed", said(command, "--format", "none"))
    return set(re.split(r", | or ", words[1])) if words else set()


EXPECTATIONS, SETTING = "docs/reference/expectations.md", r"^#?(?:export )?([A-Z_]+)="
SCHEMA = json.loads(read("docs/expectations.schema.json"))["$defs"]
MACHINES = "docs/reference/machine-types.md"
EXAMPLE = os.path.join(SOURCE, "docs/examples/report.prom.gz")
FIXED = r"muster_(?:run_\w+|values|check_results|findings\w*|node_(?:failed|inconclusive|action))"

# What: what muster has, and each place that has the same.
SAME = {
    "commands": lambda: (set(commands()), {"manual": set(manual()[0])}),
    "exit codes": lambda: ({name[-1] for name in ids("exit")}, {
        "manual": set(re.findall(r"^\.TP\n(\d)$", read("docs/man/muster.1"), re.M)),
        "README.md": set(re.findall(r"^\| (\d) \|", read("README.md"), re.M))}),
    "kinds of ids": lambda: ({entry["kind"] for entry in listed()}, {
        "manual": set(re.search(r"kinds that are given: (.*)\.", manual()[0]["explain"])[1].split(", "))}),
    "operators": lambda: (ids("operator") | {"share_of"}, {EXPECTATIONS: column(EXPECTATIONS, "operator")}),
    "members of a check": lambda: (set(SCHEMA["check"]["properties"]) - {"metric"}, {
        EXPECTATIONS: column(EXPECTATIONS, "operator") | column(EXPECTATIONS, "member of a check")}),
    "members of a file": lambda: (set(SCHEMA["patch"]["properties"]) - {"title"}, {EXPECTATIONS: column(EXPECTATIONS, "member of a file")}),
    "members of a report": lambda: (set(json.loads(read("docs/report.schema.json"))["properties"]), {
        "docs/reference/report.md": column("docs/reference/report.md", "member")}),
    "probes": lambda: (ids("probe"), {"README.md": column("README.md", "probes")}),
    "series of Prometheus": lambda: (set(re.findall(rf"^# HELP ({FIXED}) ", gzip.open(EXAMPLE, "rt").read(), re.M)), {
        "docs/reference/prometheus.md": {name for name in column("docs/reference/prometheus.md", "metric") if re.fullmatch(FIXED, name)}}),
    "settings": lambda: (set(re.findall(SETTING, read("slurm/muster.default"), re.M)), {
        "docs/reference/slurm.md": set(re.findall(SETTING, read("docs/reference/slurm.md"), re.M))}),
    "machine types": lambda: ({sku["name"] for sku in json.loads(said("skus", "--format", "json"))}, {
        MACHINES: {"Standard_" + name for name in re.findall(r"^\| (N\w+) (?:\| \d+ ){4}\|$", read(MACHINES), re.M)} | {"generic-nvidia"}}),
}


class Lists(unittest.TestCase):
    def test_each_list_is_the_same_in_each_place(self):
        for what, both in SAME.items():
            has, places = both()
            for place, documented in places.items():
                with self.subTest(what, place=place):
                    self.assertGreater(len(has), 3)
                    self.assertEqual((has - documented, documented - has), (set(), set()), "(missing, too many)")

    def test_each_option_is_in_the_manual_at_its_command_and_no_other(self):
        sections, common = manual()
        for command, own in commands().items():
            with self.subTest(command):
                shared = common + (sections["run"] if command in ("node", "check", "assemble", "sim") else "")
                self.assertEqual({option for option in own if not re.search(rf"{option}\b(?!-)", sections[command] + shared)}, set())
                heads = re.findall(r"^\.TP\n(.*)", sections[command], re.M)
                named = {option for head in heads for option in re.findall(r"--[a-z][a-z-]*", head)}
                self.assertEqual(named - own - (options("run") if command == "sim" else set()), set())

    def test_each_format_is_in_the_help_and_in_the_manual(self):
        sections, _ = manual()
        self.assertIn("prometheus", formats("report"))
        for command in commands():
            have = formats(command)
            with self.subTest(command):
                helps = [said(command, "--help")] + ([said("--help").lower()] if command == "report" else [])
                self.assertEqual({name for name in have for text in helps if name not in text}, set())
                line = re.search(r"^\\fB--format (\S*)", sections[command], re.M)
                self.assertEqual(set(re.findall(r"[a-z]+(?:-[a-z]+)*", re.sub(r"\\f[BR]", "", line[1]))) if line else {"text", "json"} & have, have)

    def test_the_generated_pages_are_as_muster_says(self):
        for name, made in GENERATED.items():
            self.assertTrue(read(name) == made(), f"{name}: {AGAIN}")


if __name__ == "__main__":
    if sys.argv[3:] == ["--write"]:
        for path, make in GENERATED.items():
            with open(os.path.join(SOURCE, path), "w", encoding="utf-8") as written:
                written.write(make())
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
