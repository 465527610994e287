#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Published measurements of real machines, each put into a healthy simulated report that `muster check` judges.

usage: published.py SOURCE MUSTER [--write-docs | ROW...]

The rows alone: what comes out of them. --write-docs: docs/dev/published.md.

Rows are lines of *.json in this folder. A row has facts only:
  id, source       where the figures are: repository, its commit and file, or issue
  machine, gpu     what it is; nodes, gpus (of a node), network ("8 x 400 Gb/s"), software as far as these are known
  said             what its owner says: healthy, sick, setting (slow by a setting, on purpose), unknown; or hidden: sick, and healthy
                   machines have the same value; or derived: the values are a part of those of a healthy machine
  values           {metric: value, or {size or other label: value}, or [value of each GPU]}; all-reduces are bus bandwidths in GB/s, out
                   of place unless "place" says in. 512M are 512 MiB
  type             the machine type with this GPU; racks: NVLink domains, where these are not one
  must             {own or generic: what must come out}: "pass" (no finding), or "warn CHECK..." or "fail CHECK...": at least one of
                   these checks says so, and no other check. own is the type, generic is generic-nvidia
  shares           as values, of the report's own values; profile: standard, where the row is not judged as a full run
  gpu_named        the only GPU of a node that findings name, by its number
  now              as must, where today's thresholds judge otherwise; the row fails as soon as the thresholds are right
  quoted           the source is one that a threshold quotes, so the row is no independent test
"""
import copy
import fnmatch
import gc
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tools"))
import tables  # pylint: disable=wrong-import-position
from made_reports import judged, sample_lists, simulated  # pylint: disable=wrong-import-position

NODES_MOST = ((36, 37), (16, 17), (10, 10))  # (more than, are as): thresholds end at 8, 16 and, of racks, 36 nodes
SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SUMS = "nccl.allreduce_busbw_gbps"
RINGS = (SUMS, "nccl.allgather_busbw_gbps", "nccl.reducescatter_busbw_gbps", "nccl.alltoall_busbw_gbps")
LIKE = {"gpu.gemm_fp8_tflops": "gpu.gemm_bf16_tflops", "gpu.gemm_fp64_tflops": "gpu.gemm_bf16_tflops"}  # only in full
DERIVED = re.compile(r"(pair|nccl)\.\w+_limit_gbps|pair\.exchange_usual_\w+|.*\.slow_windows|job\.step_spread")
COPIES = {"gpu.h2d_gbps": "h2d", "gpu.d2h_gbps": "d2h"}
GENERIC = "generic-nvidia"
KEYS = set("id source machine gpu nodes gpus network software said values shares place profile type racks must now gpu_named quoted note"
           .split())


def label_of(text):
    """The value of a label that a row names: 512M are bytes."""
    found = re.fullmatch(r"(\d+)([KMG])", text)
    return int(found[1]) * SIZES[found[2]] if found else text


class Base:
    """A healthy report of a machine type, as text."""

    def __init__(self, report, hardware, nodes, racks):
        self.report, self.nodes, self.racks, self.hardware = report, nodes, racks, hardware
        self.report.update(findings=[], checks=[])
        for samples in sample_lists(self.report):
            samples[:] = [one for one in samples if not DERIVED.fullmatch(one["metric"])]
            for one in samples:
                one.pop("values", None)
        self.job = self.report["run"]["job"]
        if nodes > 2:
            self.copy_nodes()
        self.make_full()
        if racks > 1:
            self.part_racks()
        self.text = json.dumps(self.report)

    def copy_nodes(self):
        """Copies of two nodes have other names, ranks and identities. The last of an odd number exchanges with the first."""
        pair, ranks = self.report["run"]["nodes"], self.job["ranks"]
        nodes = self.report["run"]["nodes"] = []
        for number in range(self.nodes):
            first = number // 2 * 2
            text = re.sub(r"\bsim-([12])\b", lambda found, first=first: f"sim-{(first + int(found[1]) - 1) % self.nodes + 1}",
                          json.dumps(pair[number % 2]))
            nodes.append(json.loads(text))
            for rank in nodes[-1]["ranks"]:
                rank["rank"] += ranks * (first // 2)
            for samples in [nodes[-1]["samples"], *(rank["samples"] for rank in nodes[-1]["ranks"])]:
                for one in samples:
                    if one["metric"] in ("gpu.uuid", "gpu.serial", "port.guid", "port.gid") and one["value"]:
                        one["value"] = one["value"][:-6] + f"{number:02x}" + one["value"][-4:]
        self.job["ranks"] = ranks // 2 * self.nodes
        for one in self.job["samples"]:
            for key, value in ("nodes", self.nodes), ("ranks", self.job["ranks"]):
                if key in one.get("labels", {}):
                    one["labels"][key] = value
                if one["metric"] == "nccl.ring_" + key:
                    one["value"] = value

    def part_racks(self):
        """Each rack has a fabric of its own; nodes that exchange over the network are in two racks."""
        nodes = self.report["run"]["nodes"]
        racks = [nodes[number::self.racks] for number in range(self.racks)]
        nodes[:] = sum(racks, [])
        for name, rack in enumerate(racks, 1):
            for one in (one for node in rack for rank in node["ranks"] for one in rank["samples"]):
                if one["metric"] == "gpu.fabric_cluster":
                    one["value"] = f"{name:08x}{one['value'][8:]}"
                elif one["metric"] == "gpu.fabric_clique":
                    one.update(labels={**one["labels"], "cluster": f"{name:08x}{one['labels']['cluster'][8:]}"}, value=1)
        for number, rank in enumerate(rank for node in nodes for rank in node["ranks"]):
            rank["rank"] = number
        for one in self.job["samples"]:  # made up, and of GB300 lower than 111 of 200 GB/s (anson627/demo aks/gpu/DESIGN.md)
            if one["metric"] in RINGS[:3]:
                one["value"] *= 1.25 * (self.nodes // self.racks)

    def make_full(self):
        """A run of the profile standard gets the sizes of the profile full, which takes minutes to simulate."""
        self.job["profile"] = "full"
        near = self.nodes == 1 or (self.hardware["rack_nodes"] > 0 and self.racks == 1)
        table = [(one["bytes"], one["busbw_gbps"]) for one in self.hardware.get("allreduce", [])
                 if one["nodes"] == min(self.nodes, 2) and (one["domains"] == 1) == near]
        for metric, sizes in zip(RINGS, (("1G", "2G", "4G", "8G"), *(("1G",),) * 3)):
            model = next((one for one in self.job["samples"] if one["metric"] == metric and one["value"]), None)
            for size in map(label_of, sizes if model else ()):
                value = model["value"] if metric != SUMS else max(gbps for most, gbps in table if most <= size)
                self.job["samples"].append({**model, "labels": {**model["labels"], "bytes": size}, "value": value})


def network_of(row):
    """GB/s of all adapters of a node, None where they are not known."""
    found = re.match(r"(\d+) x (\d+) Gb/s", row.get("network", ""))
    return int(found[1]) * int(found[2]) / 8 if found else None


def scale_network(report, gbps):
    """The network of each node carries so much."""
    nodes = report["run"]["nodes"]
    ports = [one for node in nodes for one in node["samples"]
             if one["metric"] == "port.limit_gbps" and one["labels"]["link_layer"] == "InfiniBand"]
    share = gbps * len(nodes) / sum(port["value"] for port in ports)
    for port in ports:
        port["value"] *= share
    for samples in sample_lists(report):
        for one in samples:
            if one["metric"] == "pair.exchange_gbps" and one["labels"]["transport"].startswith("NET"):
                one["value"] *= share
            elif one["metric"] in RINGS and one["value"]:
                one["value"] *= share


def put(report, metric, label, value, share=False):
    """A value, or a share of what is there, for all samples of the metric that have the label; or one for each GPU of the first
    node, where the median stands for what the list lacks."""
    for samples in sample_lists(report) if metric in LIKE else ():
        samples += [{**one, "metric": metric} for one in samples if one["metric"] == LIKE[metric]]
    found = [(one, samples) for samples in sample_lists(report) for one in samples
             if one["metric"] == metric and (label is None or label_of(label) in one.get("labels", {}).values())]
    if not found:
        raise ValueError(f"the report has no {metric} of {label}")
    each = value if isinstance(value, list) else [value] * len(found)
    each = each + [1 if share else statistics.median(each)] * (len(found) - len(each))
    for (one, samples), number in zip(found, each):
        before, one["value"] = one["value"], number * one["value"] if share else number
        one.pop("reason", None)
        if metric in COPIES:  # both ways at once, as much of it as before
            for both in samples:
                if both["metric"] == "gpu.bidirectional_gbps" and both["labels"]["direction"] == COPIES[metric]:
                    both["value"] *= one["value"] / before


def measured(base, row):
    """The report with the values of the row."""
    report = json.loads(base)
    if row["nodes"] > 1 and network_of(row):
        scale_network(report, network_of(row))
    report["run"]["job"]["profile"] = row.get("profile", "full")
    for key in "values", "shares":
        for metric, values in row.get(key, {}).items():
            for label, value in values.items() if isinstance(values, dict) else [(None, values)]:
                put(report, metric, label, value, key == "shares")
    return report


def outcome(report):
    """What came out: "pass", or "fail" or "warn" and the checks that say so; and the GPUs that these name."""
    for word in "fail", "inconclusive", "warn":
        found = [one for one in report["findings"] if one["status"] == word]
        if found:
            return " ".join([word, *sorted({one["check"] for one in found})]), {one["where"].get("gpu") for one in found}
    return "pass", set()


def agrees(expected, seen):
    """At least one of the checks, which may have a *, and no other one."""
    (word, *checks), (seen_word, *seen_checks) = expected.split(), seen.split()
    return word == seen_word and all(any(fnmatch.fnmatch(one, check) for check in checks) for one in seen_checks)


def complaints(row, kind, seen, gpus):
    """What is not right with what came out of a row."""
    must, now = row["must"][kind], row.get("now", {}).get(kind)
    if now and agrees(must, seen):
        return [f"{row['id']}, {kind}: right now, \"{seen}\": remove its mark \"now\""]
    if not agrees(now or must, seen):
        return [f"{row['id']}, {kind}: \"{seen}\" comes out, and must be \"{must}\"" + (f" (\"{now}\" until now)" if now else "")]
    if "gpu_named" in row and len(gpus) != 1:
        return [f"{row['id']}, {kind}: \"{seen}\" names the GPUs {gpus} and must name one"]
    return []


def read_rows():
    rows = []
    for path in sorted(HERE.glob("*.json")):
        rows += json.loads(path.read_text(encoding="utf-8"))
    return rows


def hardware_of(source, sku):
    hardware = json.loads(pathlib.Path(source, "src/sim/hardware", sku + ".json").read_text(encoding="utf-8"))
    return {**hardware_of(source, hardware["extends"]), **hardware} if "extends" in hardware else hardware


def base_of(row):
    nodes, racks = row["nodes"], row.get("racks", 1)
    as_many = next((fewer for more, fewer in NODES_MOST if nodes > more and (racks > 1 or more < 36)), nodes)
    return row["type"], max(as_many, min(2 * racks, nodes) if racks > 1 else 0), racks


def simulation_of(base):
    """The run that the base is made from; the fault makes nodes exchange over the network."""
    sku, nodes, racks = base
    return sku, "--nodes", str(min(nodes, 2)), *(["--fault", "clique@node2=7"] if racks > 1 else [])


def judge_row(task):
    """Of each kind: what came out, the GPUs that are named, and the counts of each check."""
    base, row, muster = task
    skus = {"own": row["type"], "generic": GENERIC}
    reports = judged(muster, measured(base, row), [skus[kind] for kind in row["must"]], run=False)
    return [(row, kind, *outcome(report), report["checks"]) for kind, report in zip(row["must"], reports)]


def outcomes(source, muster, rows):
    bases = {base_of(row): None for row in rows}
    runs = sorted(set(map(simulation_of, bases)), key=lambda run: run[2], reverse=True)
    with multiprocessing.Pool(initializer=gc.disable) as pool:  # reports are large, and hold no circles
        reports = dict(zip(runs, pool.starmap(simulated, [(muster, *run) for run in runs], 1)))
        for base in bases:
            bases[base] = Base(copy.deepcopy(reports[simulation_of(base)]), hardware_of(source, base[0]), *base[1:]).text
        return sum(pool.map(judge_row, [(bases[base_of(row)], row, muster) for row in rows], 1), [])


def faults_of_rows(rows):
    """What a row must not be, whatever comes out."""
    found = [f"{row['id']}: twice" for i, row in enumerate(rows) if row["id"] in [one["id"] for one in rows[:i]]]
    for row in rows:
        found += [f"{row['id']}: unknown key {key}" for key in set(row) - KEYS]
        found += [f"{row['id']}: unknown word {row['said']}"] * (row["said"] not in tables.SAYS)
        found += [f"{row['id']}: {row['said']} and must be {text}" for text in row["must"].values()
                  if (text == "pass") != (row["said"] in ("healthy", "hidden")) and row["said"] not in ("setting", "unknown")]
    return found


def tenth(row):
    """A row whose sums have a tenth of their speed, and are expected as before."""
    return {**row, "id": row["id"] + "-tenth", "values": {SUMS: {size: gbps / 10 for size, gbps in row["values"][SUMS].items()}}}


def check_docs(source, rows, judgements, write):
    """The page of the rows is what they say, and so is the sentence of the README."""
    found = []
    for name, pattern, text in (("docs/dev/published.md", r"(?s).*", tables.page(rows, judgements, label_of)),
                                ("README.md", r"The thresholds are tested with .*", tables.sentence(rows))):
        path = pathlib.Path(source, name)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = re.sub(pattern, lambda _, text=text: text, before, count=1)
        if write:
            path.write_text(after, encoding="utf-8")
        elif before != after or text not in before:
            found.append(f"{name}: write it anew with tests/published/published.py . build/muster --write-docs")
    return found


def main(source, muster, *names):
    write = names == ("--write-docs",)
    rows = [row for row in read_rows() if write or not names or row["id"] in names]
    wrong = [tenth(row) for row in rows if row["said"] == "healthy" and SUMS in row.get("values", {})][:1]
    found, judgements = faults_of_rows(rows), outcomes(source, os.path.realpath(muster), rows + wrong)
    for row, kind, seen, gpus, _ in judgements:
        said = complaints(row, kind, seen, gpus)
        if row in wrong:
            said = [] if said else [f"{row['id']}, {kind}: no complaint about what comes out, \"{seen}\""]
        elif not complaints({**row, "now": {kind: "fail nothing"}}, kind, row["must"][kind], gpus):
            said.append(f"{row['id']}, {kind}: no complaint about a mark that is old")
        found += said
        if names and not write:
            print(f"{row['id']}, {kind}: {seen}")
    if write or not names:
        found += check_docs(source, rows, [one for one in judgements if one[0] not in wrong], write)
    marks = sorted(f"{row['id']} ({', '.join(row['now'])})" for row in rows if "now" in row)
    print("{} rows of {} machines, {} sources: ".format(*tables.counts(rows)) +
          ", ".join(f"{sum(row['said'] == word for row in rows)} {word}" for word in tables.SAYS))
    print(f"judged wrongly until now, {len(marks)}: {', '.join(marks)}")
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
