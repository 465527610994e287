#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster lint` and docs/expectations.schema.json take the same files: each kind of place in the shipped files is removed,
renamed, given another type and a value at the edge of its range, at places drawn with a fixed seed.

usage: lint_schema.py MUSTER SOURCE     exits 77 when python3-jsonschema is not there
"""
import collections
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

MUSTER, SOURCE = sys.argv[1:3]
CONFIGS = os.path.join(SOURCE, "configs")
# What only lint refuses: its words, and why a schema of one file cannot say that.
ONLY_LINT = {
    r"no (?:metric is given|operator: |source: |action_code: )|the key \S+ is missing|at least one value is needed|says something only beside|cannot remove|"
    r"changed without a source": "depends on what a parent has",
    r"has no label|is needed for \S+, found|no such metric|no metric of this name|\.where\.\w+: a (?:string|number) is needed": "the catalogue of metrics says what is allowed",
    r"there is no check|No such file|one of xid, sxid, gpu-lost": "names a check, a file or an event elsewhere",
    r"is above max|has no effect|always warns": "compares two numbers",
    r"needs measured_on|may only warn|than \"[^\"]*\" was measured on": "depends on what kind of metric it is and where it was measured",
}
NAMED = ("checks", "xid", "sxid", "kernel", "causes", "measurements", "facts", "inconclusive_on", "values", "where", "limit_where")
TYPES = (7, "text", True, [1], {"x": 1})
EDGES = {float: (-1, 0, 0.5, 2, 1e9), str: ("", "x" * 5000, "A/b"), list: ([],), dict: ({},), bool: (), type(None): ()}
WAYS = ("removed", "renamed", "another type", "an edge of its range")


def kind(value):
    return float if type(value) is int else type(value)


def places(value, path=()):
    """(path, kind of place) of all below: names that a file chooses are one kind, and so are the items of a list."""
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield path + (key,), tuple("*" if isinstance(step, int) or before in NAMED else step for before, step in zip(("",) + path, path + (key,)))
        yield from places(below, path + (key,))


def mutate(value, path, way, draw):
    """A copy of the file that is changed at one place, or None where the way is none for this place."""
    value = holder = copy.deepcopy(value)
    for step in path[:-1]:
        holder = holder[step]
    last = path[-1]
    choices = [one for one in (EDGES[kind(holder[last])] if way == WAYS[3] else TYPES) if way == WAYS[3] or kind(one) is not kind(holder[last])]
    if way == "removed":
        del holder[last]
    elif way == "renamed" and isinstance(holder, dict):
        holder[last + "x"] = holder.pop(last)
    elif way in WAYS[2:] and choices:
        holder[last] = draw.choice(choices)
    else:
        return None
    return value


def main():
    with open(os.path.join(SOURCE, "docs/expectations.schema.json"), encoding="utf-8") as file:
        schema = Draft202012Validator(json.load(file))
    files, kinds = {}, collections.defaultdict(list)
    for name in sorted(os.listdir(CONFIGS)):
        with open(os.path.join(CONFIGS, name), encoding="utf-8") as file:
            files[name] = json.load(file)
        for path, shape in places(files[name]):
            kinds[shape].append((name, path))
    draw, problems, done, used = random.Random(1), [], 0, set()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(CONFIGS, folder, dirs_exist_ok=True)
        mutant = os.path.join(folder, "mutant.json")
        for shape in sorted(kinds):
            for way in WAYS:
                name, path = draw.choice(kinds[shape])
                value = mutate(files[name], path, way, draw)
                if value is None:
                    continue
                with open(mutant, "w", encoding="utf-8") as file:
                    json.dump(value, file)
                lint = subprocess.run([MUSTER, "lint", mutant], capture_output=True, text=True, timeout=60, check=False)
                said, valid, done = lint.stdout + lint.stderr, schema.is_valid(value), done + 1
                fits = {words for words in ONLY_LINT if re.search(words, said)}
                case = f"{name}: {'.'.join(map(str, path))}: {way}"
                if not valid and lint.returncode == 0:
                    problems.append(f"{case}: lint takes the file, the schema does not: {next(schema.iter_errors(value)).message[:200]}")
                elif valid and lint.returncode != 0 and not fits:
                    problems.append(f"{case}: the schema takes the file, lint does not: {said[:300]}")
                elif valid and lint.returncode != 0:
                    used |= fits
    problems += [f"no file is refused by lint alone for: {ONLY_LINT[words]}" for words in ONLY_LINT if words not in used]
    if done < 300:
        problems.append(f"only {done} files")
    print("\n".join(problems) or f"{done} files: lint and schema agree")
    sys.exit(bool(problems))


main()
