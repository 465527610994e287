#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Xids and SXids of NVIDIA's open kernel modules against the tables of events: what is missing, and what contradicts.

usage: driver_codes.py [--events FILE] [--rows] TREE[@REVISION]...

TREE is a source tree or a git directory that is here already; nothing is downloaded. Of an SXid, the severity is the
word that the driver writes into the line, for each generation of the switch (lr10: A100, ls10: H100). --rows prints
the entries of fatal SXids that the table lacks, by the driver's own text. The exit status is 1 when an error that the
driver calls fatal does not fail, or one that it calls correctable does.
"""
import argparse
import json
import os
import re
import subprocess
import sys

NUMBERS = re.compile(r"\bNVSWITCH_ERR_(HW_\w+)\s*=\s*(\d+)")
XIDS = re.compile(r"^#define\s+(\w+)\s+\((\d+)\)", re.M)
REPORT = re.compile(r"NVSWITCH_REPORT_(?:PRI_ERROR_)?(FATAL|NONFATAL|CONTAIN|CORRECTABLE(?:_\w+_DATA)?)(?:_LINK)?\("
                    r"(?:\s*\w+,){0,2}?\s*_(HW_\w+)\s*,(?:\s*[\w.&]+\s*,)?\s*(?:\"([^\"\n]*)\")?")
PRINT = re.compile(r"NVSWITCH_PRINT_SXID(?:_NO_BBX)?\([^,]+,\s*NVSWITCH_ERR_(HW_\w+)\s*,\s*\"(Fatal|Non-fatal|Correctable)?,? ?([^\"\n]*)")
WORDS = {"FATAL": ("fatal",), "NONFATAL": ("nonfatal",), "CONTAIN": ("fatal", "nonfatal"), "Fatal": ("fatal",),
         "Non-fatal": ("nonfatal",), "Correctable": ("correctable",), "": ("",)}
SOURCES = ("src/common/nvswitch/", "src/common/sdk/nvidia/inc/nverror.h")


def read(tree, revision):
    """Path and text of each file that may tell of codes."""
    if os.path.isdir(os.path.join(tree, "objects")):
        git = ["git", "--git-dir", tree]
        names = subprocess.run([*git, "ls-tree", "-r", "--name-only", revision, *SOURCES], stdout=subprocess.PIPE, text=True, check=True)
        for name in names.stdout.split():
            if name.endswith((".c", ".h")):
                yield name, subprocess.run([*git, "show", f"{revision}:{name}"], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
        return
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), tree)
            if name.endswith((".c", ".h")) and path.startswith(SOURCES):
                with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as file:
                    yield path, file.read()


def generation(path):
    return next((part for part in path.split("/") if re.fullmatch(r"l[a-z]\d\d", part)), "all")


def codes_of(files):
    """Xids by number, and SXids by number: {"name", "text", "words": {generation: {severity}}}."""
    xids, numbers, reports = {}, {}, []
    for path, text in files:
        numbers.update({name: int(number) for name, number in NUMBERS.findall(text)})
        if path.endswith("nverror.h"):
            xids.update({int(number): name for name, number in XIDS.findall(text) if "LAST_ERROR" not in name and "_LEVEL_" not in name})
        if path.endswith(".c"):
            found = [(name, WORDS[kind.split("_")[0].replace("CORRECTABLE", "Correctable")], said) for kind, name, said in REPORT.findall(text)]
            found += [(name, WORDS[word], said) for name, word, said in PRINT.findall(text)]
            reports += [(name, generation(path), words, said) for name, words, said in found]
    sxids = {}
    for name, chip, words, said in reports:
        if name in numbers:
            code = sxids.setdefault(numbers[name], {"name": name, "text": said.strip(), "words": {}})
            code["words"].setdefault(chip, set()).update(words)
    return xids, sxids


def find(table, number, word):
    """The event of this code, as muster looks it up."""
    case = f"-{word}" if word else ""
    return table.get(f"{number}{case}") or table.get(str(number)) or (table.get(f"other{case}") if case else None)


def compare(xids, sxids, tables):
    """Lines of what differs, whether any is wrong, and the fatal SXids without an entry of their own."""
    lines, wrong, missing = [], False, {}
    for number, name in sorted(xids.items()):
        if not find(tables["xid"], number, "") and not re.search("UNUSED|RESERVED", name):
            lines.append(f"Xid {number} {name}: no entry")
    for number, code in sorted(sxids.items()):
        words = {word for each in code["words"].values() for word in each}
        says = ", ".join(f"{chip} {'/'.join(sorted(each)) or 'no word'}" for chip, each in sorted(code["words"].items()))
        for word in sorted(words):
            event = find(tables["sxid"], number, word)
            kind = event["class"] if event else "warn"
            bad = (word == "fatal" and kind != "fail") or (word == "correctable" and kind == "fail")
            wrong |= bad
            if bad or (word == "nonfatal" and kind == "fail"):
                lines.append(f"SXid {number} {code['name']}: {kind}, and the driver says {word} ({says})" + ("" if bad else ": stricter"))
        if not {str(number), f"{number}-fatal"} & set(tables["sxid"]):
            lines.append(f"SXid {number} {code['name']}: no entry, so the word decides ({says})")
        if "fatal" in words and find(tables["sxid"], number, "fatal") in (None, tables["sxid"].get("other-fatal"), tables["sxid"].get(str(number))):
            missing[number] = code["text"]
    return lines, wrong, missing


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--events", default=os.path.join(os.path.dirname(__file__), "../../configs/events.json"))
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    with open(options.events, encoding="utf-8") as file:
        tables = json.load(file)["events"]
    wrong = False
    for tree in options.trees:
        path, _, revision = tree.partition("@")
        lines, bad, missing = compare(*codes_of(read(path, revision or "HEAD")), tables)
        wrong |= bad
        print(f"== {tree}", *lines, sep="\n")
        if options.rows:
            print(json.dumps(missing, indent=1))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
