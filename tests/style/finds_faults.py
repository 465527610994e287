#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""declarations.py finds a tag that two headers declare, lines.py a budget that is passed and a file without a feature.

usage: finds_faults.py
"""

import os
import tempfile
import unittest

import declarations
import lines


class FindsFaults(unittest.TestCase):
    def test_a_tag_that_two_headers_declare(self):
        for second, found in (("struct a;\nstruct b {\n\tint x;\n};\n", []),
                              ("/* struct a {\n} */\n\tstruct a one;\n", []),
                              ("enum a { A };\n", ["a: include/first.h src/second.h"]),
                              ("\tunion a {\n", ["a: include/first.h src/second.h"])):
            with tempfile.TemporaryDirectory() as root:
                for name, text in (("include/first.h", "struct a {\n\tint x;\n};\n"), ("src/second.h", second)):
                    os.makedirs(os.path.dirname(os.path.join(root, name)))
                    with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                        file.write(text)
                self.assertEqual(list(declarations.shared_tags(root)), found, second)

    def test_a_budget_that_is_passed_and_a_file_without_a_feature(self):
        table = [("total", "", [30, 9, 9]), ("copies", "copy", [20, 0, 5]), ("rest", "src/", [20, 9, 5])]
        for files, found in (
                ({"src/copy.c": 20, "src/x.c": 10, "src/sim/x.c": 9, "tests/copy.py": 5}, []),
                ({"src/copy.c": 21}, ["copies (program): 21 lines, 1 more than the budget of 20"]),
                ({"src/copy.c": 20, "src/x.c": 11}, ["total (program): 31 lines, 1 more than the budget of 30"]),
                ({"src/cli/sim.c": 10}, ["total (simulator): 10 lines, 1 more than the budget of 9",
                                         "rest (simulator): 10 lines, 1 more than the budget of 9"]),
                ({"tests/x.py": 1}, ["tests/x.py belongs to no feature: give it one in tests/style/lines.txt"])):
            self.assertEqual(list(lines.complaints(files, table)), found)

    def test_comments_and_empty_lines_are_free(self):
        self.assertEqual(lines.lines_of_code(["/* a", " * b", "", " */", "int x; /* c */", "/* d */", "// e", "y();"], True), 2)
        self.assertEqual(lines.lines_of_code(["#!/bin/sh", "# a", "", "x # b"], False), 1)


if __name__ == "__main__":
    unittest.main()
