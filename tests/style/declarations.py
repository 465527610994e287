#!/usr/bin/python3
"""No blank line between the declarations at the head of a block and its first statement.

usage: declarations.py FOLDER [--mend]     (with src/, include/, tests/ and slurm/ in it)

A blank line that separates is one before a comment, or between statements. --mend takes the others out.
"""

import os
import re
import sys

DECLARATION = re.compile(
    r"\t+(?:static |const |volatile |register |_Thread_local )*"
    r"(?:(?:struct|enum|union) \w+|unsigned(?: \w+)*|signed \w+|int|long(?: long)?|short|char|bool|double|float|FILE|DIR|"
    r"Suite|TCase|SRunner|va_list|[a-z]\w*_t|CU\w+)"
    r" (?:\w+ )?[*(]*\w+[^;]*")


def end_of(lines, at):
    """The line behind the statement that begins at this one: where its semicolon is outside of brackets."""
    depth = 0
    while at < len(lines):
        code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|/\*.*?\*/', '', lines[at])
        depth += sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
        at += 1
        if depth <= 0 and code.rstrip().endswith(";"):
            return at
        if depth < 0:
            return None
    return None


def is_declaration(line):
    return bool(DECLARATION.match(line)) and not re.match(r"\t+(?:return|else|goto|case|sizeof)\b", line)


def needless(lines):
    """The blank lines that stand behind the first declarations of a block."""
    for at, line in enumerate(lines):
        if not line.endswith("{\n") or not (line == "{\n" or line.startswith("\t")) or "=" in line:
            continue
        here, seen = at + 1, 0
        while here is not None and here < len(lines) and is_declaration(lines[here]):
            here, seen = end_of(lines, here), seen + 1
        if not seen or here is None or here + 1 >= len(lines) or lines[here] != "\n":
            continue
        following = lines[here + 1]
        if following.strip().startswith(("/*", "#", "}")) or following == "\n":
            continue
        yield here


def main(root, mend):
    found = 0
    for top in ("src", "include", "tests", "slurm"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
                blank = list(needless(lines))
                found += len(blank)
                if mend and blank:
                    with open(path, "w", encoding="utf-8") as file:
                        file.writelines(line for at, line in enumerate(lines) if at not in blank)
                elif not mend:
                    for at in blank:
                        print(f"{os.path.relpath(path, root)}:{at + 1}: a blank line behind the declarations")
    return 1 if found and not mend else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--mend" in sys.argv[2:]))
