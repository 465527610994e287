"""Reports put together by hand or made by the simulation, for the commands that read one."""

import json
import os
import subprocess
import tempfile


def finding(status, check, node=None, **more):
    where = {key: more.pop(key) for key in ("rank", "gpu", "port") if key in more}
    if node:
        where["node"] = node
    return {"check": check, "status": status, "where": where, "value": None, "unit": "", **more}


def node(name, first, ranks=1, missing=None, samples=()):
    one = {"name": name, "simulated": False, "samples": list(samples), "ranks": []}
    for rank in range(first, first + ranks):
        entry = {"rank": rank, "probes": [], "samples": []}
        if missing:
            entry["missing"] = missing
        one["ranks"].append(entry)
    return one


def tally(check, metric="gpu.h2d_gbps", expected="at least 21 GB/s", **count):
    """How a check went over the whole run."""
    return {"check": check, "metric": metric, "probe": metric.split(".", maxsplit=1)[0], "expected": expected, "unit": "", "proof": "hard",
            "count": {status: count.get(status, 0) for status in ("pass", "warn", "fail", "skip", "inconclusive")}}


def report(names, findings=(), verdict="fail", simulated=False, missing=(), strict=False, checks=(), job=None, started="2026-11-29T12:00:00Z"):
    """One rank on each node."""
    count = dict.fromkeys(("pass", "warn", "fail", "skip", "inconclusive"), 0)
    for one in findings:
        count[one["status"]] += 1
    return {
        "schema_version": 1, "muster": "0.1.0", "verdict": verdict, "simulated": simulated, "strict": strict,
        "sku": {"name": "made", "observe": False},
        "summary": {"nodes": len(names), "ranks": len(names), "missing_ranks": [], "failed_nodes": [], "count": count},
        "findings": list(findings), "checks": list(checks),
        "run": {"job": {"started": started, "elapsed_s": 1.5, "profile": "quick", "ranks": len(names), "simulated": simulated,
                        "samples": [], **({"id": job} if job else {})},
                "nodes": [node(name, i, missing="nothing came" if name in missing else None)
                          for i, name in enumerate(names)]},
    }


def save(directory, name, value):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def sample_lists(value):
    """The samples of the job, of each node and of each rank."""
    run = value["run"]
    parts = [run["job"], *run["nodes"], *(rank for one in run["nodes"] for rank in one["ranks"])]
    return [part["samples"] for part in parts]


def simulated(muster, sku, *words, profile="standard"):
    """The report of a simulated run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        done = subprocess.run([muster, "sim", "--sku", sku, *words, "--report", path, "--", "--profile", profile], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if not os.path.exists(path):
            raise RuntimeError(done.stdout)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def judged(muster, value, skus=("",)):
    """The report after `muster check`, as each of these machine types; "" is that of the report."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, after = save(folder, "report.json", value), os.path.join(folder, "judged.json")
        for sku in skus:
            done = subprocess.run([muster, "check", path, *(["--sku", sku] if sku else []), "--report", after],
                                  stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in (0, 1, 3):
                raise RuntimeError(f"muster check: exit code {done.returncode}")
            with open(after, encoding="utf-8") as file:
                found.append(json.load(file))
    return found


# Nodes with the finding, out of 512: scattered, a rack in a row, two that follow each other, a few.
FAULTS = {"copy.h2d": range(11, 512, 64), "ib.state": range(129, 137), "history.xid": (7, 8, 70, 71, 200, 201, 400, 401),
          "same.driver": (33, 34, 300)}


def many(example, nodes=512, faults=None):
    """The report `example`, which has these findings on one node each, with as many nodes and with its findings on these nodes."""
    run = example["run"]
    ranks, probes = len(run["nodes"][0]["ranks"]), run["nodes"][0]["ranks"][0]["probes"]
    names = [f"gpu-{i:03}" for i in range(1, nodes + 1)]
    findings = []
    for check, places in (FAULTS if faults is None else faults).items():
        one = next(finding for finding in example["findings"] if finding["check"] == check)
        for place in places:
            text = json.dumps(one).replace(one["where"]["node"], names[place - 1])
            findings.append(json.loads(text))
            if "rank" in one["where"]:
                findings[-1]["where"]["rank"] = (place - 1) * ranks + one["where"]["rank"] % ranks
    count = {**example["summary"]["count"], "fail": 0, "warn": 0, "inconclusive": 0}
    for one in findings:
        count[one["status"]] += 1
    order = ("fail", "inconclusive", "warn")
    findings.sort(key=lambda one: (order.index(one["status"]), one["where"]["node"]))
    return {**example, "summary": {**example["summary"], "nodes": nodes, "ranks": nodes * ranks, "count": count}, "findings": findings,
            "run": {"job": {**run["job"], "ranks": nodes * ranks}, "nodes": [{**node(name, i * ranks, ranks), "ranks": [{"rank": i * ranks + j, "probes": [] if j else probes, "samples": []}
                                                                 for j in range(ranks)]} for i, name in enumerate(names)]}}
