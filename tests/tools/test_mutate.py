#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The mutation tester itself: which changes it can make to a text of C, and what it says of a toy with a toy test."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from c_mutants import applied, mutants_of
from mutate import change_of, drawn

HERE = os.path.dirname(os.path.abspath(__file__))

PLAIN = r"""/* 1 + 2: a comment */
#define TWICE(n) ((n) + (n))
enum { ROOM = 64 };
static const char *const names[] = { "a + 1", "b" };

static int each(struct list *list, const char *name)
{
	int count = 0;

	/* list->length + 1 */
	for (size_t i = 0; i < list->length; i++) {
		if (!list->at[i] || strcmp(list->at[i], "a < b") != 0)
			continue;
		muster_log(MUSTER_LOG_INFO, NULL, "%d", count + 1);
		fprintf(stderr, "%d", count + 1);
		note(list, count);
	}
	free(list->at);
	list->ms = count ? list->ns / 1e6 : 0.5;
	return count == 0 ? -1 : count;
}
"""

TOY = """/* toy.c - something to change */
int over(int number, int most);
int unmet(int number);
int same(int number);
int over(int number, int most)
{
	if (number > most)
		return 1;
	return 0;
}
int unmet(int number)
{
	return number + 1;
}
int same(int number)
{
	int unused = number;
	unused += 2;
	return 7;
}
"""

TOY_TEST = """/* test_toy.c - enough of a test to let one mutant live */
#include <string.h>
#include <unistd.h>
int over(int number, int most);
int same(int number);
int main(void)
{
	if (over(3, 5) || !over(9, 5))
		_exit(1);
	_exit(same(1) != 7);
}
"""

TOY_CMAKE = """cmake_minimum_required(VERSION 3.22)
project(toy C)
enable_testing()
add_executable(test_toy src/toy.c test_toy.c)
add_test(NAME unit.toy COMMAND test_toy)
set_tests_properties(unit.toy PROPERTIES LABELS unit)
"""


def only(mutants, label, line):
    found = [mutant for mutant in mutants if mutant.label == label and mutant.line == line]
    assert len(found) == 1, f"{label} of line {line}: {found}"
    return found[0]


class Changes(unittest.TestCase):
    def setUp(self):
        self.mutants = mutants_of("plain.c", PLAIN)

    def becomes(self, label, line, text):
        changed = applied(only(self.mutants, label, line), PLAIN).splitlines()
        self.assertEqual(changed[line - 1].strip(), text)
        self.assertEqual(len(changed), len(PLAIN.splitlines()))

    def test_operators(self):
        self.becomes("<=", 11, "for (size_t i = 0; i <= list->length; i++) {")
        self.becomes("&&", 12, 'if (!list->at[i] && strcmp(list->at[i], "a < b") != 0)')
        self.becomes("no-not", 12, 'if (list->at[i] || strcmp(list->at[i], "a < b") != 0)')
        self.becomes("!=", 20, "return count != 0 ? -1 : count;")

    def test_constants_and_units(self):
        self.becomes("65", 3, "enum { ROOM = 65 };")
        self.becomes("1e6->x1000", 19, "list->ms = count ? list->ns / 1e6 / 1000 : 0.5;")
        self.becomes("1.5", 19, "list->ms = count ? list->ns / 1e6 : 1.5;")
        self.becomes("0", 20, "return count == 0 ? -0 : count;")

    def test_conditions(self):
        self.becomes("negate", 12, 'if (!(!list->at[i] || strcmp(list->at[i], "a < b") != 0))')
        self.becomes("false", 11, "for (size_t i = 0; 0 && (i < list->length); i++) {")
        self.becomes("true", 20, "return count == 0 || 1 ? -1 : count;")

    def test_jumps_and_statements(self):
        self.becomes("no-continue", 13, ";")
        self.becomes("drop", 16, ";")
        self.becomes("drop", 19, ";")

    def test_what_is_no_behaviour_stays(self):
        self.assertEqual({mutant.line for mutant in self.mutants}, {3, 8, 11, 12, 13, 16, 19, 20})

    def test_no_return_at_the_end_is_left_out(self):
        self.assertNotIn("no-return", {mutant.label for mutant in self.mutants})

    def test_an_id_names_one_mutant(self):
        self.assertEqual(len({mutant.id for mutant in self.mutants}), len(self.mutants))

    def test_a_survivor_is_shown_as_a_small_diff(self):
        self.assertEqual(change_of(only(self.mutants, "65", 3), PLAIN).splitlines(), [
            "plain.c:3:15:65", "@@ -2,3 +2,3 @@", " #define TWICE(n) ((n) + (n))", "-enum { ROOM = 64 };",
            "+enum { ROOM = 65 };", ' static const char *const names[] = { "a + 1", "b" };'])

    def test_a_seed_draws_the_same_mutants_and_no_line_twice(self):
        groups = {"one": self.mutants, "two": mutants_of("toy.c", TOY)}
        first = [mutant for _, mutant in drawn(groups, "7")]
        self.assertEqual(first, [mutant for _, mutant in drawn(groups, "7")])
        self.assertNotEqual(first, [mutant for _, mutant in drawn(groups, "8")])
        self.assertEqual(len({(mutant.path, mutant.line) for mutant in first}), len(first))


class Toy(unittest.TestCase):
    def setUp(self):
        if not shutil.which("ninja") or not shutil.which("gcov"):
            self.skipTest("no ninja or no gcov here")
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        for name, text in (("src/toy.c", TOY), ("test_toy.c", TOY_TEST), ("CMakeLists.txt", TOY_CMAKE)):
            path = os.path.join(self.top, "toy", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def mutate(self, *arguments):
        return subprocess.run(
            [sys.executable, os.path.join(HERE, "mutate.py"), "--source", os.path.join(self.top, "toy"), "--build",
             os.path.join(self.top, "build"), "--cmake=-DCMAKE_C_COMPILER_WORKS=1", *arguments],
            capture_output=True, text=True, timeout=600, check=False)

    def test_each_mutant_gets_its_outcome(self):
        self.outcomes()

    def test_the_same_on_two_benches(self):
        self.outcomes("--benches=2")

    def outcomes(self, *more):
        names = {"src/toy.c:7:6:negate": "killed", "src/toy.c:7:13:>=": "survived", "src/toy.c:8:3:no-return": "killed",
                 "src/toy.c:13:16:-": "unmet", "src/toy.c:18:2:drop": "equivalent"}
        results = os.path.join(self.top, "results.json")
        more = [*more, *(f"--only={name}" for name in names)]
        done = self.mutate("--out", results, "--files", "toy=src/*.c", *more)
        if "--unsafe" in done.stderr:
            done = self.mutate("--unsafe", "--out", results, "--files", "toy=src/*.c", *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(results, encoding="utf-8") as file:
            outcomes = {result["id"]: result["outcome"] for result in json.load(file)["results"]}
        self.assertEqual(outcomes, names, done.stdout)
        self.assertIn("+\tif (number >= most)", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-2].split(), "| toy | 4 | 2 | 1 | 1 | 50 | 1 | 0 |".split())
        for top in ("toy", "build/tree"):
            with open(os.path.join(self.top, top, "src/toy.c"), encoding="utf-8") as file:
                self.assertEqual(file.read(), TOY)


if __name__ == "__main__":
    unittest.main()
