#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps on real GPUs: copies both ways beside nvbandwidth's, and ranks that are slow in three ways, each named.

usage: steps.py GPUS FOLDER TURNS HEALTHY [NVBANDWIDTH]
    FOLDER: where the reports go; muster and mpirun are found by PATH, cc makes a library that slows a rank
    NVBANDWIDTH: the folder in which nvbandwidth was built

HEALTHY runs without a finding about steps; then TURNS runs in each of which one rank is slow: another program works on its
GPU, its host sleeps, or its GPU is as slow as with half of its clocks. A finding about the program names the rank as well.
"""
import json
import os
import statistics
import subprocess
import sys
import time

from samples import load, samples

HERE = os.path.dirname(os.path.abspath(__file__))
WITHIN = 0.03  # copies both ways, against nvbandwidth
BAD = ("fail", "warn")
# nvbandwidth's test, and our direction
BOTH_WAYS = (("host_to_device_bidirectional_memcpy_ce", "h2d"), ("device_to_host_bidirectional_memcpy_ce", "d2h"))
# The last rank is slow: by another program on its GPU, or by the library.
SLOW_WAYS = ("stranger", "sleep", "clocks")
RANK = """if [ "${OMPI_COMM_WORLD_RANK:-0}" = "$SLOW_RANK" ]; then export LD_PRELOAD="$SLOW_LIBRARY"; fi; exec "$@" """


def read_nvbandwidth(text):
    """{direction: [GB/s of each GPU, in CUDA's order]} of what `nvbandwidth -j` printed."""
    cases = json.loads(text[text.index("{"):text.rindex("}") + 1])["nvbandwidth"]["testcases"]
    found = {}
    for name, direction in BOTH_WAYS:
        rows = [case["bandwidth_matrix"] for case in cases if case["name"] == name and "bandwidth_matrix" in case]
        if not rows:
            raise ValueError(f"nvbandwidth has no figures of {name}")
        found[direction] = [float(value) for value in rows[0][0]]
    return found


def both_ways(report):
    """{direction: [GB/s of each GPU, in the order of the bus]}"""
    found = {direction: {} for _, direction in BOTH_WAYS}
    for sample in samples(report, "gpu.bidirectional_gbps"):
        found[sample["labels"]["direction"]][sample["labels"]["gpu"]] = sample["value"]
    return {direction: [gpus[bus] for bus in sorted(gpus)] for direction, gpus in found.items()}


def ratios(ours, theirs):
    """(direction, GPU, ours, theirs) of each GPU that both have measured."""
    return [(direction, gpu, mine, other) for direction in theirs
            for gpu, (mine, other) in enumerate(zip(ours.get(direction, []), theirs[direction]))]


def blamed(report, *parts):
    """{rank: checks} of the findings of these parts, "step" or "load"; rank None: a finding that names no rank."""
    found = {}
    for finding in report["findings"]:
        if finding["status"] in BAD and finding["check"].split(".")[0] in parts:
            found.setdefault(finding.get("where", {}).get("rank"), []).append(f"{finding['status']} {finding['check']}")
    return found


def is_named(report, rank):
    """Whether a finding names this rank, and none another one: about steps, about the load that explains them, or about
    another program, which explains both."""
    ranks = {each for each in blamed(report, "step", "load") if each is not None}
    programs = {each for each, checks in blamed(report, "gpu").items() if any("gpu.stranger" in check for check in checks)}
    return ranks | programs == {rank}


def figures(report, metric):
    return [round(s["value"], 2) if s["value"] is not None else s.get("reason") for s in samples(report, metric)]


def run(gpus, path, slow=None, library=""):
    words = ["mpirun", "--bind-to", "none", "-np", str(gpus), "sh", "-c", RANK, "sh", "muster", "run", "--sku",
             "generic-nvidia", "--profile", "standard", "--deadline", "60", "--report", path]
    environment = dict(os.environ, SLOW_RANK=str(gpus - 1) if library else "none", SLOW_LIBRARY=library,
                       CUDA_DEVICE_ORDER="PCI_BUS_ID", MUSTER_TEST_SLOW=slow or "")
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                          timeout=120, check=False)
    if not os.path.exists(path):
        sys.exit(f"FAIL  no report, exit status {done.returncode}\n{done.stdout}")
    return load(path)


def compare_copies(gpus, folder, program):
    names = [name for name, _ in BOTH_WAYS]
    ours = [both_ways(run(gpus, os.path.join(folder, f"both-{turn}.json"))) for turn in range(3)]
    text = subprocess.run([os.path.join(program, "nvbandwidth"), "-j", "-t", *names], stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, CUDA_DEVICE_ORDER="PCI_BUS_ID"), timeout=120, check=True).stdout
    theirs, bad = read_nvbandwidth(text), 0
    medians = {direction: [statistics.median(each) for each in zip(*(one[direction] for one in ours))]
               for direction in theirs}
    compared = ratios(medians, theirs)
    for direction, gpu, mine, other in compared:
        good = abs(mine / other - 1) <= WITHIN
        bad += not good
        print(f"{'ok  ' if good else 'FAIL'}  both ways, {direction}, GPU {gpu}: {mine:.2f} GB/s, nvbandwidth {other:.2f}: "
              f"{mine / other:.3f}")
    if len(compared) != 2 * gpus:
        print(f"FAIL  both ways: {len(compared)} of {2 * gpus} figures")
    return bad + (len(compared) != 2 * gpus)


def healthy(gpus, folder, turns):
    bad = 0
    for turn in range(turns):
        report = run(gpus, os.path.join(folder, f"steps-{turn}.json"))
        found = blamed(report, "step")
        bad += bool(found)
        if found or turn == 0:
            print(f"      {found} compute {figures(report, 'rank.compute_ms')} step {figures(report, 'rank.step_p50_ms')} "
                  f"p99 {figures(report, 'rank.step_p99_ms')} within {figures(report, 'rank.step_compute_ms')} "
                  f"overlap {figures(report, 'job.overlap')}")
    print(f"{'FAIL' if bad else 'ok  '}  healthy: {turns - bad} of {turns} runs without a finding about steps", flush=True)
    return bool(bad)


class Stranger:
    """Another program on a GPU, which works as long as the object is used."""

    def __init__(self, gpu):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "stranger.py"), str(gpu), "busy", "1024"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, CUDA_DEVICE_ORDER="PCI_BUS_ID"))
        for word in ("ready", "here"):
            line = self.process.stdout.readline().strip()
            if line != word:
                sys.exit(f"FAIL  the other program said {line!r} and not {word!r}")
            if word == "ready":
                self.process.stdin.write("come\n")
                self.process.stdin.flush()
        time.sleep(0.5)

    def leave(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        time.sleep(0.5)


def slowed(gpus, folder, slow, library, turns):
    named, last = 0, ""
    for turn in range(turns):
        stranger = Stranger(gpus - 1) if slow == "stranger" else None
        report = run(gpus, os.path.join(folder, f"slow-{slow}-{turn}.json"), slow, "" if stranger else library)
        if stranger:
            stranger.leave()
        good = is_named(report, gpus - 1)
        named += good
        if not good or not last:
            last = (f"{blamed(report, 'step', 'load', 'gpu')}, compute {figures(report, 'rank.compute_ms')} ms, within steps "
                    f"{figures(report, 'rank.step_compute_ms')} ms")
            print(f"      {slow}: {last}", flush=True)
    print(f"{'ok  ' if named == turns else 'FAIL'}  slow by {slow}: rank {gpus - 1} is named in {named} of {turns} runs",
          flush=True)
    return named != turns


def main():
    gpus, folder, turns, alone = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    os.makedirs(folder, exist_ok=True)
    library, bad = os.path.join(folder, "slow_rank.so"), 0
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "slow_rank.c"), "-ldl"], check=True)
    if len(sys.argv) > 5:
        bad += compare_copies(gpus, folder, sys.argv[5])
    bad += healthy(gpus, folder, alone)
    for slow in SLOW_WAYS:
        bad += slowed(gpus, folder, slow, os.path.abspath(library), turns)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
