#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The folders of src/ stand in an order, and each uses only those above it: every #include, and every symbol that the
objects need. Every symbol that they define begins with muster_, except a symbol that replaces one of a library. Within
src/eval, no files use each other in a circle.

usage: arrows.py SOURCE BUILD NM

The order is the map of src/README.md, which is read from there. A header of include/muster belongs to the folder that
the comment below its licence names. The stand-in libraries are built apart, with sources of their own folder and of those above.
The simulator is a program of its own: nothing of it is in the program muster, as the names in that show.
"""

import glob
import os
import re
import subprocess
import sys


IN_PLACE = {"PMIx_Notify_event": "src/transport/mpi/failures.c"}


def order_of(readme):
    """The folders in the order of the map: lines that begin with - `name/`."""
    with open(readme, encoding="utf-8") as file:
        folders = re.findall(r"^- `([a-z]+)/` ", file.read(), re.MULTILINE)
    if len(folders) < 10 or len(set(folders)) != len(folders):
        sys.exit(f"{readme}: the map of the folders was not found")
    return [*folders, "main"]


def folder_of(path):
    """The folder of src/x/y.c; main for what lies in src/ itself."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else "main"


def sources(root):
    for top in ("include/muster", "src"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(root):
    """Pairs of files: the one that includes, and the one of ours that is included."""
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for name in re.findall(r'^#include "([^"]+)"', file.read(), re.MULTILINE):
                for candidate in (os.path.join(os.path.dirname(path), name), f"src/{name}", f"include/{name}"):
                    if os.path.exists(os.path.join(root, candidate)):
                        yield path, os.path.normpath(candidate)
                        break


def owner(root, path):
    """The folder that a file belongs to; of a public header, the one that implements it."""
    if path.startswith("src/"):
        return folder_of(path)
    with open(os.path.join(root, path), encoding="utf-8") as file:
        comment = file.read().split("*/")[1]  # the first one is the licence
    named = re.findall(r"src/([a-z]+)/", comment)
    if len(set(named)) != 1:
        sys.exit(f"{path}: the comment below the licence must name the one folder that implements it (src/FOLDER/FILE.c)")
    return named[0]


def objects(build):
    """Objects by their source, as CMake lays them out: TARGET.dir/src/FOLDER/FILE.c.o."""
    found = {}
    for folder, _, names in os.walk(os.path.join(build, "CMakeFiles")):
        for name in names:
            path = os.path.join(folder, name)
            source = re.search(r"\.dir/(src/.*\.c)\.o$", path)
            if source and "/sim/standins/" not in path:
                found.setdefault(source.group(1), path)
    return found


def symbols(root, build, nm):
    """By symbol, the file that defines it; and pairs of a file and a symbol that it needs."""
    files = {source: path for source, path in objects(build).items() if os.path.exists(os.path.join(root, source))}
    if len(files) < 100:
        sys.exit(f"{build}: only {len(files)} objects were found: this test cannot judge them")
    defined, needed = {}, []
    for source, path in sorted(files.items()):
        text = subprocess.run([nm, path], check=True, stdout=subprocess.PIPE, text=True).stdout
        for line in text.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                needed.append((source, symbol))
            elif kind.isupper():
                defined.setdefault(symbol, source)
    return defined, needed


def circle_of(pairs):
    """What is left of the files when those that use none of them, or that none of them uses, are taken away."""
    left = {file for pair in pairs for file in pair}
    while True:
        pairs = [(here, there) for here, there in pairs if here != there and {here, there} <= left]
        inner = {here for here, _ in pairs} & {there for _, there in pairs}
        if inner == left:
            return sorted(os.path.basename(file) for file in left)
        left = inner


def unknown_files(root):
    """Files that src/README.md names and that are not there."""
    with open(os.path.join(root, "src/README.md"), encoding="utf-8") as file:
        names = re.findall(r"`(?:src/)?((?:[a-z_]+/)*[a-z_*]+/[a-z_*]+\.[ch]|main\.c)`", file.read())
    return [name for name in names if not glob.glob(os.path.join(root, "src", name))]


def main(root, build, nm):
    order = order_of(os.path.join(root, "src/README.md"))
    wrong = [f"src/README.md names src/{name}, which is not there" for name in unknown_files(root)]
    unknown = sorted({folder_of(path) for path in sources(root) if path.startswith("src/")} - set(order))
    wrong += [f"src/{folder}/ is not in the map of src/README.md" for folder in unknown]
    rank = {folder: place for place, folder in enumerate(order)}

    def is_wrong(here, there):
        return rank.get(here, 99) < rank.get(there, 99)

    for path, other in includes(root):
        here, there = owner(root, path), owner(root, other)
        if is_wrong(here, there):
            wrong.append(f"{path} includes {other}: {here} must not use {there}")
    defined, needed = symbols(root, build, nm)
    for path, symbol in needed:
        other = defined.get(symbol, path)
        here, there = folder_of(path), folder_of(other)
        if is_wrong(here, there):
            wrong.append(f"{path} uses {symbol} of {other}: {here} must not use {there}")
    uses = [*includes(root), *((path, defined[symbol]) for path, symbol in needed if symbol in defined)]
    circle = circle_of([pair for pair in uses if all(file.startswith("src/eval/") for file in pair)])
    wrong += [f"src/eval: a circle of {', '.join(circle)}"] if circle else []
    wrong += [f"{path} defines {symbol}, which does not begin with muster_" for symbol, path in sorted(defined.items())
              if not symbol.startswith(("muster_", "__")) and symbol != "main" and IN_PLACE.get(symbol) != path]
    program = subprocess.run([nm, os.path.join(build, "muster")], check=True, stdout=subprocess.PIPE, text=True).stdout
    wrong += [f"muster has a symbol of the simulator: {name}" for name in re.findall(r" (muster_sim_\w+)$", program, re.M)]
    if " muster_cmd_sim\n" not in program:
        wrong.append("muster has no names of functions, so this test cannot see whose they are")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
