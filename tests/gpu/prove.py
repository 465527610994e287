#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How small a loss does muster see on real GPUs? thief.c takes a part of one GPU from the worker itself, in turns with healthy runs.

usage: prove.py FOLDER [--minutes 9] [--runs N] [--gpus 1] [--sku generic-nvidia,...] [--seed TEXT] [--sim WORDS]
       prove.py FOLDER --judge [--sku ...]          judges the reports in FOLDER again
       prove.py --write-docs PAGE FOLDER/prove.json  writes between the two lines of PAGE that begin with `<!-- prove`

muster and mpirun are found by PATH, cc makes the library; the profile is standard. --gpus: ranks; the last one is robbed. --minutes: all ends
before that, with what there is; --runs: at most so many. --sim: options of `muster sim`, which then takes the place of the GPUs.

Trials with two amounts of each theft say how much takes the losses of THEFTS. Then these amounts come in turns, drawn by the seed: copies in each run
with a theft, memory and products by turns, because a check of products is skipped where one of the memory fails. A quarter of the runs are healthy.
The true loss of an amount is measured: the median of the reported speed over the runs with this amount, against that over the healthy runs.

A run warns or fails when a finding about a speed that the theft slows does, on the robbed rank or on none. The runs have the first SKU. `muster check`
judges the reports by the other ones too, whose findings were not measured again, and by what `muster baseline` learns from the first half of the
healthy runs, if these are 20 or more: false alarms are then those in the other half. Limits are those of Wilson, 95 %.

Writes to FOLDER the reports, runs.json (what was taken), prove.json and prove.svg. Exit status 1: no healthy run has speeds.
"""
import argparse
import collections
import concurrent.futures
import datetime
import itertools
import json
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import time

from samples import load

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.append(os.path.join(SOURCE, "tests", "tools"))
import detection  # noqa: E402  pylint: disable=wrong-import-position

# Of each theft: how it is called, the speeds that it slows, an amount that takes about a tenth (H200), losses in percent, and which of them
# come in one run.
Theft = collections.namedtuple("Theft", "title metrics usual losses phase")
THEFTS = {
    "copies": Theft("copies of the same engine", ("gpu.h2d_gbps", "gpu.d2h_gbps"), 0.1, (1, 3, 5, 7, 9, 11, 14, 18, 24, 30), "copies"),
    "memory": Theft("the same kernel beside it", ("gpu.memory_write_gbps", "gpu.memory_read_gbps"), 0.1, (1, 3, 5, 8, 11, 14, 18, 22, 26, 30), "load"),
    "products": Theft("time before each product", ("gpu.gemm_bf16_tflops",), 4, (1, 3, 5, 8, 11, 15, 20, 30, 38, 46), "load"),
}
TRIALS, ENOUGH_TO_LEARN, RUN_S = 12, 20, 60
MEASURED = 0.94  # of the time; the rest is for the judgement


def write_whole(path, text):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


# -- measuring --


def speeds(report, rank):
    samples = (sample for node in report["run"]["nodes"] for each in node["ranks"] if each["rank"] == rank for sample in each["samples"])
    wanted = {metric for theft in THEFTS.values() for metric in theft.metrics}
    return {sample["metric"]: sample["value"] for sample in samples if sample["metric"] in wanted and sample["value"] is not None}


def losses(runs, healthy, metrics):
    """{metric: 1 - median of runs / median of healthy}, of each metric that both lists have."""
    pairs = {metric: [[run["speeds"][metric] for run in several if metric in run["speeds"]] for several in (runs, healthy)] for metric in metrics}
    return {metric: 1 - statistics.median(robbed) / statistics.median(usual) for metric, (robbed, usual) in pairs.items() if robbed and usual}


def amounts_for(theft, tried):
    """Amounts for the losses, by {amount: share that was lost}: each unit makes the work longer by as much, and so does each theft."""
    (low, first), (high, second) = [(amount, lost / (1 - lost)) for amount, lost in sorted(tried.items())] if len(tried) == 2 else [(0, 0), (0, 0)]
    unit = (second - first) / (high - low) if second > first else 0.1 / theft.usual
    once = first - unit * low if second > first else 0
    wanted = ((percent / (100 - percent) - once) / unit for percent in theft.losses)
    return sorted({float(f"{amount:.3g}") for amount in wanted if amount > 0.02 * theft.usual}) or [theft.usual]


def rounds(rng, amounts):
    """What is taken in each run, without end."""
    for number in itertools.count():
        phases = collections.defaultdict(list)
        for name in amounts:
            phases[THEFTS[name].phase].append(name)
        now = [several[number % len(several)] for several in phases.values()]
        drawn = [(name, rng.sample(amounts[name], len(amounts[name]))) for name in now]
        most = max(len(each) for _, each in drawn)
        runs = [{name: each[i % len(each)] for name, each in drawn} for i in range(most)] + [{}] * max(1, most // 3)
        yield from rng.sample(runs, len(runs))


class Session:
    def __init__(self, options):
        self.options, self.runs, self.longest = options, [], 0.0
        self.ends = time.monotonic() + options.minutes * 60 * MEASURED
        self.library = os.path.abspath(os.path.join(options.folder, "thief.so"))
        subprocess.run(["cc", "-O2", "-std=gnu17", "-shared", "-fPIC", f"-I{SOURCE}/src", f"-I{SOURCE}/include", "-o", self.library,
                        os.path.join(HERE, "thief.c"), "-ldl"], check=True)

    def words(self, path):
        common = ["--report", path, "--profile", "standard", "--deadline", str(RUN_S - 10)]
        if self.options.sim:
            return ["muster", "sim", *shlex.split(self.options.sim), *common[:2], "--", *common[2:]]
        launcher = ["mpirun", "--bind-to", "none", "-np", str(self.options.gpus)] if self.options.gpus > 1 else []
        return [*launcher, "muster", "run", "--sku", self.options.sku[0], *common]

    def run(self, taken):
        """Whether there was time for it. A run that fails is noted, and the next one comes."""
        began, rank = time.monotonic(), self.options.gpus - 1
        if began + 1.5 * self.longest > self.ends or len(self.runs) == self.options.runs:
            return False
        run = {"report": f"run-{len(self.runs):04}.json", "taken": taken, "trial": len(self.runs) < TRIALS, "speeds": {}, "error": ""}
        path, robbed = os.path.join(self.options.folder, run["report"]), {}
        if taken:
            robbed = {"LD_PRELOAD": self.library, "MUSTER_TEST_THIEF": " ".join(f"{name}={amount}" for name, amount in taken.items()),
                      "MUSTER_TEST_THIEF_RANK": str(rank)}
        try:
            done = subprocess.run(self.words(path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **robbed},
                                  timeout=RUN_S, check=False)
            run["error"] = done.stdout[-300:]
            run["speeds"] = speeds(load(path), rank)
        except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
            run["error"] += str(error)
        if not run["speeds"]:
            print(f"      {run['report']}, {taken}: {run['error']}", flush=True)
        self.longest = max(self.longest, time.monotonic() - began)
        self.runs.append(run)
        write_whole(os.path.join(self.options.folder, "runs.json"), json.dumps({"gpus": self.options.gpus, "runs": self.runs}, indent=1))
        return True

    def measure(self):
        rng, amounts = random.Random(self.options.seed), {}
        for taken in itertools.islice(rounds(rng, {name: [theft.usual / 5, theft.usual] for name, theft in THEFTS.items()}), TRIALS):
            self.run(taken)
        for name, theft in THEFTS.items():
            several, healthy = collections.defaultdict(list), [run for run in self.runs if not run["taken"]]
            for run in self.runs:
                several[run["taken"].get(name)].append(run)
            tried = {amount: max(losses(runs, healthy, theft.metrics).values(), default=0) for amount, runs in several.items() if amount}
            amounts[name] = amounts_for(theft, tried)
            print(f"      {name}: {', '.join(f'{amount:g} takes {lost:.1%}' for amount, lost in tried.items())}: {amounts[name]}", flush=True)
        for taken in rounds(rng, amounts):
            if not self.run(taken):
                break


# -- judging --


def findings(path, words, rank):
    """{(check, metric, status)} of the findings that warn or fail, about the rank or no rank."""
    said = subprocess.run(["muster", "check", path, *words, "--report", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    found, _ = json.JSONDecoder().raw_decode(said, said.index('"findings": ') + len('"findings": '))
    return {(one["check"], one.get("metric", "").split(" ")[0], one["status"]) for one in found
            if one["status"] in detection.BAD and one["where"].get("rank", rank) == rank}


def tally(reports, found, thefts):
    """Of the reports that a judge has judged: the findings about what these thefts slow."""
    pattern = "|".join(detection.LOSSES[theft][0] for theft in thefts)
    mine = [({(check, status) for check, metric, status in found[each] if re.fullmatch(pattern, metric)}, False) for each in reports if each in found]
    seen, failed, _ = detection.counts(mine)
    return {"runs": len(mine), "seen": seen, "failed": failed, "checks": detection.checks_of(mine)}


def summary(runs, found):
    """found: {judge: {report: its findings}}, without the reports that a judge may not judge."""
    healthy, proved = [run for run in runs if not run["taken"]], {}
    for name, theft in THEFTS.items():
        levels = []
        for amount in {run["taken"][name] for run in runs if name in run["taken"] and not run["trial"]}:
            robbed = [run for run in runs if run["taken"].get(name) == amount and not run["trial"]]
            lost = losses(robbed, healthy, theft.metrics)
            if lost:
                levels.append({"amount": amount, "lost": lost, "most": max(lost.values()),
                               "judges": {judge: tally([run["report"] for run in robbed], of_run, [name]) for judge, of_run in found.items()}})
        proved[name] = sorted(levels, key=lambda level: level["most"])
    alarms = {judge: {kind: tally([run["report"] for run in healthy], of_run, thefts) for kind, thefts in
                      [("any", list(THEFTS))] + [(name, [name]) for name in THEFTS]} for judge, of_run in found.items()}
    usual = {metric: statistics.median(run["speeds"][metric] for run in healthy if metric in run["speeds"])
             for metric in sorted({metric for run in healthy for metric in run["speeds"]})}
    return {"healthy": alarms, "speeds": usual, "thefts": proved}


def judge(options):
    """The content of prove.json, or None when no healthy run has speeds."""
    kept = load(os.path.join(options.folder, "runs.json"))
    runs = [run for run in kept["runs"] if run["speeds"]]
    paths = {run["report"]: os.path.join(options.folder, run["report"]) for run in runs}
    healthy = [run["report"] for run in runs if not run["taken"]]
    if not healthy:
        return None
    judges = {sku: (["--sku", sku], []) for sku in options.sku}
    taught, overlay = healthy[:len(healthy) // 2], os.path.join(options.folder, "learned.json")
    learn = ["muster", "baseline", *(paths[each] for each in taught), "--output", overlay]
    if len(taught) >= ENOUGH_TO_LEARN and subprocess.run(learn, stdout=subprocess.DEVNULL, check=False).returncode in (0, 3):
        judges[f"learned from {len(taught)} runs"] = (["--sku", options.sku[0], "--overlay", overlay], taught)
    found = {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, (words, without) in judges.items():
            mine = [each for each in paths if each not in without]
            found[name] = dict(zip(mine, pool.map(lambda each, words=words: findings(paths[each], words, kept["gpus"] - 1), mine)))
    report = load(paths[healthy[0]])
    gpu = next(each["value"] for each in report["run"]["nodes"][0]["ranks"][0]["samples"] if each["metric"] == "gpu.name")
    return {"made": str(datetime.date.today()), "muster": report["muster"], "simulated": report["simulated"], "gpus": f"{kept['gpus']} × {gpu}",
            "lost_runs": len(kept["runs"]) - len(runs), **summary(runs, found)}


# -- what is shown --

WIDTH, HEIGHT, LEFT, TOP, MOST = 360, 240, 60, 100, 0.5  # of a panel with its margins, of the picture's margins; the largest loss that is shown
COLOURS = {"seen": "#1f6fb4", "failed": "#c0392b"}


def panel(x, y, points):
    """points: [(loss, tally)]; (x, y): the upper left corner."""
    wide, high = WIDTH - 60, HEIGHT - 80
    parts = [f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="none" stroke="#888"/>']
    for tenth in range(0, 11, 2):
        level, across = y + high * (1 - tenth / 10), x + wide * tenth / 10
        parts.append(f'<path d="M{x} {level}h{wide}" stroke="#ddd"/><text x="{x - 6}" y="{level + 4}" text-anchor="end">{10 * tenth} %</text>'
                     f'<text x="{across}" y="{y + high + 16}" text-anchor="middle">{10 * MOST * tenth:g}</text>')
    for shift, kind in ((-1.5, "seen"), (1.5, "failed")):
        line, colour = [], COLOURS[kind]
        for loss, one in points:
            across = x + shift + wide * min(max(loss, 0), MOST) / MOST
            low, middle, top = (y + high * (1 - percent / 100) for limits in [detection.limits(one[kind], one["runs"])]
                                for percent in (limits[0], 100 * one[kind] / one["runs"], limits[1]))
            line.append(f"{across:.1f},{middle:.1f}")
            parts.append(f'<path d="M{across:.1f} {low:.1f}V{top:.1f}" stroke="{colour}" stroke-opacity="0.4"/>'
                         f'<circle cx="{across:.1f}" cy="{middle:.1f}" r="3" fill="{colour}"/>')
        parts.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{colour}"/>')
    return parts


def picture(proved):
    """SVG: a panel for each judge (rows) and theft (columns)."""
    width, height = LEFT + WIDTH * len(THEFTS), TOP + HEIGHT * len(proved["healthy"])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
             f'<rect width="{width}" height="{height}" fill="white"/><text x="{LEFT}" y="24" font-size="16">Share of runs that see a loss: '
             f'{proved["gpus"]}, {proved["made"]}{", SIMULATED" if proved["simulated"] else ""}</text><text x="{LEFT}" y="48">'
             f'<tspan fill="{COLOURS["seen"]}">● warned or failed</tspan><tspan dx="16" fill="{COLOURS["failed"]}">● failed</tspan><tspan dx="16">'
             'across: true loss in percent, 0: healthy runs; bars: 95 % limits (Wilson)</tspan></text>']
    for row, (name, alarms) in enumerate(proved["healthy"].items()):
        for column, (theft, levels) in enumerate(proved["thefts"].items()):
            x, y = LEFT + WIDTH * column, TOP + HEIGHT * row
            parts.append(f'<text x="{x}" y="{y - 22}"><tspan font-weight="bold">{theft}</tspan> ({THEFTS[theft].title})</text>'
                         f'<text x="{x}" y="{y - 8}">{name}</text>')
            points = [(0, alarms[theft])] + [(level["most"], level["judges"][name]) for level in levels]
            parts += panel(x, y, [(loss, one) for loss, one in points if one["runs"]])
    return "\n".join(parts + ["</svg>\n"])


def cell(one):
    """How many warned or failed / failed, with limits in percent."""
    said = []
    for count in (one["seen"], one["failed"]) if one["runs"] else ():
        low, high = detection.limits(count, one["runs"])
        said.append("0" if not count else "all" if count == one["runs"] else f"{count} ({low:.0f}–{high:.0f})")
    return said[0] if len(set(said)) == 1 else " / ".join(said)


def lines_of(proved):
    """Lines of Markdown."""
    judges, most = list(proved["healthy"]), [f"{count}: {detection.limits(0, count)[1]:.0f} %" for count in (5, 10, 15, 20)]
    usual = ", ".join(f"`{metric}` {value:.1f}" for metric, value in proved["speeds"].items())
    lines = [f"Made on {proved['made']}{', all of it simulated' if proved['simulated'] else ''}: {proved['gpus']}, profile standard. Healthy: {usual}. "
             f"Runs without a result: {proved['lost_runs']}.", "", "| healthy runs | warned or failed | failed | by check |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(detection.share(one['any'][kind], one['any']['runs']) for kind in ('seen', 'failed'))} | {one['any']['checks']} |"
              for name, one in proved["healthy"].items()]
    lines += ["", "Each cell: how many runs warned or failed / failed, in brackets the limits in percent; one word where both are the same. Behind a 0 can be, by the number "
              f"of runs, at most {', '.join(most)}; behind \"all\" as little less than all."]
    for theft, levels in proved["thefts"].items():
        metrics = ", ".join(f"`{metric}`" for metric in THEFTS[theft].metrics)
        lines += ["", f"| {theft} ({THEFTS[theft].title}): true loss of {metrics} | runs | {' | '.join(judges)} |", "|---" * (2 + len(judges)) + "|"]
        lines += [f"| {', '.join(f'{100 * share:.1f} %' for share in level['lost'].values())} | {level['judges'][judges[0]]['runs']} | "
                  f"{' | '.join(map(cell, level['judges'].values()))} |" for level in levels]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--sku", type=lambda text: text.split(","), default=["generic-nvidia"])
    parser.add_argument("--seed", default="muster")
    parser.add_argument("--sim")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--write-docs", nargs=2, metavar=("PAGE", "JSON"))
    options = parser.parse_args()
    if bool(options.folder) == bool(options.write_docs):
        parser.error("either FOLDER or --write-docs PAGE JSON")
    if options.write_docs:
        return detection.write_between_markers(options.write_docs[0], lines_of(load(options.write_docs[1])), "prove")
    os.makedirs(options.folder, exist_ok=True)
    if not options.judge:
        Session(options).measure()
    proved = judge(options)
    if not proved:
        print("FAIL  no healthy run has speeds")
        return 1
    write_whole(os.path.join(options.folder, "prove.json"), json.dumps(proved, indent=1) + "\n")
    write_whole(os.path.join(options.folder, "prove.svg"), picture(proved))
    print("\n".join(lines_of(proved)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
