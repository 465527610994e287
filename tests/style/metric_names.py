#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the program knows of a metric is in the row of its probe: no other code spells names of metrics, or decides by
the text of a unit or by a part of a name.

usage: metric_names.py SOURCE MUSTER

The names are those of `muster metrics`. A literal that is one may stand in src/probes/, in the simulation, and in the
files that derive metrics (LISTED); elsewhere there may be few, and none in src/model/. The number is printed.
"""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

FREE = ("src/probes/*", "src/sim/*", "sim/*")
LISTED = ("src/eval/derive*.c",)
MOST_ELSEWHERE = 72
MOST_OUTSIDE = 142  # of files in LISTED too
FOLDERS = ("model", "eval", "report", "history", "slurm", "expect")
BY_SPELLING = (
    (r"str(n?case)?n?cmp\([^;\"]*\bunit\b[^;\"]*\"", "compares the text of a unit"),
    (r"str(str|rchr|spn)\([^;\"]*metric->name", "looks for a part of a metric's name"),
    (r"strn(case)?cmp\([^;\"]*metric->name[^;\"]*\"", "compares the beginning of a metric's name"),
    (r"str(n?case)?n?cmp\((?:[^;\"()]|\([^()]*\))*\"[^\" \n]+ [^\" \n]+ [^\"\n]*\"", "decides by a sentence"),
)


def code_of(text):
    """Without comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def faults(files, names):
    """files: path and text. Problems as sentences, and how many literals there are elsewhere and in all."""
    found, elsewhere, outside = [], 0, 0
    for path, text in files:
        code = code_of(text)
        count = 0
        if not any(fnmatch.fnmatch(path, pattern) for pattern in FREE):
            count = sum(literal in names for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code))
        outside += count
        elsewhere += 0 if any(fnmatch.fnmatch(path, pattern) for pattern in LISTED) else count
        if count and path.startswith("src/model/"):
            found.append(f"{path}: {count} names of metrics, which stand above src/model/")
        if path.split("/")[1] in FOLDERS:
            found += [f"{path}: {what}: {match.group(0)[:80]!r}" for pattern, what in BY_SPELLING
                      for match in re.finditer(pattern, code)]
    if elsewhere > MOST_ELSEWHERE:
        found.append(f"{elsewhere} names of metrics in files that are not for them, at most {MOST_ELSEWHERE} are allowed")
    if outside > MOST_OUTSIDE:
        found.append(f"{outside} names of metrics outside src/probes/, at most {MOST_OUTSIDE} are allowed")
    return found, elsewhere, outside


def main():
    root, muster = sys.argv[1:]
    listed = subprocess.run([muster, "metrics", "--format", "json"], check=True, capture_output=True, text=True).stdout
    names = {metric["name"] for metric in json.loads(listed)}
    files = []
    for path in sorted(glob.glob(f"{root}/src/**/*.[ch]", recursive=True)):
        with open(path, encoding="utf-8") as file:
            files.append((os.path.relpath(path, root), file.read()))
    found, elsewhere, outside = faults(files, names)
    print(f"names of metrics: {outside} outside src/probes/, {elsewhere} of them in files that are not for them")
    sys.exit("\n".join(found) or 0)


if __name__ == "__main__":
    main()
