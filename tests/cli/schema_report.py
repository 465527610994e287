# SPDX-License-Identifier: Apache-2.0
"""Validate reports against docs/report.schema.json with an independent validator (python3-jsonschema).

usage: schema_report.py SCHEMA REPORT...
       schema_report.py SCHEMA --writer COMMAND...   (with a directory behind it, the command writes the reports)

Exit status: 0 all valid, 1 not, 77 no validator here.
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
    Validator = jsonschema.Draft202012Validator
except (ImportError, AttributeError):
    print("skipped: python3-jsonschema with draft 2020-12 is not installed")
    sys.exit(77)


def closed(schema, path="$"):
    """Every object in the schema that lists properties must refuse others."""
    if isinstance(schema, dict):
        lists = "properties" in schema and schema.get("type") == "object"
        if lists and schema.get("additionalProperties") is not False:
            raise SystemExit(f"{path}: additionalProperties is not false")
        for key, value in schema.items():
            closed(value, f"{path}.{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            closed(value, f"{path}[{index}]")


def spoil(report):
    """Reports that must not validate, made from a good one: what each of them shows, and the report."""
    def rank(r):
        return r["run"]["nodes"][0]["ranks"][0]

    def sample(r):
        return next(s for s in rank(r)["samples"] if s["value"] is not None)

    changes = {
        "an unknown key at the top": lambda r: r.update(extra=1),
        "an unknown key in a sample": lambda r: sample(r).update(unit="x"),
        "an unknown key in a rank": lambda r: rank(r).update(extra=1),
        "a null without a reason": lambda r: sample(r).update(value=None),
        "a reason beside a value": lambda r: sample(r).update(reason="x"),
        "a value that is an array": lambda r: sample(r).update(value=[1]),
        "a metric in capitals": lambda r: sample(r).update(metric="GPU.NAME"),
        "another version": lambda r: r.update(schema_version=2),
        "an unknown verdict": lambda r: r.update(verdict="warn"),
        "no run": lambda r: r.pop("run"),
        "a negative rank": lambda r: rank(r).update(rank=-1),
        "an unknown outcome": lambda r: rank(r)["probes"][0].update(status="fine"),
        "a hung probe without detail": lambda r: rank(r)["probes"][0].update(status="hung"),
    }
    if "trials" in report["run"]:
        changes["a trial of no node"] = lambda r: r["run"]["trials"][0].update(nodes=[])
        changes["a trial of an unknown kind"] = lambda r: r["run"]["trials"][0].update(kind="trio")
    for what, change in changes.items():
        bad = copy.deepcopy(report)
        change(bad)
        yield what, bad


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"duplicate keys in {keys}")
    return dict(pairs)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    Validator.check_schema(schema)
    closed(schema)
    validator = Validator(schema)
    with tempfile.TemporaryDirectory() as directory:
        paths = sys.argv[2:]
        if paths[0] == "--writer":
            subprocess.run(paths[1:] + [directory], check=True)
            paths = sorted(glob.glob(os.path.join(directory, "*.json")))
        if not paths:
            raise SystemExit("no report to validate")
        failed = False
        for path in paths:
            with open(path, encoding="utf-8") as file:
                report = json.load(file, object_pairs_hook=no_duplicates, parse_constant=refuse)
            errors = sorted(validator.iter_errors(report), key=lambda error: error.json_path)
            for error in errors[:10]:
                print(f"{path}: {error.json_path}: {error.message[:300]}")
            failed |= bool(errors)
            print(f"{os.path.basename(path)}: {len(errors)} errors")
        for what, bad in spoil(report):
            if validator.is_valid(bad):
                print(f"the schema lets this through: {what}")
                failed = True
    sys.exit(1 if failed else 0)


main()
