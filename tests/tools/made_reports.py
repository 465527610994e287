# SPDX-License-Identifier: Apache-2.0
"""Reports put together by hand or made by the simulation, for the commands that read one."""

import json
import os
import re
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


def judged(muster, value, skus=("",), run=True):
    """The report after `muster check`, as each of these machine types; "" is that of the report. run: with what was measured, which
    is most of it."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path, after = save(folder, "report.json", value), os.path.join(folder, "judged.json")
        for sku in skus:
            done = subprocess.run([muster, "check", path, *(["--sku", sku] if sku else []), "--report", after],
                                  stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in (0, 1, 3):
                raise RuntimeError(f"muster check: exit code {done.returncode}")
            with open(after, encoding="utf-8") as file:
                text = file.read()
            found.append(json.loads(text if run else text[:text.index(',\n  "run": {')] + "}"))
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


def multiplied(value, times, faulty):
    """The text of a report with each node of this one `times` times, in pieces: the nodes are gpu-0001 and so on, each
    copy has NVLink domains of its own. `faulty` copies, spread over the run, have the findings of the nodes; in the
    others the nodes with findings are like a node of their domain that has none. Nothing is judged again: findings
    about the whole job and the results of checks are those of one copy, the numbers of passes are multiplied, and the
    single windows of a value are left out."""
    run, names = value["run"], [one["name"] for one in value["run"]["nodes"]]
    bad = {one["where"]["node"] for one in value["findings"] if one["status"] != "skip" and one["where"].get("node")}
    domains = [re.findall(r'"cluster": "([^"]*)"', json.dumps(one))[:1] for one in run["nodes"]]
    alike = [i if name not in bad else next(j for j, other in enumerate(names) if other not in bad and domains[j] == domains[i])
             for i, name in enumerate(names)]
    with_faults = {round(i * times / faulty) for i in range(faulty)}
    first, size = run["nodes"][0]["ranks"][0]["rank"], sum(len(one["ranks"]) for one in run["nodes"])
    assert first == 0 and size == run["job"]["ranks"]

    token = re.compile(r'(?<![\w-])(' + "|".join(map(re.escape, names)) + r')(?!\w)|(' + "|".join(map(re.escape, sum(domains, []))) + r')|"@(\d+)"')

    def cut(text):
        """JSON as pieces: texts, names of nodes as their indices, domains and ranks as functions of the copy."""
        pieces, end = [], 0
        for match in token.finditer(text):
            pieces.append(text[end:match.start()])
            end = match.end()
            pieces.append(names.index(match[1]) if match[1] else match[2] and (match[2][:-6] + "%06x", 1, 0) or ("%d", size, int(match[3])))
        return pieces + [text[end:]]

    def moved(pieces, copy, itself=(None, None)):
        """The JSON of a copy; the node itself[0] has the name of the node itself[1], for which it stands."""
        return "".join(piece if isinstance(piece, str) else
                       f"gpu-{copy * len(names) + (itself[1] if piece == itself[0] else piece) + 1:04d}" if isinstance(piece, int) else
                       piece[0] % (copy * piece[1] + piece[2]) for piece in pieces)

    def placed(one):
        where = one["where"]
        return cut(json.dumps({**one, "where": {**where, "rank": f"@{where['rank']}"} if "rank" in where else where}))

    findings = [moved(placed(one), copy) for copy in sorted(with_faults) for one in value["findings"]
                if one["where"].get("node") or copy == min(with_faults)]
    count = {status: number * times if status == "pass" else sum(json.loads(one)["status"] == status for one in findings)
             for status, number in value["summary"]["count"].items()}
    head = {**value, "findings": None, "run": None, "slowest": {},
            "summary": {**value["summary"], "nodes": times * len(names), "ranks": times * size, "domains": 2 * times,
                        "failed_nodes": [], "actions": [], "count": count}}
    yield json.dumps(head)[:-1].replace('"findings": null', '"findings": [' + ",".join(findings) + "]").replace('"run": null, ', "").replace(', "run": null', "")
    yield ', "run": ' + json.dumps({**run, "nodes": None, "job": {**run["job"], "ranks": times * size}})[:-1].replace('"nodes": null', '"nodes": [')
    shapes = [[cut(json.dumps({**one, "ranks": [
        {**rank, "rank": f"@{rank['rank'] - one['ranks'][0]['rank'] + names_of['ranks'][0]['rank']}", "samples": [
            {key: of for key, of in sample.items() if key not in ("values", "tries")} for sample in rank["samples"]]}
        for rank in one["ranks"]]})) for one in (names_of, run["nodes"][alike[i]])] for i, names_of in enumerate(run["nodes"])]
    for copy in range(times):
        for i, (faulty_shape, shape) in enumerate(shapes):
            text = moved(faulty_shape, copy) if copy in with_faults else moved(shape, copy, (alike[i], i))
            yield ("," if copy or i else "") + text
    yield "]}}"

