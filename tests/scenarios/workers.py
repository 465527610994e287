#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Let workers of a simulated run die, hang and lie inside vendor libraries, and compare with a healthy run of the same
cluster: the culprit is named, what it had measured is kept, nobody else loses a sample, nothing is left behind.

usage: workers.py MUSTER TABLE CASE...

Each case of the table (a JSON file) holds:
  name      what it is called, and `what` it is about
  sku       what is simulated (Standard_ND96asr_v4 when absent), `nodes` and `ranks`
  options   more options for `muster run` (may be absent); `deadline`, the run's
  deaths    a list of
    rank      whose worker misbehaves
    dies      where and how, as the fault `dies` takes it; absent when it is the doing of another line
    probe     the probe that ends with it; absent when nothing comes of it
    status    of the finding (fail when absent; skip: no check of the machine type needs the probe)
    gpu       false: the rank has no GPU to name
    may       a check that may warn of the rank: its worker waits while nobody reads what it writes, as long as MPI starts
    observed  what the finding says, in parts that it must hold; evidence: a part of what it has as evidence
    kept      metrics of that probe that had been measured before
    lost      more probes of the rank that cannot run any more
  ring      how many ranks the ring has that is left, or "broken" when nothing can be said of it (absent: all)
  also      more findings: [check, status, node, rank]
  memory    the most MiB that a supervisor may have taken beyond those of ranks that are well
  zombies   true: a worker cannot be reaped while its supervisor lives
"""

import collections
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from in_memory import in_memory

TAG = "MUSTER_WORKERS_TEST"
PR_SET_CHILD_SUBREAPER = 36
SUPERVISOR_KIB = 64 * 1024  # of any supervisor, at any time; or what those of the healthy run need, with a sanitizer in them
SLACK = 5  # seconds that a run may take beyond its deadline
ZOMBIE_SECONDS = 3.0


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def numbers_in_proc():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


class Watch(threading.Thread):
    """Look at the processes of a run while it lasts: the memory of each rank's supervisor, and zombies that stay."""

    def __init__(self, tag):
        super().__init__(daemon=True)
        self.mark = f"{TAG}={tag}"
        self.done = threading.Event()
        self.ranks = {}  # process id of a supervisor: its rank
        self.others = set()
        self.peak = collections.defaultdict(int)  # KiB by rank, and of that what is its own: MPI's shared memory is not
        self.own = collections.defaultdict(int)
        self.zombies = {}  # process id: when it was first seen as one
        self.unreaped = set()
        self.started = None  # when MPI had: before that a supervisor cannot look after its worker

    def is_ours(self, process):
        return self.mark in read(f"/proc/{process}/environ").split("\0")

    def look(self):
        now = time.monotonic()
        for process in numbers_in_proc():
            if process not in self.ranks and process not in self.others:
                words = read(f"/proc/{process}/cmdline").split("\0")
                environment = read(f"/proc/{process}/environ").split("\0")
                rank = [text for text in environment if text.startswith("OMPI_COMM_WORLD_RANK=")]
                if len(words) > 1 and words[1] == "run" and rank and self.mark in environment:
                    self.ranks[process] = int(rank[0].partition("=")[2])
                elif len(words) > 1 and words[1] not in ("sim-rank", "sim"):
                    self.others.add(process)  # it will not become a supervisor
            fields = dict(line.split(":\t", 1) for line in read(f"/proc/{process}/status").splitlines() if ":\t" in line)
            if process in self.ranks:
                for seen, field in ((self.peak, "VmHWM"), (self.own, "RssAnon")):
                    if field in fields:
                        rank = self.ranks[process]
                        seen[rank] = max(seen[rank], int(fields[field].strip().split()[0]))
            if fields.get("State", "").startswith("Z") and int(fields.get("PPid", 0)) in self.ranks:
                if self.started and now - max(self.started, self.zombies.setdefault(process, now)) > ZOMBIE_SECONDS:
                    self.unreaped.add(process)

    def run(self):
        while not self.done.wait(0.2):
            self.look()

    def left(self):
        """Processes of the run that still live."""
        while True:  # those whose parent died are our children now
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        return [process for process in numbers_in_proc() if process != os.getpid() and self.is_ours(process)]


def shared_files():
    """Without folders, which are those of other tests."""
    return {entry.name for entry in os.scandir("/dev/shm") if entry.is_file()} if os.path.isdir("/dev/shm") else set()


def left_behind(before):
    """New files in /dev/shm that no living process has mapped: those that have belong to somebody else's run."""
    new = shared_files() - before
    if not new:
        return []
    maps = "".join(read(f"/proc/{process}/maps") for process in numbers_in_proc())
    return [name for name in new & shared_files() if f"/dev/shm/{name}" not in maps]


def wait_for_nothing(find, seconds):
    """What find() still finds when it should find nothing any more."""
    until = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def command_of(case, muster, directory):
    """The words that simulate a case; its report is in the directory."""
    command = [muster, "sim", "--sku", case.get("sku", "Standard_ND96asr_v4"), "--nodes", str(case["nodes"]),
               "--report", os.path.join(directory, "report.json")]
    for death in filter(lambda death: "dies" in death, case["deaths"]):
        command += ["--fault", f"dies@rank{death['rank']}={death['dies']}"]
    return command + ["--", "--deadline", str(deadline_of(case))] + case.get("options", ["--profile", "quick"])


def deadline_of(case):
    return case.get("deadline", 120)


def simulate(muster, case, directory):
    """One run: its report, its exit code, what is wrong with what it left, and the watch."""
    scratch = os.path.join(directory, "tmp")
    os.mkdir(scratch)
    deadline, command = deadline_of(case), command_of(case, muster, directory)
    before = shared_files()
    watch = Watch(directory)
    watch.start()
    environment = dict(os.environ, TMPDIR=scratch, **{TAG: directory})
    if "memory" in case:  # a sanitizer keeps what is freed: 256 MB of it, unless told otherwise
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    with tempfile.TemporaryFile("w+") as out, \
            subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment) as ended:
        told = []
        for line in ended.stderr:
            told.append(line)
            if "loading drivers" in line:
                watch.started = time.monotonic()
        ended.wait()
        out.seek(0)
        told.append(out.read())
    watch.done.set()
    watch.join()
    problems = []
    try:
        data = json.loads(read(os.path.join(directory, "report.json")))
    except ValueError as error:
        return None, [f"no report: {error}", *told], watch
    orphans = wait_for_nothing(watch.left, 40)
    problems += [f"a process is left: {process} {read(f'/proc/{process}/cmdline')}" for process in orphans]
    problems += [f"left in TMPDIR: {name}" for name in os.listdir(scratch)]
    problems += [f"left in /dev/shm: {name}" for name in wait_for_nothing(lambda: left_behind(before), 10)]
    if watch.unreaped and not case.get("zombies"):
        problems.append(f"zombies: {watch.unreaped}")
    if data["run"]["job"]["elapsed_s"] > deadline + SLACK:
        problems.append(f"it took {data['run']['job']['elapsed_s']:.1f} s, its deadline is {deadline} s")
    code = {"pass": 0, "fail": 1, "inconclusive": 3}[data["verdict"]]
    if ended.returncode != code:
        problems.append(f"exit code {ended.returncode}, the verdict is {data['verdict']}")
    return data, problems + ([" ".join(command)] if problems else []), watch


# no probe measures these: they are derived from what all ranks say, so they change with any of them
DERIVED = ("nccl.allreduce_limit_gbps", "node.imex_state", "rank.link_disabled",
           "gpu.slow_windows", "rank.slow_windows", "node.slow_windows", "job.slow_windows")


# what these probes say depends on who else is in the ring; and the probes that the ring's communicator serves
OF_A_RING = {"nccl_allreduce", "nccl_pairs"}
TRAFFIC = {"nccl_collectives", "step"}


def samples_of(report, probes):
    """(rank or node, probe) → the samples of the probe there, without their values."""
    found = collections.defaultdict(collections.Counter)
    for node in report["run"]["nodes"]:
        for place, samples in [(node["name"], node["samples"])] + [(rank["rank"], rank["samples"])
                                                                   for rank in node["ranks"]]:
            for sample in samples:
                if sample["metric"] not in DERIVED:
                    found[place, probes[sample["metric"]]][
                        sample["metric"], json.dumps(sample.get("labels"), sort_keys=True)] += 1
    for sample in report["run"]["job"]["samples"]:
        if sample["metric"] not in DERIVED:
            found["job", probes[sample["metric"]]][sample["metric"], json.dumps(sample.get("labels"))] += 1
    return found


def places(report):
    """rank → (node, whether it leads it)"""
    found = {}
    for node in report["run"]["nodes"]:
        first = min(rank["rank"] for rank in node["ranks"])
        for rank in node["ranks"]:
            found[rank["rank"]] = (node["name"], rank["rank"] == first)
    return found


def compare_samples(case, healthy, report, probes):
    """Nobody loses a sample but a probe that died, and it only what it had not measured yet."""
    problems = []
    where = places(healthy)
    excused = set()
    for death in case["deaths"]:
        node, leads = where[death["rank"]]
        for probe in [death.get("probe")] + death.get("lost", []):
            excused |= {(death["rank"], probe)} | ({(node, probe)} if leads else set())
    have = samples_of(report, probes)
    for key, wanted in samples_of(healthy, probes).items():
        if "ring" in case and ((case["ring"] == "broken" and key[1] in OF_A_RING) or
                               (key[0] == "job" and key[1] in OF_A_RING | TRAFFIC) or key[1] == "nccl_pairs"):
            continue  # another ring, or none, and other partners
        missing, more = wanted - have[key], have[key] - wanted
        if more and key not in excused:
            problems.append(f"{key}: more than a healthy run has: {sorted(more)[:4]}")
        if missing and key not in excused:
            problems.append(f"{key}: lost: {sorted(missing)[:4]}")
    if case.get("ring") != "broken":
        ranks = [sample["value"] for sample in report["run"]["job"]["samples"] if sample["metric"] == "nccl.ring_ranks"]
        if ranks != [case.get("ring", case["ranks"])]:
            problems.append(f"ranks in the ring: {ranks}")
    for death in case["deaths"]:
        kept = {metric for place in (death["rank"], where[death["rank"]][0])
                for metric, _ in have[place, death.get("probe")]}
        problems += [f"rank {death['rank']}: {metric} was not kept" for metric in death.get("kept", [])
                     if metric not in kept]
    return problems


def compare_findings(case, healthy, report):
    problems = []
    where = places(healthy)
    gpus = {rank["rank"]: rank.get("gpu") for node in healthy["run"]["nodes"] for rank in node["ranks"]}
    found = {(f["check"], f["status"], f["where"].get("node"), f["where"].get("rank")): f for f in report["findings"]}
    wanted = {tuple(finding) for finding in case.get("also", [])}
    for death in case["deaths"]:
        if "probe" not in death:
            continue
        key = (f"probe.{death['probe']}", death.get("status", "fail"), where[death["rank"]][0], death["rank"])
        wanted.add(key)
        if key not in found:
            problems.append(f"missing: {key}")
            continue
        problems += [f"{key}: \"{part}\" is not in: {found[key]['observed']}" for part in death["observed"]
                     if part not in found[key]["observed"]]
        if death.get("evidence", "") not in found[key].get("evidence", ""):
            problems.append(f"{key}: the evidence is {found[key].get('evidence')}")
        if death.get("gpu", True) and found[key]["where"].get("gpu") != gpus[death["rank"]]:
            problems.append(f"{key}: the GPU is not named: {found[key]['where']}")
    allowed = {(death.get("may"), "warn", where[death["rank"]][0], death["rank"]) for death in case["deaths"]}
    for key, finding in found.items():
        if key not in wanted | allowed and key[1] != "skip":
            problems.append(f"too much: {key}: {finding['observed']}")
    problems += [f"missing: {key}" for key in wanted if key not in found and not key[0].startswith("probe.")]
    worst = 1 if any(key[1] == "fail" for key in wanted) else 3 if any(key[1] == "inconclusive" for key in wanted) else 0
    if {"pass": 0, "fail": 1, "inconclusive": 3}[report["verdict"]] != worst:
        problems.append(f"verdict {report['verdict']}")
    return problems


def compare_memory(case, before, watch):
    culprits = {death["rank"] for death in case["deaths"]}
    well = [own for rank, own in watch.own.items() if rank not in culprits and rank != 0]
    if not well or not culprits & set(watch.own):
        return ["no memory was seen: the run was too short to look at"]
    problems = [f"the supervisor of rank {rank} took {watch.own[rank]} KiB, those of others at most {max(well)} KiB"
                for rank in culprits & set(watch.own) if watch.own[rank] > max(well) + case["memory"] * 1024]
    most = max(SUPERVISOR_KIB, max(before.peak.values(), default=0) + case["memory"] * 1024)
    return problems + [f"the supervisor of rank {rank} took {peak} KiB, with MPI's shared memory; {most} KiB are allowed"
                       for rank, peak in watch.peak.items() if peak > most]


def run(muster, case, probes):
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        healthy, problems, before = simulate(muster, dict(case, deaths=[]), directory)
    if problems:
        return ["without deaths:"] + problems
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        report, problems, watch = simulate(muster, case, directory)
    if not report:
        return problems
    problems += compare_findings(case, healthy, report) + compare_samples(case, healthy, report, probes)
    if "memory" in case:
        problems += compare_memory(case, before, watch)
    return problems


def main():
    muster, table = sys.argv[1:3]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with open(table, encoding="utf-8") as file:
        cases = {case["name"]: case for case in json.load(file)}
    listed = subprocess.run([muster, "metrics", "--format", "json"], capture_output=True, text=True, check=True).stdout
    probes = {metric["name"]: metric["probe"] for metric in json.loads(listed)}
    failed = 0
    for name in sys.argv[3:] or cases:
        problems = run(muster, cases[name], probes)
        print(f"{'FAILED' if problems else 'ok    '} {name}", flush=True)
        for problem in problems:
            print("    " + str(problem).replace("\n", "\n    "))
        failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
