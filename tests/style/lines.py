#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of code (C, Python, shell) per feature, held against the budgets of lines.txt.

Empty lines and lines that are only a comment are free: an explanation must not have to compete with code.

usage: lines.py SOURCE [--write]

--write gives each feature a budget of what it has now and 3 %, rounded up to 50. The totals are written by hand: a change
that brings lines also says what leaves.
"""

import os
import re
import sys

BUDGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines.txt")
AREAS = ("program", "simulator", "tests")
ADVICE = ("Name what leaves the feature instead, or raise its budget in tests/style/lines.txt in the same change and say why "
          "in the commit.")


def read_table(path):
    """[(feature, pattern, [budget of each area])]; the row "total" has no pattern."""
    with open(path, encoding="utf-8") as file:
        rows = [line.split(None, 3) for line in file if not line.startswith("#")]
    return [(name, "|".join(f"(?:{part})" for part in patterns.split()), [int(number) for number in numbers])
            for *numbers, rest in rows for name, _, patterns in [rest.strip().partition(":")]]


def sources(root):
    """{path from the root: lines}, of src/, include/, slurm/ and tests/"""
    paths = [os.path.join(folder, name) for top in ("src", "include", "slurm", "tests")
             for folder, _, names in os.walk(os.path.join(root, top)) for name in names
             if name.endswith((".c", ".h", ".py", ".sh"))]
    lines = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines[os.path.relpath(path, root)] = lines_of_code(file, path.endswith((".c", ".h")))
    return lines


def lines_of_code(lines, is_c):
    """How many are neither empty nor a comment only."""
    code, inside = 0, False
    for line in map(str.strip, lines):
        begins = line.startswith(("/*", "//") if is_c else "#")
        code += bool(line) and not inside and not begins
        if is_c and (inside or line.startswith("/*")):
            inside = "*/" not in line
    return code


def area_of(path):
    if path.startswith("tests/"):
        return 2
    return 1 if path.startswith(("src/sim/", "src/cli/sim")) else 0


def count(files, table):
    """{feature: [lines of each area]}, and the files that have no feature"""
    counts, strays = {name: [0, 0, 0] for name, _, _ in table}, []
    for path, lines in sorted(files.items()):
        counts["total"][area_of(path)] += lines
        feature = next((name for name, pattern, _ in table if pattern and re.search(pattern, path)), None)
        if feature:
            counts[feature][area_of(path)] += lines
        else:
            strays.append(path)
    return counts, strays


def complaints(files, table):
    counts, strays = count(files, table)
    for path in strays:
        yield f"{path} belongs to no feature: give it one in tests/style/lines.txt"
    for name, _, budgets in table:
        for area, lines, budget in zip(AREAS, counts[name], budgets):
            if lines > budget:
                yield f"{name} ({area}): {lines} lines, {lines - budget} more than the budget of {budget}"


def show(files, table):
    counts, _ = count(files, table)
    print(f"{'lines / budget':<28}" + "".join(f"{area:>18}" for area in AREAS))
    for name, _, budgets in table[1:] + table[:1]:
        cells = [f"{lines} / {budget}" if lines or budget else "" for lines, budget in zip(counts[name], budgets)]
        print(f"{name:<28}" + "".join(f"{cell:>18}" for cell in cells))


def write(path, files, table):
    counts, _ = count(files, table)
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for at, line in enumerate(lines):
        row = re.match(r"( *\d+){3}( +([^:\n]+):.*\n)", line)
        if row:
            budgets = [-(-number * 103 // 5000) * 50 for number in counts[row[3]]]
            lines[at] = "{:9}  {:9}  {:5}".format(*budgets) + row[2]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def main(root, *options):
    files, table = sources(root), read_table(BUDGETS)
    if "--write" in options:
        write(BUDGETS, files, table)
        return 0
    show(files, table)
    found = list(complaints(files, table))
    print("\n".join(found + [ADVICE] if found else []))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
