# SPDX-License-Identifier: Apache-2.0
"""A machine of tests/machines/NAME/ as files: the topology that hwloc reads, and the parts of /sys, /proc and /dev that
muster reads. docs/reference/machines.md says what stands in machine.json."""
import itertools
import json
import lzma
import os
from xml.etree import ElementTree

GPU = {"vendor": "10de", "device": "20b0", "class": "0302", "driver": "nvidia"}
NIC = {"vendor": "15b3", "device": "101b", "class": "0207", "driver": "mlx5_core"}


def cpus_of(text):
    """The numbers of "0-3,8,16-30:2"."""
    numbers = set()
    for part in filter(None, text.split(",")):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        numbers.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return numbers


def bits(numbers):
    """{0, 33} as hwloc writes it: "0x00000002,0x00000001"."""
    value = sum(1 << bit for bit in set(numbers))
    return ",".join(f"0x{value >> at & 0xffffffff:08x}" for at in range(value.bit_length() // 32 * 32, -1, -32))


def listed(numbers, joint=" "):
    return joint.join(map(str, sorted(numbers)))


class Topology:
    """An hwloc 2 topology of a machine that is given in numbers."""

    def __init__(self, machine):
        self.machine, self.cores, self.counter = machine, itertools.count(), itertools.count(1)
        cpus, nodes = self.sets_of(list(itertools.chain(*machine["packages"])))
        allowed = machine.get("allowed", {})
        self.top = ElementTree.Element("topology", version="2.0")
        place = self.add(self.top, "Machine", cpus, nodes, os_index=0,
                         allowed_cpuset=bits(cpus_of(allowed["cpus"]) if "cpus" in allowed else cpus),
                         allowed_nodeset=bits(cpus_of(allowed["nodes"]) if "nodes" in allowed else nodes))
        self.add_nodes(place, self.beside("machine"), cpus)
        for index, package in enumerate(machine["packages"]):
            inside = self.add(place, "Package", *self.sets_of(package), os_index=index)
            for home in package:
                self.add_home(inside, home)
        self.add_devices(place, "machine")
        if "distances" in machine:
            self.add_distances(sorted(nodes), list(itertools.chain(*machine["distances"])))
        for name in ("discovery.pu", "discovery.numa", "discovery.numa_memory", "cpubind.get_thisproc_cpubind"):
            ElementTree.SubElement(self.top, "support", name=name)

    def beside(self, near):
        """Memory-only nodes that are there."""
        return [node for node in self.machine.get("memory", []) if node.get("near", "machine") == near]

    def sets_of(self, homes):
        """The CPUs and NUMA nodes of these homes, and of what is near them."""
        nodes = [home for home in homes if not home.get("bare")]
        nodes += sum(map(self.beside, {home["node"] for home in homes} | {"machine"}), [])
        return set().union(*(cpus_of(home["cpus"]) for home in homes)), {node["node"] for node in nodes}

    def add(self, parent, name, cpus=None, nodes=(), **more):
        """An object; hwloc wants its type first."""
        item = ElementTree.SubElement(parent, "object", type=name, gp_index=str(next(self.counter)))
        if cpus is not None:
            more.update(cpuset=bits(cpus), complete_cpuset=bits(cpus), nodeset=bits(nodes), complete_nodeset=bits(nodes))
        for key, value in more.items():
            item.set(key, str(value))
        return item

    def add_nodes(self, place, nodes, cpus):
        for node in nodes:
            self.add(place, "NUMANode", cpus, [node["node"]], os_index=node["node"], local_memory=node.get("memory", 1 << 36))

    def add_home(self, package, home):
        """A NUMA node with its CPUs, and the memory and devices next to it."""
        cpus, nodes = self.sets_of([home])
        group = self.add(package, "Group", cpus, nodes)
        self.add_nodes(group, [home] * (not home.get("bare")) + self.beside(home["node"]), cpus)
        count, apart = self.machine.get("threads", [1, 1])
        while cpus:
            threads = [min(cpus) + apart * i for i in range(count)]
            core = self.add(group, "Core", threads, nodes, os_index=next(self.cores))
            for cpu in threads:
                self.add(core, "PU", [cpu], nodes, os_index=cpu)
            cpus = cpus - set(threads)
        self.add_devices(group, home["node"])

    def add_devices(self, place, near):
        for device in self.machine["gpus"] + self.machine["nics"]:
            if device.get("at", device["node"] if device["node"] >= 0 else "machine") != near:
                continue
            domain, bus = device["bus"].split(":")[:2]
            bridge = self.add(place, "Bridge", bridge_type="0-1", depth=0, bridge_pci=f"{domain}:[{bus}-{bus}]")
            kind = f"{device['class']} [{device['vendor']}:{device['device']}] [0000:0000] 00"
            item = self.add(bridge, "PCIDev", pci_busid=device["bus"], pci_type=kind, pci_link_speed="0.0")
            if "name" in device:
                self.add(item, "OSDev", osdev_type=3).set("name", device["name"])

    def add_distances(self, nodes, values):
        table = ElementTree.SubElement(self.top, "distances2", type="NUMANode", nbobjs=str(len(nodes)), kind="5",
                                       name="NUMALatency", indexing="os")
        for name, text in (("indexes", listed(nodes) + " "), ("u64values", "".join(f"{value} " for value in values))):
            ElementTree.SubElement(table, name, length=str(len(text))).text = text


def read(folder):
    """machine.json with what it leaves out."""
    with open(os.path.join(folder, "machine.json"), encoding="utf-8") as file:
        machine = json.load(file)
    minors = itertools.count()
    gpus = [{**GPU, **gpu} for gpu in sorted(machine["gpus"], key=lambda gpu: gpu["bus"])]
    return {**machine, "gpus": [{"minor": next(minors) if gpu["driver"] == "nvidia" else None, **gpu} for gpu in gpus],
            "nics": [{**NIC, **nic} for nic in machine.get("nics", [])]}


def topology(folder, machine):
    for name, opener in (("topology.xml.xz", lzma.open), ("topology.xml", open)):
        if os.path.exists(os.path.join(folder, name)):
            with opener(os.path.join(folder, name), "rt", encoding="utf-8") as file:
                return file.read()
    return '<!DOCTYPE topology SYSTEM "hwloc2.dtd">' + ElementTree.tostring(Topology(machine).top, encoding="unicode")


def make(folder, machine, root):
    """The files of the machine in `folder`, below `root`."""
    homes = list(itertools.chain(*machine.get("packages", [])))
    files, links = {"/topology.xml": topology(folder, machine), **machine.get("files", {})}, {}
    for node in {home["node"] for home in homes}:
        cpus = set().union(*(cpus_of(home["cpus"]) for home in homes if home["node"] == node))
        files[f"/sys/devices/system/node/node{node}/cpulist"] = listed(cpus, ",")
    for device in machine["gpus"] + machine["nics"]:
        place = f"/sys/bus/pci/devices/{device['bus']}"
        files.update({f"{place}/vendor": "0x" + device["vendor"], f"{place}/device": "0x" + device["device"],
                      f"{place}/class": f"0x{device['class']}00", f"{place}/numa_node": str(device["node"])})
        links[f"{place}/driver"] = f"../../drivers/{device['driver']}"
        if "virtual_of" in device:
            links[f"{place}/physfn"] = f"../{device['virtual_of']}"
        if device["driver"] == "nvidia" and not device.get("hidden"):
            files[f"/proc/driver/nvidia/gpus/{device['bus']}/information"] = f"Device Minor: \t {device['minor']}"
            files[f"/dev/nvidia{device['minor']}"] = ""
        if "name" in device:
            links[f"/sys/class/infiniband/{device['name']}/device"] = f"../../../bus/pci/devices/{device['bus']}"
    for path in [*files, *links]:
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        if path in links:
            os.symlink(links[path], root + path)
        else:
            with open(root + path, "w", encoding="utf-8") as file:
                file.write(files[path] + "\n")
