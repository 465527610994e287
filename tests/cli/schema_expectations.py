#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hold expectation files against docs/expectations.schema.json, and muster against the schema.

usage: schema_expectations.py SCHEMA CONFIGS MUSTER

Every file under CONFIGS must be valid; muster takes each but the tables of events, which are a part of others. Every broken file of the table below must be refused by the schema and by muster
alike; every good overlay must be taken by both. Exits 77 when python3-jsonschema is not there.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

CHECK = {"metric": "node.gpu_count", "equals": 8, "source": "s"}
EVENT = {"name": "n", "class": "fail", "action": "a"}
NO_EVENT = {"table": "xid", "label": "code", "hours": 24}


def file_with(**check):
    return {"schema_version": 1, "name": "t", "checks": {"a.check": dict(CHECK, **check)}}


def event_with(**event):
    return {"schema_version": 1, "name": "t", "events": {"xid": {"79": dict(EVENT, **event)}}, "checks": {"a": CHECK}}


BROKEN = {
    "no version": {"name": "t", "checks": {"a": CHECK}},
    "another version": {"schema_version": 2, "name": "t", "checks": {"a": CHECK}},
    "no name": {"schema_version": 1, "checks": {"a": CHECK}},
    "unknown key": {"schema_version": 1, "name": "t", "chekcs": {"a": CHECK}},
    "checks as a list": {"schema_version": 1, "name": "t", "checks": [CHECK]},
    "a check's name in capitals": {"schema_version": 1, "name": "t", "checks": {"A": CHECK}},
    "a check's name that muster uses": {"schema_version": 1, "name": "t", "checks": {"probe.gpu": CHECK}},
    "the name of an unknown machine": {"schema_version": 1, "name": "t", "checks": {"sku.unknown": CHECK}},
    "unknown key of identify": {"schema_version": 1, "name": "t", "identify": {"gpu": 8}, "checks": {"a": CHECK}},
    "unknown key of a check": file_with(atleast=8),
    "a number as text": file_with(min="8"),
    "an empty list": file_with(one_of=[]),
    "an unknown severity": file_with(severity="error"),
    "an unknown certainty": file_with(certainty="sure"),
    "an unknown profile": file_with(when={"profile": "fast"}),
    "no nodes": file_with(when={"nodes": 0}),
    "unknown key of when": file_with(when={"racks": 1}),
    "an empty source": file_with(source=""),
    "across racks": file_with(same_across="racks"),
    "equals_by with another key": file_with(equals_by={"label": "gpu", "map": {}}),
    "a share above one": file_with(min_of_median=85),
    "a share of nothing": file_with(min_of_median=0),
    "slower by nothing": file_with(slower_than_peers={"fail": 0}),
    "a whole share of a baseline": file_with(baseline={"median": 2, "mad": 0, "n": 20}, min_of_baseline=1),
    "a baseline of nothing": file_with(baseline={"median": 0, "mad": 0, "n": 20}, min_of_baseline=0.9),
    "a baseline of no value": file_with(baseline={"median": 2, "mad": 0, "n": 0}, min_of_baseline=0.9),
    "an outlier that is close": file_with(outlier={"z": 3.5, "share": 0}),
    "an outlier of the wrong sign": file_with(outlier={"z": -3.5, "share": 0.1}),
    "a multiple below one": file_with(max_of_median=0.9),
    "observe switched off": file_with(observe=False),
    "no domains": file_with(when={"domains": 0}),
    "a version as a number": file_with(metric="node.kernel", equals=None, min_version=2.9),
    "a version with a name": file_with(metric="node.kernel", equals=None, min_version="2.9-rc1"),
    "case ignored in words": file_with(ignore_case="yes"),
    "within a number": file_with(same_across="nodes", within=1),
    "reasons as a list": file_with(inconclusive_on=["INIT"]),
    "events of an unknown table": {"schema_version": 1, "name": "t", "events": {"xids": {}}, "checks": {"a": CHECK}},
    "an event by a word": {"schema_version": 1, "name": "t", "events": {"xid": {"x": EVENT}}, "checks": {"a": CHECK}},
    "an event without action": event_with(action=""),
    "an event of an unknown class": event_with(**{"class": "error"}),
    "an event for no time": event_with(hours=0),
    "an event for years": event_with(hours=8761),
    "a path that is relative": {"schema_version": 1, "name": "t", "paths": ["apps"], "checks": {"a": CHECK}},
    "a path with another key": {"schema_version": 1, "name": "t", "paths": [{"path": "/x", "hash": True}], "checks": {"a": CHECK}},
    "content of no path": {"schema_version": 1, "name": "t", "paths": [{"content": True}], "checks": {"a": CHECK}},
    "too many paths": {"schema_version": 1, "name": "t", "paths": ["/x"] * 65, "checks": {"a": CHECK}},
    "an unknown measurement": file_with(when={"measures": "disks"}),
    "no_event of another table": file_with(metric="node.xid_age_hours", equals=None, no_event=dict(NO_EVENT, table="smi")),
    "no_event for no time": file_with(metric="node.xid_age_hours", equals=None, no_event=dict(NO_EVENT, hours=0)),
}

OVERLAYS = {
    "one number": {"checks": {"copy.h2d": {"min": 22}}},
    "a check switched off": {"checks": {"copy.h2d": None}},
    "an operator replaced": {"checks": {"gpu.name": {"one_of": None, "equals": "X"}}},
    "a floor given up": {"checks": {"copy.h2d": {"min": None, "warn_below": None, "observe": True}}},
    "a floor relative to the run": {"checks": {"copy.h2d": {"min_of_median": 0.9, "max_of_median": 1.1}}},
    "domains": {"checks": {"copy.h2d": {"when": {"domains": {"min": 1, "max": 4}}}}},
    "within": {"checks": {"site.fw": {"metric": "port.firmware", "same_across": "nodes", "within": "port", "source": "s"}}},
    "a version": {"checks": {"nccl.version": {"min_version": "2.18.5", "source": "site"}}},
    "another class": {"events": {"xid": {"79": {"class": "note"}, "48": None, "149-nonfatal": None, "999": EVENT}, "kernel": {"oom": None}}},
    "more hours": {"checks": {"history.xid": {"no_event": {"hours": 48}, "source": "site"}}},
    "a baseline": {"checks": {"baseline.h2d": {"metric": "gpu.h2d_gbps", "source": "learned", "min_of_baseline": 0.93,
                                               "warn_of_baseline": 0.95, "max_mad": 5.2,
                                               "baseline": {"median": 26.1, "mad": 0.12, "n": 480}}}},
    "an outlier": {"checks": {"site.h2d": {"metric": "gpu.h2d_gbps", "source": "s",
                                           "outlier": {"z": 4, "share": 0.05}}}},
    "case": {"checks": {"node.vm_size": {"equals": "standard_x", "ignore_case": True, "source": "site"}}},
    "paths": {"paths": ["/shared/apps", {"path": "/opt/x", "content": True}, {"path": "/opt/y"}]},
    "no paths": {"paths": []},
    "a check of the site's own": {
        "schema_version": 1,
        "checks": {"site.os": {"metric": "node.os", "matches": "^Ubuntu", "source": "site image"}},
    },
}

BROKEN_OVERLAYS = {
    "extends": {"extends": "generic-nvidia.json"},
    "unknown key": {"cheks": {}},
    "wrong type": {"checks": {"copy.h2d": {"min": "22"}}},
}


def main():
    schema_path, configs, muster = sys.argv[1:4]
    schema = json.loads(Path(schema_path).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    whole = Draft202012Validator(schema)
    overlay = Draft202012Validator({"$ref": "#/$defs/overlay", "$defs": schema["$defs"]})
    problems = []
    done = 0

    def muster_takes(path, *options):
        """True when muster gets as far as the report, which is not there; False when it refuses the expectations."""
        result = subprocess.run(
            [muster, "check", "/nonexistent/report.json", "--sku", path, *options], capture_output=True, text=True
        )
        if result.returncode != 2:
            problems.append(f"muster check: exit code {result.returncode}: {result.stderr}")
        return "/nonexistent/report.json" in result.stderr

    with tempfile.TemporaryDirectory() as directory:

        def write(name, value):
            path = os.path.join(directory, name)
            Path(path).write_text(json.dumps(value), encoding="utf-8")
            return path

        for path in sorted(glob.glob(os.path.join(configs, "**", "*.json"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                errors = [f"{path}: {error.json_path}: {error.message}" for error in whole.iter_errors(json.load(file))]
            problems += errors
            if muster_takes(path) == (os.path.basename(path) == "events.json"):
                problems.append(f"{path}: muster refuses it, or takes it although it checks nothing")
            done += 1
        for what, value in BROKEN.items():
            if whole.is_valid(value):
                problems.append(f"the schema takes a file with {what}")
            if muster_takes(write("broken.json", value)):
                problems.append(f"muster takes a file with {what}")
        sku = os.path.join(configs, "Standard_ND96asr_v4.json")
        for what, value in OVERLAYS.items():
            problems += [f"overlay, {what}: {error.message}" for error in overlay.iter_errors(value)]
            if not muster_takes(sku, "--overlay", write("overlay.json", value)):
                problems.append(f"muster refuses an overlay with {what}")
        for what, value in BROKEN_OVERLAYS.items():
            if overlay.is_valid(value):
                problems.append(f"the schema takes an overlay with {what}")
            if muster_takes(sku, "--overlay", write("overlay.json", value)):
                problems.append(f"muster takes an overlay with {what}")
    if done == 0:
        problems.append(f"no files under {configs}")
    for problem in problems:
        print(problem)
    print(f"{done} files valid, {len(BROKEN) + len(BROKEN_OVERLAYS)} broken ones refused" if not problems else "FAILED")
    return 1 if problems else 0


sys.exit(main())
