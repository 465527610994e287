# SPDX-License-Identifier: Apache-2.0
"""Each command and each option of muster that the documentation names exists, and each page is written by the rules.

Usage: options.py MUSTER SOURCE
"""
import os
import re
import subprocess
import sys
import unittest

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LANGUAGES = {"sh", "text", "json", "yaml", "hcl", "c", "conf", "ini", "dockerfile", "kusto", "logql", "promql", "toml", "sql"}
COMMAND = re.compile(r"(?<![\w./-])(?:[\w./-]*/)?muster +([a-z][a-z-]*)((?:[ \t]+(?:\\\n\s*)?(?:\$?\([^)]*\)|'[^']*'|\"[^\"]*\"|[^\s|;&)>`]+))*)")


def pages():
    names = ["README.md"]
    for place, _, files in os.walk(os.path.join(SOURCE, "docs")):
        names += [os.path.relpath(os.path.join(place, file), SOURCE) for file in files if file.endswith(".md")]
    return sorted(name for name in names if name != "docs/examples/report.md" and "inventory" not in name)


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def help_of(*command):
    return subprocess.run([MUSTER, *command, "--help"], capture_output=True, text=True, timeout=60, check=False).stdout


def options_of(text):
    return set(re.findall(r"^ +(--[a-z-]+)", text, re.M)) | {"--help", "--version"}


def commands():
    """{command: its options}. Two commands are only for muster itself, and have no help."""
    listed = re.findall(r"^  ([a-z]+) +\S", help_of(), re.M)
    known = {name: options_of(help_of(name)) for name in listed if name not in ("help", "version")}
    known["sim"] |= known["run"]
    return dict(known, **{"sim-worker": set(), "sim-rank": set()})


def code(text):
    """What is code in a page: blocks of commands, and words in backticks."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return [re.sub(r"(?:^| )#.*", "", block, flags=re.M) for block in blocks] + re.findall(r"`([^`\n]+)`", prose)


def unknown(text, known):
    wrong = []
    for part in code(text):
        for command, rest in COMMAND.findall(part):
            if command not in known:
                wrong.append(f"no command: muster {command}")
                continue
            options, words = known[command], rest.split()
            for word in words:
                if word == "--":
                    options = known["run"] | known["node"]
                match = re.match(r"(--[a-z][a-z-]*)", word)
                if match and match[1] not in options:
                    wrong.append(f"muster {command} has no option {match[1]}")
    return wrong


# Outputs that no command of the page prints.
SHOWN_ALONE = {"docs/expectations.md": "mistakes in several files"}


class Options(unittest.TestCase):
    def test_a_help_has_no_two_empty_lines(self):
        self.assertEqual([name for name in commands() if "\n\n\n" in help_of(name)], [])

    def test_each_command_and_option_exists(self):
        known = commands()
        self.assertIn("--profile", known["run"])
        self.assertEqual([f"{page}: {line}" for page in pages() for line in unknown(read(page), known)], [])

    def test_a_wrong_command_and_a_wrong_option_are_found(self):
        known = {"run": {"--sku"}, "node": {"--sku"}, "sim": {"--nodes"}}
        self.assertEqual(unknown("`muster sim --nodes 2 -- --sku x`", known), [])
        self.assertEqual(unknown("```sh\n(muster run --sk x) && a/muster walk\n```", known),
                         ["muster run has no option --sk", "no command: muster walk"])

    def test_each_block_names_its_language(self):
        """Otherwise commands or outputs could stand in a block that no test reads."""
        wrong = []
        for page in pages():
            language, last = None, "" # of the block around the line; of the block before, if there is no text between
            for number, line in enumerate(read(page).splitlines(), 1):
                fence = re.match(r"\s*```(.*)", line)
                if fence and language is None:
                    language = fence[1]
                    if language not in LANGUAGES:
                        wrong.append(f"{page}:{number}: language \"{language}\"")
                    if language == "text" and last != "sh" and page not in SHOWN_ALONE:
                        wrong.append(f"{page}:{number}: an output without the commands that print it")
                elif fence:
                    language, last = None, language
                elif language is None and line.strip():
                    last = ""
                    if re.match(r"    (?:\$ )?(?:muster|srun|sbatch|scontrol|mpirun|sh) ", line):
                        wrong.append(f"{page}:{number}: a command outside of a block ```sh")
        self.assertEqual(wrong, [])

    def test_the_readme_has_both_commands_of_setup_and_ci_runs_the_tests_with_the_same_line(self):
        blocks = [block.splitlines() for block in code(read("README.md"))]
        self.assertEqual(["sh src/setup.sh run", "sh src/setup.sh test"],
                         [line.strip() for block in blocks for line in block if line.startswith("sh src/setup.sh")])
        self.assertIn("job sh src/setup.sh test", read(".ci/run").splitlines())

    def test_what_people_read_is_short(self):
        self.assertLessEqual(len(read("README.md").splitlines()), 120)
        read_through = [page for page in pages() if os.path.dirname(page) in ("", "docs")]
        self.assertIn("docs/slurm.md", read_through)
        self.assertLessEqual(sum(len(read(page).split()) for page in read_through), 15000, "move what is looked up to docs/reference/")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
