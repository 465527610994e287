"""Reports put together by hand, for the commands that read one."""

import json
import os


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
    return {"check": check, "metric": metric, "probe": metric.split(".", maxsplit=1)[0], "expected": expected, "unit": "",
            "count": {status: count.get(status, 0) for status in ("pass", "warn", "fail", "skip", "inconclusive")}}


def report(names, findings=(), verdict="fail", simulated=False, missing=(), strict=False, checks=(), job=None):
    """One rank on each node."""
    count = dict.fromkeys(("pass", "warn", "fail", "skip", "inconclusive"), 0)
    for one in findings:
        count[one["status"]] += 1
    return {
        "schema_version": 1, "muster": "0.1.0", "verdict": verdict, "simulated": simulated, "strict": strict,
        "sku": {"name": "made", "observe": False},
        "summary": {"nodes": len(names), "ranks": len(names), "missing_ranks": [], "failed_nodes": [], "count": count},
        "findings": list(findings), "checks": list(checks),
        "run": {"job": {"elapsed_s": 1.5, "profile": "quick", "ranks": len(names), "simulated": simulated,
                        "samples": [], **({"id": job} if job else {})},
                "nodes": [node(name, i, missing="nothing came" if name in missing else None)
                          for i, name in enumerate(names)]},
    }


def save(directory, name, value):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path
