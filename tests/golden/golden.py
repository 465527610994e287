#!/usr/bin/python3
"""The text of six reports at 80, 120 and 200 columns, byte by byte as in the files beside this one.

A change of the text is a change of these files: --write writes them anew, and the diff shows what a user will see.

usage: golden.py MUSTER EXAMPLES NAME|--write
Exit status: 0 the same, 1 not.
"""

import copy
import difflib
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
from made_reports import finding, many, report, save

WIDTHS = (80, 120, 200)


def changed(value, verdict, **statuses):
    value = copy.deepcopy(value)
    value["verdict"] = verdict
    value["summary"]["count"].update(statuses)
    return value


def inconclusive(example):
    """Nothing failed, and on three nodes of four a library could not be opened."""
    value = changed(many(example, 4, {}), "inconclusive", inconclusive=3)
    value["findings"] = [finding("inconclusive", "load.bf16", f"gpu-00{i}", expected="at least 1364 TFLOP/s",
                                 observed="no value: libcublasLt.so.13 cannot be opened", action_code="fix-settings",
                                 advice=f"install the library on gpu-00{i}") for i in (1, 2, 4)]
    return value


def hostile(_):
    """Names and texts that no machine should give: no line is wider, and nothing drives a terminal."""
    names = ["a\x1b[2Jb", "n" * 100, "e\u0301 \U0001f600", "[1-3],x"]
    return report(names, [finding("fail", "gpu.name", name, gpu="\x07" * 30, expected="w" * 300, observed="a,b " * 80,
                                  advice=f"look at {name}", evidence="\u202eevil") for name in names[:3]])


REPORTS = {
    "example": lambda example: example,
    "alone": lambda example: changed(many(example, 1, {}), "pass"),
    "two": lambda example: many(example, 2, {"copy.h2d": (2,)}),
    "many": many,
    "inconclusive": inconclusive,
    "hostile": hostile,
}


def text_of(muster, version, folder, name, value, width):
    """What `muster report` prints, whatever the version of muster is."""
    value["muster"] = value["run"]["job"]["muster"] = version
    save(folder, f"{name}.json", value)
    done = subprocess.run([muster, "report", f"{name}.json"], cwd=folder, env={**os.environ, "COLUMNS": str(width)},
                          capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.replace(f"muster {version}", "muster VERSION")


def main():
    muster, examples, chosen = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    version = subprocess.run([muster, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.split()[1]
    with gzip.open(os.path.join(examples, "report.json.gz"), "rt", encoding="utf-8") as file:
        example = json.load(file)
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in REPORTS if chosen == "--write" else [chosen]:
            for width in WIDTHS:
                text = text_of(muster, version, folder, name, REPORTS[name](copy.deepcopy(example)), width)
                path = os.path.join(HERE, f"{name}-{width}.txt")
                if chosen == "--write":
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    continue
                with open(path, encoding="utf-8") as file:
                    golden = file.read()
                if text != golden:
                    different = 1
                    sys.stdout.writelines(difflib.unified_diff(golden.splitlines(True), text.splitlines(True), path, "muster report", n=1))
    return different


if __name__ == "__main__":
    sys.exit(main())
