#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Machines as data, each in a folder: docs/reference/machines.md says what a folder holds, and what is compared.

usage: machines.py SOURCE NAME MUSTER PLACEMENT MACHINE_KERNEL | SOURCE --check-docs | SOURCE --write-docs
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

import made

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = ("affinity.package", "affinity.cpus", "affinity.shared", "affinity.memory")
KEYS = set("title shows source licence recorded packages threads memory distances allowed gpus nics files environment mask right"
           .split())
HEAD = "| machine | why it is here | GPUs | NUMA nodes near them | source, licence |\n|---|---|---|---|---|\n"


def unhex(text):
    """hwloc's "0x000000ff,,0x0000ffff", or a mask of Slurm."""
    value = int("".join(word.removeprefix("0x").zfill(8) for word in text.split(",")), 16)
    return {bit for bit in range(value.bit_length()) if value >> bit & 1}


class Machine:
    """One machine, its files below root, and what is not right there."""

    def __init__(self, folder, root, muster, placement, kernel):
        self.data, self.muster, self.placement = made.read(folder), muster, placement
        self.right, self.found = self.data["right"], []
        made.make(folder, self.data, root)
        top = ElementTree.parse(os.path.join(root, "topology.xml")).find("object")
        allowed = unhex(top.get("allowed_cpuset", top.get("cpuset"))) & unhex(top.get("cpuset"))
        self.usable = made.cpus_of(self.right["usable"]) if "usable" in self.right else allowed
        self.gpus = [{"bus": bus, "node": node, "cpus": made.cpus_of(cpus), "cores": cores, "nics": nics}
                     for bus, node, cpus, cores, *nics in self.right.get("gpus", [])]
        self.launch = bool(self.gpus) and all(gpu["cpus"] for gpu in self.gpus)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(
            ("SLURM", "OMPI", "PMI", "CUDA", "HWLOC", "MUSTER", "LOCAL_RANK"))}
        self.environment.update(HWLOC_XMLFILE=os.path.join(root, "topology.xml"), HWLOC_THISSYSTEM="1", MUSTER_ROOT=root)
        self.kernel = {"LD_PRELOAD": kernel, "MACHINE_RECORD": os.path.join(root, "record"),
                       "MACHINE_CPUS": made.listed(made.cpus_of(self.data["mask"]) if "mask" in self.data else allowed),
                       **self.data.get("environment", {})}

    def run(self, *command, **more):
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                              env={**self.environment, **more})

    def expect(self, what, seen, right):
        if seen != right:
            self.found.append(f"{what}:\n    is           {seen}\n    must be      {right}")

    def check(self):
        self.expect("unknown keys", set(self.data) - KEYS, set())
        done = self.run(self.muster, "bind", **self.kernel)
        self.expect("exit code", done.returncode, 0 if self.gpus else 3)
        says = self.right.get("says", self.right.get("refused", ""))
        self.expect(f"\"{says}\" in {done.stdout + done.stderr}", bool(re.search(says, done.stdout + done.stderr)), True)
        self.check_lines(done.stdout)
        self.check_ranks(re.findall(r"^mpirun (.*)$", done.stdout, re.M))
        if self.launch:
            seen = self.place([gpu["cpus"] for gpu in self.gpus], [-1] * len(self.gpus))
            self.expect("bound", seen, {**dict.fromkeys(CHECKS, "pass"), **self.right.get("bound", {})})
        for placement in self.right.get("placements", []):
            cpus, memory = (value if isinstance(value, list) else [value] * len(self.data["gpus"])
                            for value in (placement["cpus"], placement.get("memory", -1)))
            seen = self.place(map(made.cpus_of, cpus), memory)
            self.expect(placement["title"], {check: status for check, status in seen.items()
                                             if status not in ("pass", "blocked")}, placement["says"])
        return self.found

    def check_lines(self, text):
        count = len(self.gpus)
        rows = [(bus, int(node), made.cpus_of(cpus)) for bus, node, cpus in
                re.findall(r"^# GPU \d+ +(\S+) +NUMA node (\d+) +CPUs ([\d,-]*)", text, re.M)]
        self.expect("GPUs", rows, [(gpu["bus"], gpu["node"], gpu["cpus"]) for gpu in self.gpus])
        masks = [[unhex(mask) for mask in line.split(",")] for line in
                 re.findall(rf"^srun --ntasks-per-node={count} --cpu-bind=mask_cpu:(\S+)$", text, re.M)]
        self.expect("srun", masks, [[gpu["cpus"] for gpu in self.gpus]] * self.launch)
        for cpus in sum(masks, [cpus for _, _, cpus in rows]):
            self.expect("CPUs that may not be used", cpus - self.usable, set())
        tasks = re.findall(rf"^#SBATCH --ntasks-per-node={count} --gpus-per-node={count} --cpus-per-task=(\d+)$", text, re.M)
        self.expect("CPUs of sbatch", tasks, [str(max(len(self.usable) // count, 1))] if self.launch else [])
        cores = {minor: line for span, line in re.findall(r"^Name=gpu File=/dev/nvidia\[?([\d-]+)\]? Cores=(\S+)$", text, re.M)
                 for minor in made.cpus_of(span)}
        minors = {gpu["bus"]: gpu["minor"] for gpu in self.data["gpus"]}
        self.expect("gres.conf", cores, {minors[gpu["bus"]]: gpu["cores"] for gpu in self.gpus})

    def check_ranks(self, lines):
        """Where the ranks run that the printed line starts, with the GPUs in each of two orders; or one rank without it."""
        self.expect("lines of mpirun", len(lines), int(self.launch))
        launcher = ["mpirun", "--allow-run-as-root", "--host", f"localhost:{len(self.gpus)}"]
        preload = ["env", *(f"{key}={value}" for key, value in self.kernel.items())]
        for line in lines:
            options, wrapper = line.split(" muster ", 1)
            for order in (list(range(len(self.gpus))), list(range(len(self.gpus)))[::-1]):
                done = self.run(*launcher, *options.split(), *preload, self.muster, *wrapper.split(), "echo", "started",
                                CUDA_VISIBLE_DEVICES=",".join(map(str, order)))
                self.expect(f"mpirun {done.stderr}", (done.returncode, done.stdout), (0, "started\n" * len(order)))
                self.expect(f"CPUs of ranks with GPUs {order}", self.recorded(),
                            {rank: self.gpus[gpu]["cpus"] for rank, gpu in enumerate(order)})
        if not lines:
            last = str(max(len(self.gpus) - 1, 0))
            done = self.run(*preload, self.muster, "bind", "--exec", "--", "echo", "started", OMPI_COMM_WORLD_LOCAL_RANK=last)
            self.expect("the last rank", (done.returncode, done.stdout, "keeps its CPUs" in done.stderr, self.recorded()),
                        (0, "started\n", True, {}))

    def recorded(self):
        """The CPUs that each rank has set."""
        path = pathlib.Path(self.kernel["MACHINE_RECORD"])
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return {int(rank): set(map(int, cpus)) for rank, *cpus in map(str.split, lines)}

    def place(self, *places):
        """The status of each check, for ranks on these CPUs, whose memory may only come from these NUMA nodes (-1: any)."""
        buses = sorted(gpu["bus"] for gpu in self.gpus or self.data["gpus"])
        done = self.run(self.placement, HERE.parent.parent / "configs",
                        *(f"{bus}={made.listed(cpus)}@{memory}" for bus, cpus, memory in zip(buses, *places)))
        self.expect("placement", (done.returncode, done.stderr), (0, ""))
        for gpu, nics in zip(self.gpus, re.findall(r"^nics \d+ (.*)$", done.stdout, re.M)):
            self.expect(f"RDMA devices near GPU {gpu['bus']}", nics, *(gpu["nics"] or [nics]))
        return dict(re.findall(r"^(affinity\.\S+) (\S+)$", done.stdout, re.M))


def check_docs(path, write):
    """The table of docs/reference/machines.md is what the folders say."""
    rows = []
    for folder in sorted(file.parent for file in HERE.glob("*/machine.json")):
        machine = made.read(folder)
        gpus = machine["right"].get("gpus", [])
        nodes = ", ".join(map(str, sorted({gpu[1] for gpu in gpus}))) or "not known" if machine["gpus"] else ""
        rows.append(f"| `{folder.name}`: {machine['title']} | {machine['shows']} | {len(machine['gpus'])} | {nodes} | "
                    f"{'recorded: ' if machine.get('recorded') else ''}{machine['source']}. {machine['licence']} |\n")
    text = path.read_text(encoding="utf-8")
    head, end = text.index(HEAD) + len(HEAD), text.index("\n\n", text.index(HEAD))
    new = text[:head] + "".join(rows) + text[end + 1:]
    if write:
        path.write_text(new, encoding="utf-8")
    return [] if write or new == text else [f"{path}: write it anew with tests/machines/machines.py . --write-docs"]


def main(source, name, *rest):
    if name.startswith("--"):
        found = check_docs(pathlib.Path(source, "docs/reference/machines.md"), name == "--write-docs")
    else:
        with tempfile.TemporaryDirectory() as root:
            found = Machine(HERE / name, root, *map(os.path.abspath, rest)).check()
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
