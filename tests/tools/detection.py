#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often does a healthy machine fail, and how small a loss is seen? By reports whose speeds are drawn from recorded noise.

usage: detection.py MUSTER REPORT... [--healthy N] [--loss 3,5,10,20,30,50 [--runs N]] [--noise NAME|FILE,...] [--window best|single]
                    [--once] [--seed TEXT]
       detection.py MUSTER --table FILE [--quick | --rows REGEX] [--made FOLDER] [--healthy N] [--runs N] [--loss ...] [--noise ...] [--seed TEXT]

REPORT is a healthy one of `muster run` or `muster sim`, whose speeds count as what the parts can do. For each run the windows of
each speed are drawn from the noise, all GPUs of a node from one moment on, and `muster check` judges the report. Window best: quick has
windows at 0, 60 and 350 ms, standard and full three each at 0, 300 and 700 ms; the best one counts, and what is then found is measured
again 1.5 s later (not with --once). Window single: five copies in a row, the mean of 20 collectives, and so on. Not drawn: percentiles, the memory
of the host, disks. Of several noises the runs take turns.

--loss: so many percent are lost in one part (LOSSES), of RUNS runs each: how many warn or fail, fail, and name the part: a finding has it,
or a pair of which it is an end, and no finding has another part. The loss is in the part's own speeds alone: no collective is slower for it.

--table makes healthy reports of the machine types of the table (profile standard, with --storage), and writes between the two lines of FILE that
begin with `<!-- detection`. About 15 minutes on two cores; --quick is one machine type and a few runs. --rows: only the rows that have a match
are made anew, such as `copies ND96asr` or `healthy .* 2 nodes`; the others stay as they are in FILE. --made: the healthy reports are kept in FOLDER,
and those that are there are not made again, so that another machine with more cores can do the rest.
Intervals are those of Wilson, 95 %. Exit status 0, whatever is found.
"""
import argparse
import bisect
import collections
import datetime
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "sim", "noise")
# The series of the noise, ms of an operation, operations of a window; of a single window, and whether their mean counts.
KINDS = {
    r"gpu\.(h2d|d2h)(_together|_loaded)?_gbps|gpu\.bidirectional_gbps": ("copies", 1.27, 3, 5, False),
    r"gpu\.memory_(write|read)_gbps": ("memory", 0.5, 3, 3, False),
    r"gpu\.gemm_\w+_tflops|rank\.(step_)?compute_ms": ("product", 0.5, 3, 5, False),
    r"nccl\.allreduce_(us|algbw_gbps|busbw_gbps)|rank\.allreduce_us": ("allreduce", 0.067, 7, 20, True),
    r"nccl\.(alltoall|allgather|reducescatter)_busbw_gbps|pair\.exchange_(gbps|us)": ("exchange", 0.26, 5, 20, True),
    r"rank\.step_p50_ms": ("step", 0.9, 3, 10, False),
    r"node\.(scratch_(read|write)|disk_to_gpu)_gbps|gpu\.stream_gbps": ("disk", 1, 1, 1, False),
}
# What slows down with a part: the metric, the labels ("": any), and whose: of a GPU, of all exchanges of a GPU, of those over an adapter,
# of a node, of the whole job.
LOSSES = {
    "copies": (r"gpu\.(h2d|d2h|bidirectional)\w*_gbps", {}, "gpu"),
    "memory": (r"gpu\.memory_(write|read)_gbps", {}, "gpu"),
    "products": (r"gpu\.gemm_\w+_tflops|rank\.(step_)?compute_ms", {}, "gpu"),
    "step": (r"rank\.(step_)?compute_ms", {}, "gpu"),
    "edge": (r"pair\.exchange_(gbps|us)", {"transport": "P2P"}, "exchanges"),
    "rail": (r"pair\.exchange_(gbps|us)", {"transport": "NET"}, "adapter"),
    "ring": (r"nccl\.(allreduce|alltoall|allgather|reducescatter)_(us|algbw_gbps|busbw_gbps)|rank\.allreduce_us", {}, "job"),
    "disk": (r"node\.(scratch_(read|write)|disk_to_gpu)_gbps|gpu\.stream_gbps", {"source": "disk", "layout": ""}, "node"),
}
DERIVED = re.compile(r".*\.slow_windows|job\.step_spread")  # `muster check` derives them from the others
BAD = ("warn", "fail")
LATER_MS = 1500
# What the table has, and whose noise was recorded on such a machine.
MACHINES = {"Standard_ND96asr_v4": False, "Standard_ND96isr_H100_v5": True, "Standard_ND128isr_NDR_GB200_v6": False,
            "Standard_NC80adis_H100_v5": True, "Standard_NC144ds_xl_RTXPro6000_v6": False}
TABLE_NOISE, TABLE_LOSSES = "quiet,noisy-a,noisy-b", [3, 5, 8, 10, 15, 20, 30, 50]
WARNED_AT, FAILED_AT, OF_PARTS, ENOUGH = 10, 30, 8, 0.95  # the goal: such a loss of one among so many parts


class Series:
    """What `muster sim` plays (src/sim/noise.c): an operation gets on at the rate 1 / factor."""

    def __init__(self, rows):
        self.times = [ms for ms, _ in rows]
        self.factors = [factor for _, factor in rows]
        self.work = [0.0]  # done until each time
        for i in range(len(rows) - 1):
            self.work.append(self.work[-1] + (self.times[i + 1] - self.times[i]) / self.factors[i])

    def end(self, begin, ms):
        """When an operation of so many ms ends that begins then."""
        rounds, at = divmod(begin, self.times[-1])
        i = bisect.bisect_right(self.times, at) - 1
        more, work = divmod(self.work[i] + (at - self.times[i]) / self.factors[i] + ms, self.work[-1])
        i = min(bisect.bisect_right(self.work, work), len(self.work) - 1) - 1
        return (rounds + more) * self.times[-1] + self.times[i] + (work - self.work[i]) * self.factors[i]

    def window(self, begin, ms, count, mean=False):
        """The factor of a window, and its end."""
        ends = [begin]
        for _ in range(count):
            ends.append(self.end(ends[-1], ms))
        factors = [(after - before) / ms for before, after in zip(ends, ends[1:])]
        return (statistics.fmean if mean else statistics.median)(factors), ends[-1]


def read_noise(name):
    series = collections.defaultdict(list)
    with open(name if "/" in name else os.path.join(FOLDER, name + ".txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) == 1 and words[0] != "#":
                rows = []
                series[words[0]].append(rows)
            elif len(words) == 2 and words[0] != "#":
                rows.append(tuple(map(float, words)))
    return {kind: [Series(rows) for rows in several] for kind, several in series.items()}


def factors_of(options, kind, series, begin, quick):
    """Of each window of a metric."""
    _, ms, count, single, mean = kind
    if options.window == "single":
        return [series.window(begin, ms, single, mean)[0]]
    found = []
    for moment in (0, 60, 350) if quick else (0, 300, 700):
        at = begin + moment
        for _ in range(1 if quick else 3):
            factor, at = series.window(at, ms, count)
            found.append(factor)
    return found


class Part:
    """What has the loss: GPUs (bus id, rank) of a node, whole when a finding of the node means it; the job has no node."""

    def __init__(self, node=None, gpus=(), whole=False):
        self.node, self.gpus, self.whole = node, gpus, whole

    def named(self, findings):
        """A finding names it, and none names another part."""
        found = False
        for finding in findings:
            where, text = finding["where"], finding.get("observed", "")
            has = {where[key] for key in ("gpu", "rank") if key in where}
            ends = any(re.search(rf"{re.escape(self.node)} GPU (\d+ \()?{re.escape(gpu)}", text) for gpu, _ in self.gpus)
            if self.node is None:
                found = found or finding["check"].startswith("ring.") or finding.get("metric", "").startswith("nccl.")
            elif "node" not in where:  # a pair, or the job
                found = found or ends
            elif where["node"] != self.node or (has and not any(has <= {*gpu} for gpu in self.gpus)):
                return False
            else:
                found = found or self.whole or ends or bool(has)
        return found


class Healthy:
    """A report, and its speeds: (sample, kind, node's number, GPU's number on it, value; None where the job or the node has it)."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        run = report["run"]
        report.update(findings=[], checks=[], slowest={})
        self.quick = run["job"]["profile"] == "quick"
        self.nodes = [node["name"] for node in run["nodes"]]
        places = [(run["job"]["samples"], None, None)]
        for n, node in enumerate(run["nodes"]):
            places += [(node["samples"], n, None)] + [(rank["samples"], n, g) for g, rank in enumerate(node["ranks"])]
        self.name = f"{len(self.nodes)} × {len(run['nodes'][0]['ranks'])} GPUs, {run['job']['profile']}".replace("1 GPUs", "1 GPU")
        self.speeds, self.gpus = [], {}
        for samples, n, g in places:
            samples[:] = [one for one in samples if not DERIVED.fullmatch(one["metric"])]
            self.gpus.update({(n, g): (one["labels"]["gpu"], run["nodes"][n]["ranks"][g]["rank"]) for one in samples if one["metric"] == "gpu.uuid"})
            for one in samples:
                kind = next((kind for metric, kind in KINDS.items() if re.fullmatch(metric, one["metric"])), None)
                if kind and isinstance(one["value"], (int, float)):
                    self.speeds.append((one, kind, n, g, one["value"]))
        self.pieces = self.cut(report)
        self.parts = {part: self.find_parts(*LOSSES[part]) for part in LOSSES}

    def cut(self, report):
        """The text between the values of the speeds, whose order it becomes."""
        for i, (one, *_) in enumerate(self.speeds):
            one["value"] = f"@{i}@"
            one.pop("values", None)
        pieces = re.split(r'"@(\d+)@"', json.dumps(report))
        self.speeds = [self.speeds[int(i)] for i in pieces[1::2]]
        return pieces[::2]

    def find_parts(self, metric, labels, whose):
        """Of each part of the kind: the part, and its speeds."""
        found = collections.defaultdict(list)
        for speed in self.speeds:
            one, _, n, g, _ = speed
            has = one.get("labels", {})
            if not re.fullmatch(metric, one["metric"]) or any(not has[k].startswith(v) for k, v in labels.items() if k in has):
                continue
            ends = [(n, g)]
            if whose in ("exchanges", "adapter"):
                ends += [end for end, (gpu, _) in self.gpus.items() if gpu == has["peer_gpu"] and self.nodes[end[0]] == has["peer_node"]]
            elif whose == "node":
                ends = [(n, None)]
            elif whose == "job":
                ends = [(None, None)]
            for end in ends:
                found[end].append(speed)
        if whose == "adapter":
            return self.join_adapters(found)
        of_node = {n: [gpu for (m, _), gpu in self.gpus.items() if m == n] for n, _ in found}
        return [(Part() if n is None else Part(self.nodes[n], of_node[n] if g is None else [self.gpus[n, g]], g is None), speeds)
                for (n, g), speeds in found.items()]

    def join_adapters(self, found):
        """Of the GPUs that have one adapter."""
        adapters = collections.defaultdict(lambda: ([], []))
        for (n, g), speeds in found.items():
            nic = next(one["labels"]["nic"] for one, _, m, h, _ in speeds if (m, h) == (n, g))
            gpus, several = adapters[n, nic]
            gpus.append(self.gpus[n, g])
            several += speeds
        return [(Part(self.nodes[n], gpus, True), speeds) for (n, _), (gpus, speeds) in adapters.items()]


def draw(options, noise, healthy, begins, lost, again):
    """The report with other speeds, as text; again: those series have windows more, after the others."""
    places, windows = {}, {}  # places: of a metric in the run, the same for all ranks
    text = [healthy.pieces[0]]

    def of_host(kind, series, number, i, begin):
        key = (kind[0], number, i, begin)
        if key not in windows:
            windows[key] = factors_of(options, kind, series, begins[i] + begin, healthy.quick)
        return windows[key]

    for speed, piece in zip(healthy.speeds, healthy.pieces[1:]):
        one, kind, n, g, value = speed
        place = 10 * places.setdefault((one["metric"].split("_")[0], one.get("labels", {}).get("bytes")), len(places))
        several = noise.get(kind[0], [])
        factors = [] if several else [1.0]
        for delay in ((0, LATER_MS) if kind[0] in again else (0,)) if several else ():
            number = (g or 0) % len(several)
            hosts = [of_host(kind, several[number], number, i, place + delay) for i in (range(len(begins)) if n is None else [n])]
            factors = [max(of_hosts) for of_hosts in zip(*hosts)] + factors
        less = one["metric"].endswith(("_us", "_ms"))
        loss = lost.get(id(one), 0)
        value = value / (1 - loss) if less else value * (1 - loss)
        values = [value * factor if less else value / factor for factor in factors]
        text.append(repr(min(values) if less else max(values)))
        if len(values) > 1:
            text.append(f', "values": {values}')
        text.append(piece)
    return "".join(text)


def judge(options, text, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([options.muster, "check", path, "--report", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"muster check: exit code {done.returncode}")
    said = done.stdout.decode()
    findings, _ = json.JSONDecoder().raw_decode(said, said.index('"findings": ') + len('"findings": '))
    return [finding for finding in findings if finding["status"] in BAD]


def one_run(task):
    """The findings of a run, and whether they name the part."""
    options, path, part, percent, number = task
    names = options.noise.split(",")
    noise = names[number % len(names)]
    if path not in one_run.healthy:
        one_run.healthy[path] = Healthy(path)
    if noise not in one_run.noise:
        one_run.noise[noise] = read_noise(noise)
    healthy = one_run.healthy[path]
    rng = random.Random(f"{options.seed} {os.path.basename(path)} {part} {percent} {number}")
    begins = [rng.uniform(0, 1e6) for _ in healthy.nodes]
    which, speeds = rng.choice(healthy.parts[part]) if part else (Part(), [])
    lost = {id(speed[0]): percent / 100 for speed in speeds}
    with tempfile.TemporaryDirectory() as scratch:
        where = os.path.join(scratch, "report.json")
        findings = judge(options, draw(options, one_run.noise[noise], healthy, begins, lost, ()), where)
        if findings and options.window == "best" and not options.once:
            metrics = {finding.get("metric", "").split(" ")[0] for finding in findings}
            again = {kind[0] for one, kind, *_ in healthy.speeds if one["metric"] in metrics}
            findings = judge(options, draw(options, one_run.noise[noise], healthy, begins, lost, again), where)
    return {(finding["check"], finding["status"]) for finding in findings}, which.named(findings)


one_run.healthy, one_run.noise = {}, {}


def limits(count, total):
    """Of Wilson, in percent."""
    z, p = 1.96, count / total
    middle, half = p + z * z / 2 / total, z * math.sqrt(p * (1 - p) / total + z * z / 4 / total / total)
    return [abs(100 * (middle + sign * half) / (1 + z * z / total)) for sign in (-1, 1)]


def share(count, total):
    low, high = limits(count, total)
    return f"{count} of {total} ({low:.1f} to {high:.1f} %)"


def counts(runs):
    """How many warned or failed, failed, and named the part."""
    return (sum(bool(found) for found, _ in runs), sum(any(status == "fail" for _, status in found) for found, _ in runs),
            sum(named for _, named in runs))


def checks_of(runs):
    checks = collections.Counter(f"{check} {status}" for found, _ in runs for check, status in found)
    return ", ".join(f"{check} {count}" for check, count in checks.most_common()) or "none"


def run_all(options, pool, cells, first=0):
    """The runs of each cell (report, part, percent, number of runs), in their order."""
    tasks = [(options, path, part, percent, number) for path, part, percent, count in cells for number in range(first, count)]
    done = pool.imap(one_run, tasks, 4)
    for *_, count in cells:
        yield [next(done) for _ in range(first, count)]


def are_alike(runs):
    return all(count in (0, len(runs)) for count in counts(runs))


def run_until_alike(options, pool, cells):
    """As run_all, but a cell whose first half of the runs are all alike has no more of them."""
    found = dict(zip(cells, run_all(options, pool, [(*cell, count // 2) for *cell, count in cells])))
    rest = [cell for cell in cells if not are_alike(found[cell])]
    for cell, more in zip(rest, run_all(options, pool, rest, options.runs // 2)):
        found[cell] += more
    return found


# -- the table of docs/dev/measurements.md --


def simulate(options, folder, sku, nodes):
    path = os.path.join(folder, f"{sku}-{nodes}.json")
    if os.path.exists(path):
        return path
    subprocess.run([options.muster, "sim", "--sku", sku, "--nodes", str(nodes), "--report", path, "--", "--profile", "standard", "--storage"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=True)
    return path


def cell(runs, percent, parts):
    """Warned or failed / failed / named, with limits; bold where the goal is missed."""
    total, said = len(runs), []
    seen, failed, named = counts(runs)
    for count in (seen, failed, named):
        low, high = limits(count, total)
        said.append("0" if not count else "all" if count == total else f"{count} ({low:.0f}–{high:.0f})")
    text = said[0] if len(set(said)) == 1 else " / ".join(said)
    short = (percent >= WARNED_AT and min(seen, named) < ENOUGH * total) or (percent >= FAILED_AT and failed < ENOUGH * total)
    return f"**{text}**" if short and parts >= OF_PARTS else text


def row_name(sku, nodes):
    return f"{sku.removeprefix('Standard_')}{'' if MACHINES[sku] else ' †'}, {nodes} node{'s' if nodes > 1 else ''}"


def rows_of(lines):
    """Of a table in FILE: {(part or "healthy", name of the machine): the row}."""
    found, part = {}, ""
    for line in lines:
        words = [word.strip() for word in line.split("|")[1:-1]]
        if words and (words[0].split(" ")[0] in LOSSES or "healthy runs" in words[0]):
            part = words[0].split(" ")[0] if words[0].split(" ")[0] in LOSSES else "healthy"
        elif words and ", " in words[0]:
            found[part, words[0]] = line
    return found


def table(options, pool, machines, reports, before):
    """Its lines of Markdown; reports: of the machines that have rows to make; before: all other rows."""
    healthy = {machine: path for machine, (path, _) in reports.items() if ("healthy", row_name(*machine)) not in before}
    healthy = dict(zip(healthy, run_all(options, pool, [(path, None, 0, options.healthy) for path in healthy.values()])))
    lost = [(path, part, percent, options.runs) for part in LOSSES for machine, (path, found) in reports.items()
            if found.parts[part] and (part, row_name(*machine)) not in before for percent in options.loss]
    runs_of = run_until_alike(options, pool, lost)
    none, every = limits(0, options.runs // 2)[1], limits(options.runs // 2, options.runs // 2)[0]
    lines = [f"Made on {datetime.date.today()}; all of it simulated: speeds of `muster sim` (standard, `--storage`), noise {options.noise.replace(',', ', ')} in turns. † The noise was "
             "recorded on other machines, with H100 or H200.", "",
             "| healthy runs | failed | only warned | by check |", "|---|---|---|---|"]
    for machine in machines:
        if machine not in healthy:
            lines.append(before["healthy", row_name(*machine)])
            continue
        runs = healthy[machine]
        seen, failed, _ = counts(runs)
        lines.append(f"| {row_name(*machine)} | {share(failed, len(runs))} | {share(seen - failed, len(runs))} | {checks_of(runs)} |")
    lines += ["", f"Each cell: how many of {options.runs} runs warned or failed / failed / named the part and no other one, in brackets the limits in percent; one word where all "
              f"three are the same. Where the first {options.runs // 2} runs came out the same, there are no more. 0: at most {none:.0f} %; all: at least {every:.0f} %. Bold: fewer than {100 * ENOUGH:.0f} % are warned and named from a loss of {WARNED_AT} % "
              f"on, or fail from {FAILED_AT} % on, with {OF_PARTS} such parts or more in the run."]
    for part in LOSSES:
        rows = {machine: before[part, row_name(*machine)] for machine in machines if (part, row_name(*machine)) in before}
        for machine, (path, found) in reports.items():
            if machine not in rows and found.parts[part]:
                cells = [cell(runs_of[path, part, percent, options.runs], percent, len(found.parts[part])) for percent in options.loss]
                rows[machine] = f"| {row_name(*machine)} | {' | '.join(cells)} |"
        if rows:
            remark = " (no noise was recorded: simulated values alone)" if part == "disk" else ""
            lines += ["", f"| {part}{remark} | " + " | ".join(f"{percent:g} %" for percent in options.loss) + " |", "|---" * (len(options.loss) + 1) + "|"]
            lines += [rows[machine] for machine in machines if machine in rows]
    return lines


def between_markers(path, marker):
    """The lines of the file, and the numbers of the two that begin with the marker."""
    with open(path, encoding="utf-8") as file:
        before = file.read().split("\n")
    at = [i for i, line in enumerate(before) if line.startswith(f"<!-- {marker}")]
    if len(at) != 2:
        raise SystemExit(f"{path}: not two lines that begin with <!-- {marker}")
    return before, at


def write_between_markers(path, lines, marker="detection"):
    before, at = between_markers(path, marker)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(before[:at[0] + 1] + lines + before[at[1]:]))


def write_table(options):
    machines = [("Standard_NC80adis_H100_v5", 1)] if options.quick else [(sku, nodes) for sku in MACHINES for nodes in range(1, 5)]
    lines, at = between_markers(options.table, "detection")
    before = {key: row for key, row in rows_of(lines[at[0]:at[1]]).items() if options.rows and not options.rows.search(" ".join(key))}
    to_make = [machine for machine in machines
               if not options.rows or any(options.rows.search(f"{part} {row_name(*machine)}") for part in ("healthy", *LOSSES))]
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool() as pool:
        paths = [simulate(options, options.made or folder, *machine) for machine in to_make]
        reports = {machine: (path, Healthy(path)) for machine, path in zip(to_make, paths)}
        write_between_markers(options.table, table(options, pool, machines, reports, before))


def print_reports(options):
    reports = {os.path.realpath(path): Healthy(path) for path in options.reports}
    with multiprocessing.Pool() as pool:
        if options.healthy:
            print("| healthy | failed | only warned | by check |\n|---|---|---|---|")
        cells = [(path, None, 0, options.healthy) for path in reports if options.healthy]
        for (path, *_), runs in zip(cells, run_all(options, pool, cells)):
            seen, failed, _ = counts(runs)
            print(f"| {reports[path].name} | {share(failed, len(runs))} | {share(seen - failed, len(runs))} | {checks_of(runs)} |", flush=True)
        if options.loss:
            print("\n| loss | of | in | warned or failed | failed | named |\n|---|---|---|---|---|---|")
        cells = [(path, part, percent, options.runs) for path, healthy in reports.items() for part in LOSSES if healthy.parts[part]
                 for percent in options.loss]
        for (path, part, percent, _), runs in zip(cells, run_all(options, pool, cells)):
            said = " | ".join(share(count, len(runs)) for count in counts(runs))
            print(f"| {percent:g} % | {part} | {reports[path].name} | {said} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("muster")
    parser.add_argument("reports", nargs="*")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=re.compile, metavar="REGEX")
    parser.add_argument("--made", metavar="FOLDER")
    parser.add_argument("--healthy", type=int)
    parser.add_argument("--loss", type=lambda text: [float(word) for word in text.split(",")])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--noise")
    parser.add_argument("--window", choices=("best", "single"), default="best")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--seed", default="muster")
    options = parser.parse_args()
    if bool(options.table) == bool(options.reports):
        parser.error("either reports or --table FILE")
    usual = (0, [], 200, "noisy-a") if not options.table else (20, [10, 50], 4, TABLE_NOISE) if options.quick else (300, TABLE_LOSSES, 40, TABLE_NOISE)
    for name, value in zip(("healthy", "loss", "runs", "noise"), usual):
        setattr(options, name, value if getattr(options, name) is None else getattr(options, name))
    options.muster = os.path.realpath(options.muster)
    if options.table:
        write_table(options)
    else:
        print_reports(options)


if __name__ == "__main__":
    sys.exit(main())
