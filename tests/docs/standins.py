# SPDX-License-Identifier: Apache-2.0
"""Each rule of a stand-in names the source that it follows: the table of tests/README.md.

Usage: standins.py SOURCE
"""
import os
import re
import sys
import unittest

SOURCE = os.path.abspath(sys.argv[1])
# What no rule of a vendor or of the kernel can be about: how stand-ins find the scenario.
PLUMBING = {"base.c"}


def problems(text, source=SOURCE):
    """What is wrong with the table in the text of a page."""
    most = re.search(r"^Rows that are assumed, at most: (\d+)$", text, re.M)
    table = re.search(r"^\| stand-in \| rule \| file \| source \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.M)
    if not most or not table:
        return ["no table, or no number of assumed rows"]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]
    found = [f"not four cells: {row}" for row in rows if len(row) != 4 or not all(row)]
    rows = [row for row in rows if len(row) == 4]
    found += [f"there is no {file}" for _, _, file, _ in rows if not os.path.isfile(os.path.join(source, file))]
    assumed = sum(said == "assumed" for *_, said in rows)
    if assumed > int(most[1]):
        found.append(f"{assumed} rows are assumed, at most {most[1]} may be")
    named = {file for _, _, file, _ in rows}
    folder = os.path.join("src", "sim", "standins")
    return found + [f"no rule of {name}" for name in sorted(os.listdir(os.path.join(source, folder)))
                    if name.endswith(".c") and name not in PLUMBING and os.path.join(folder, name) not in named]


class Standins(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(SOURCE, "tests", "README.md"), encoding="utf-8") as file:
            self.text = file.read()

    def test_each_rule_has_a_source_or_is_counted_as_assumed(self):
        self.assertEqual(problems(self.text), [])

    def test_faults_are_found(self):
        row = next(line for line in self.text.splitlines() if line.endswith("| assumed |"))
        for changed, word in ((self.text.replace(row, f"{row}\n{row}"), "rows are assumed"),
                              (self.text.replace("src/sim/standins/cufile.c", "src/sim/standins/cufiles.c"), "there is no src/sim/standins/cufiles.c"),
                              (re.sub(r"^.*standins/uring\.c.*\n", "", self.text, flags=re.M), "no rule of uring.c"),
                              (self.text.replace(row, row.replace("| assumed |", "| |")), "not four cells"),
                              (self.text.replace("at most: ", "about: "), "no table")):
            self.assertTrue(any(word in one for one in problems(changed)), word)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
