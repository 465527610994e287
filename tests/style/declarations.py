#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No blank line between the declarations at the head of a block and its first statement; no tag in two headers.

usage: declarations.py FOLDER [--mend]     (with src/, include/, tests/ and slurm/ in it)

A blank line that separates is one before a comment, or between statements. --mend takes the others out. A file that
needs two headers with the same tag of a struct, an enum or a union cannot be compiled.
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


def sources(root, *tops, ends):
    """Each path below these folders with its lines."""
    for top in tops:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(ends):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        yield path, file.readlines()


def shared_tags(root):
    """Tags that two headers declare, with these headers. Each set of headers of tests is for one program alone."""
    headers = {}
    for path, lines in sources(root, "include", "src", ends=".h"):
        text = re.sub(r"/\*.*?\*/", "", "".join(lines), flags=re.S)
        for tag in re.findall(r"\b(?:struct|enum|union) (\w+) \{", text):
            headers.setdefault(tag, []).append(os.path.relpath(path, root))
    for tag, paths in headers.items():
        if len(paths) > 1:
            yield f"{tag}: {' '.join(paths)}"


def main(root, mend):
    found = [f"two headers declare the tag {line}" for line in shared_tags(root)]
    for path, lines in sources(root, "src", "include", "tests", "slurm", ends=(".c", ".h")):
        blank = list(needless(lines))
        if mend and blank:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(line for at, line in enumerate(lines) if at not in blank)
        elif not mend:
            found += [f"{os.path.relpath(path, root)}:{at + 1}: a blank line behind the declarations" for at in blank]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--mend" in sys.argv[2:]))
