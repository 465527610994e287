"""Written from the expectation files: docs/troubleshooting.md, one row for each finding that muster can report, and the
table of docs/golden-image.md, what one node shows.

Usage: troubleshooting.py MUSTER SOURCE            the pages are complete and as the files are
       troubleshooting.py MUSTER SOURCE --write    write their tables anew
"""
import collections
import json
import os
import re
import subprocess
import sys
import unittest

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PAGE = os.path.join(SOURCE, "docs/troubleshooting.md")
IMAGE = os.path.join(SOURCE, "docs/golden-image.md")
BEGIN, END = "<!-- findings: begin -->\n", "<!-- findings: end -->\n"

# Words of ids before the first point, in the order of the page: what they are about, and the usual causes.
GROUPS = {
    "launch": ("How the job was started", "wrong options of `srun` or `mpirun`: tasks per node, GPUs per task, `--mpi`; an MPI without PMIx"),
    "affinity": ("CPUs and memory of a rank", "no `--cpu-bind`, a mask with a missing digit, or the GPUs in another order than the masks"),
    "env": ("Variables of CUDA, NCCL, UCX and MPI", "a variable in the job script, in `/etc/nccl.conf` or in the image that fits another machine type; a file that does not exist"),
    "node": ("The node", "another VM size or image than expected; memory or disks that the node lost; other jobs on the node"),
    "host": ("Settings of the kernel, and the host's memory", "limits of the image or of slurmd: locked memory, /dev/shm, CPU frequency; ACS of PCIe switches; a missing memory module"),
    "path": ("Files and folders that must be there", "a file system that is not mounted, an installation that is not complete, rights of the user, a wrong path"),
    "same": ("Differences between nodes", "an image, a driver or a setting that was changed on some nodes only; a replaced part"),
    "gpu": ("A GPU", "a GPU that fell off the bus, another model, memory or link errors, other programs on the GPU, changed clocks or power limits"),
    "driver": ("Start of the driver", "the persistence daemon does not run, and each job waits until the driver has started"),
    "history": ("Events of the kernel's log", "see [events.md](events.md): each event with its class and action"),
    "fabric": ("NVLink fabric", "Fabric Manager or the subnet manager of the rack is not ready, a GPU in another partition, a failed NVLink"),
    "imex": ("IMEX: memory of other nodes of a rack", "the service nvidia-imex does not run, or its channel has no file in the container"),
    "ib": ("InfiniBand ports", "cable, switch port or adapter; a link that trained at a lower rate or width; a wrong P_Key"),
    "roce": ("RoCE ports", "an adapter without a GID of RoCE v2: no IP address on the interface"),
    "nic": ("Network adapters with several ports", "a port of a bond that is down: cable, switch port or transceiver"),
    "scratch": ("Local disks", "disks that are not mounted or that an array lost, a full or read-only file system, a slow or failing disk"),
    "copy": ("Copies between host and GPU", "a PCIe link with a lower generation or width, memory on the wrong NUMA node, another program on the host, a faulty GPU"),
    "stream": ("Data that streams from the host and the disk to the GPU", "a slow or worn disk, a degraded array, other programs on the node, a PCIe link or a power limit that slows copies beside products; wrong data: a disk, memory or a GPU"),
    "load": ("GPUs under load", "heat, a power limit or brake, changed clocks, faulty memory, a faulty GPU, other programs"),
    "steady": ("How even a speed is", "other programs, or tenants of the host; heat or power; a link that repeats packets"),
    "ring": ("The all-reduce", "GPUDirect RDMA off, sockets in place of InfiniBand, a slow node or link, wrong NCCL settings, an old image"),
    "nccl": ("NCCL's network", "a network plugin that NCCL does not find, or a slow start of NCCL"),
    "pairs": ("Exchanges of pairs", "the part that the finding names: a GPU's NVLinks, a network adapter, a node, or the link between two nodes"),
    "collectives": ("Other collectives, jitter", "other traffic on the network, interrupts or daemons on the CPUs of a rank; the slow part that `pairs.*` names"),
    "step": ("Training steps", "a rank that computes slower than the others: heat, clocks, other programs; copies or all-reduces that do not overlap"),
    "broadcast": ("One reader for all nodes", "sockets in place of InfiniBand, wrong NCCL settings, a slow node or link; wrong data: a network adapter, a GPU or memory"),
    "checkpoint": ("All ranks write to one folder", "a file system, a server or a mount that is slow, stalls or returns wrong data; too little space; rights of the user"),
    "job": ("The job", "see the action"),
    "rank": ("A rank", "a rank that crashed, was killed, or did not finish: its node, its GPU, or the time limit"),
    "run": ("The run", "a signal: `scancel`, the time limit, Ctrl-C"),
    "sku": ("The machine type", "a machine type without an expectation file, or nodes of several types"),
    "probe": ("A probe that did not finish", "a crash or hang of a driver or library, or a library that is missing; the finding names the function and the deadline"),
}

# Findings that no expectation file has: what they mean, and what to do.
BUILT_IN = {
    "rank.missing": ("a rank gave no result, or not all results", "check the output of the job and dmesg on the node for the cause; start the job again without the node (`srun --exclude`)"),
    "node.missing": ("a node of the job gave no result", "check that the node is up and that the processes of the job were started there; start the job again without the node"),
    "run.interrupted": ("the run was ended by a signal, or MPI did not start", "increase the time limit, or find out who cancelled the job; earlier results are included"),
    "sku.unknown": ("the machine type has no expectation file, or the nodes have different types", "set it: `--sku NAME` (see `muster skus`), `--sku FILE` with a file of your own, or `--sku generic-nvidia`"),
    "ring.suspect": ("localisation: a node whose all-reduces fail, alone or with other nodes", "exclude the node and run muster on this node only; check its GPUs, NVLinks, InfiniBand links and switch port, and dmesg"),
    "ring.link": ("localisation: two nodes that work with other nodes, and not with each other", "check switches, cables and routing between the two; until this is fixed, do not use both nodes in one job"),
    "ring.split": ("localisation: groups of nodes that work within each group only", "check the switches, the cables between switches and the partitions (P_Key, placement group) between the groups; run each job within one group"),
}
PROBE_ACTION = ("a missing library: install it, or set `LD_LIBRARY_PATH`. A crash or a hang: read `evidence`, dmesg and Xids of the node, exclude "
                "the node, and run `muster node` there; a reset of the GPU or a reboot often helps")


def call(*arguments):
    return json.loads(subprocess.run([MUSTER, *arguments], capture_output=True, check=True, timeout=60).stdout)


def machine_types():
    done = subprocess.run([MUSTER, "skus"], capture_output=True, text=True, check=True, timeout=60)
    return [line.split()[0] for line in done.stdout.splitlines()[1:]]


def all_checks():
    """{id: [the check as each machine type has it]}"""
    checks = collections.defaultdict(list)
    for machine in machine_types():
        for check in call("skus", machine, "--format", "json")["checks"]:
            checks[check["check"]].append(check)
    return checks


def most_common(checks, key):
    """The value that most machine types have, and whether others have another one."""
    values = collections.Counter(check.get(key) or "" for check in checks)
    return max(values, key=lambda value: (bool(value), values[value], value)), len(values) > 1


def words(text):
    """A text of an expectation file for a table: its variables as words."""
    names = {"node": "*node*", "gpu": "*GPU*", "port": "*port*", "rank": "*rank*"}
    text = text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    return re.sub(r"\$\{([^}]*)\}", lambda match: names.get(match[1], f"`{match[1]}`"), text)


def row(name, meaning, action, source):
    return f"| <a id=\"{name}\"></a>`{name}` | {meaning} | {action} | {source} |"


def row_of_check(name, checks):
    title, _ = most_common(checks, "title")
    advice, differs = most_common(checks, "advice")
    source, sources = most_common(checks, "source")
    certainty, _ = most_common(checks, "certainty")
    severity = " (warning)" if all(check["severity"] == "warn" for check in checks) else ""
    action = words(advice) or "see the title"
    if differs:
        action += " (machine types have their own words)"
    action += f" (`{most_common(checks, 'action_code')[0]}`)"
    source = f"of each machine type: `muster skus NAME {name}`" if sources else words(source) + (f" ({certainty})" if certainty else "")
    return row(name, f"{words(title)}{severity}; `{checks[0]['metric']}`", action, source)


def probes():
    return sorted({metric["probe"] for metric in call("metrics", "--format", "json") if metric["probe"]})


def tables():
    rows = {name: row(name, meaning, action, "") for name, (meaning, action) in BUILT_IN.items()}
    rows.update({f"probe.{probe}": row(f"probe.{probe}", f"probe `{probe}` did not finish", PROBE_ACTION, "") for probe in probes()})
    rows.update({name: row_of_check(name, checks) for name, checks in all_checks().items()})
    lines = []
    for group, (title, causes) in GROUPS.items():
        lines += ["", f"## {title}: `{group}.*`", "", f"Usual causes: {causes}.", "", "| finding | it means; metric | action | source of the expected value |",
                  "|---|---|---|---|"]
        lines += [rows[name] for name in sorted(rows, key=natural) if name.split(".")[0] == group]
    return "\n".join(lines) + "\n\n"


def of_one_node(check):
    """Whether `muster node --profile standard` evaluates it."""
    only = check["only_for"] or ""
    nodes = re.search(r"(\d+) (node|NVLink domain)s or more", only)
    return not (nodes and int(nodes[1]) > 1) and check["expected"] != "the same on all nodes" and ("profile" not in only or "standard" in only)


def table_of_image():
    """By what checks are about: those of one node, and those that need more of it."""
    seen, unseen = collections.defaultdict(list), collections.defaultdict(list)
    for name, checks in sorted(all_checks().items(), key=lambda item: natural(item[0])):
        group = name.split(".")[0]
        link = f"[`{name.split('.', 1)[1]}`](troubleshooting.md#{name})"
        (seen if any(map(of_one_node, checks)) else unseen)[group].append(link)
    lines = ["", "| about | seen on one node | only on several nodes, or in the profile full |", "|---|---|---|"]
    lines += [f"| {title}: `{group}.*` | {', '.join(seen[group]) or '-'} | {', '.join(unseen[group]) or '-'} |"
              for group, (title, _) in GROUPS.items() if seen[group] or unseen[group]]
    return "\n".join(lines) + "\n\n"


def natural(name):
    """Sizes in their order: 8m, 64m, 1g."""
    size = re.search(r"(\d+)([mg])$", name)
    return (name[:size.start()], int(size[1]) * (1024 if size[2] == "g" else 1)) if size else (name, 0)


def read(page=PAGE):
    with open(page, encoding="utf-8") as file:
        return file.read()


def write(page, table):
    before, _, rest = read(page).partition(BEGIN)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + table + END + rest.partition(END)[2])


class Troubleshooting(unittest.TestCase):
    def test_the_tables_are_as_the_expectation_files(self):
        for page, table in ((PAGE, tables()), (IMAGE, table_of_image())):
            inside = read(page).partition(BEGIN)[2].partition(END)[0]
            self.assertTrue(inside == table, "write them anew: tests/docs/troubleshooting.py build/muster . --write")

    def test_each_check_of_each_file_has_one_row(self):
        """By the files themselves, not by the program."""
        ids = set(BUILT_IN)
        folder = os.path.join(SOURCE, "configs")
        for name in os.listdir(folder):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    ids |= {check for check, value in json.load(file).get("checks", {}).items() if value is not None}
        rows = re.findall(r'<a id="([^"]+)"></a>', read())
        self.assertEqual([name for name, count in collections.Counter(rows).items() if count > 1], [])
        self.assertEqual(ids - set(rows), set())
        self.assertEqual({name for name in set(rows) - ids if not name.startswith("probe.")}, set())

    def test_each_finding_that_a_simulated_fault_has_has_a_row(self):
        rows = set(re.findall(r'<a id="([^"]+)"></a>', read()))
        found = set()
        folder = os.path.join(SOURCE, "tests/scenarios")
        for name in os.listdir(folder):
            if name.endswith(".json"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found |= set(re.findall(r'"(?:probe|rank|node|run|sku|ring)\.[a-z_0-9.]+"', file.read()))
        found = {name.strip('"') for name in found}
        metrics = {metric["name"] for metric in call("metrics", "--format", "json")}
        self.assertIn("ring.suspect", found)
        self.assertEqual(found - rows - metrics, set())


if __name__ == "__main__":
    if sys.argv[3:] == ["--write"]:
        write(PAGE, tables())
        write(IMAGE, table_of_image())
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
