# SPDX-License-Identifier: Apache-2.0
"""Compare a report's GPUs with nvidia-smi: usage: inventory.py REPORT XML [NVLINK | --show]. Exit status 1 when one differs.

XML is what `nvidia-smi -q -x` prints, NVLINK what `nvidia-smi nvlink -e` does. --show prints both sides of each fact.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

from samples import holders, load, samples, values


def number(text):
    """The number that a text like "143771 MiB" or "16x" starts with; None for "N/A"."""
    found = re.match(r"\s*(-?[0-9.]+)", text or "")
    return float(found.group(1)) if found else None


def switch(words):
    return lambda text: {words[0]: True, words[1]: False}.get(text)


def words(text):
    """"In Progress" as muster spells it."""
    return text.lower().replace(" ", "-")


def text_of(text):
    """None where nvidia-smi has no value, as muster has null then."""
    return None if text in ("N/A", "") else text


def pending(gpu):
    """What a reset will change, in muster's words; None where nvidia-smi says nothing of it."""
    changes, known = [], False
    for name, now, then in (("ECC", "ecc_mode/current_ecc", "ecc_mode/pending_ecc"),
                            ("MIG", "mig_mode/current_mig", "mig_mode/pending_mig")):
        on = [ENABLED(gpu.findtext(place)) for place in (now, then)]
        known = known or None not in on
        if None not in on and on[0] != on[1]:
            changes.append(f"{name}: {'on, will be off' if on[0] else 'off, will be on'}")
    for place, text in (("channel", "repair of a memory channel"), ("tpc", "repair of a TPC")):
        if gpu.findtext(f"ecc_errors/{place}_repair_pending") == "Yes":
            changes.append(text)
    return ("; ".join(changes) or "none") if known else None


ENABLED = switch(("Enabled", "Disabled"))
VIRTUALIZATIONS = {"None": "none", "Pass-Through": "passthrough", "VGPU": "vgpu", "Host VGPU": "host-vgpu",
                   "Host VSGA": "host-vsga"}

# metric, places in nvidia-smi's XML (names changed over the years), what to make of the text, allowed difference
FACTS = [
    ("gpu.name", ["product_name"], str, 0),
    ("gpu.uuid", ["uuid"], str, 0),
    ("gpu.vbios", ["vbios_version"], str, 0),
    ("gpu.memory_mib", ["fb_memory_usage/total"], number, 1),  # nvidia-smi prints whole MiB
    ("gpu.ecc", ["ecc_mode/current_ecc"], ENABLED, 0),
    ("gpu.mig", ["mig_mode/current_mig"], ENABLED, 0),
    ("gpu.persistence", ["persistence_mode"], ENABLED, 0),
    ("gpu.serial", ["serial"], str, 0),
    ("gpu.board_part", ["board_part_number"], str, 0),
    ("gpu.recovery_action", ["gpu_recovery_action"], words, 0),
    ("gpu.remapped_correctable", ["remapped_rows/remapped_row_corr"], number, 0),
    ("gpu.remapped_uncorrectable", ["remapped_rows/remapped_row_unc"], number, 0),
    ("gpu.pcie_errors replay", ["pci/replay_counter"], number, 0),
    ("gpu.pcie_gen_max", ["pci/pci_gpu_link_info/pcie_gen/max_link_gen"], number, 0),
    ("gpu.pcie_width_max", ["pci/pci_gpu_link_info/link_widths/max_link_width"], number, 0),
    ("gpu.sm_clock_max_mhz", ["max_clocks/sm_clock"], number, 0),
    ("gpu.sm_clock_app_mhz", ["applications_clocks/graphics_clock"], number, 0),
    ("gpu.mem_clock_max_mhz", ["max_clocks/mem_clock"], number, 0),
    ("gpu.power_limit_watts", ["gpu_power_readings/current_power_limit", "power_readings/enforced_power_limit"],
     number, 1),
    ("gpu.power_requested_watts", ["gpu_power_readings/requested_power_limit", "power_readings/power_limit"], number, 1),
    ("gpu.power_default_watts", ["gpu_power_readings/default_power_limit", "power_readings/default_power_limit"], number, 1),
    ("gpu.sm_clock_app_default_mhz", ["default_applications_clocks/graphics_clock"], number, 0),
    ("gpu.compute_mode", ["compute_mode"], lambda text: words(text).replace("_", "-"), 0),
    ("gpu.bar1_mib", ["bar1_memory_usage/total"], number, 1),
    ("gpu.inforom", ["inforom_version/img_version"], text_of, 0),
    ("gpu.gsp_firmware", ["gsp_firmware_version"], text_of, 0),
    ("gpu.pending_changes", pending, str, 0),
    ("gpu.virtualization", ["gpu_virtualization_mode/virtualization_mode"], VIRTUALIZATIONS.get, 0),
    ("gpu.c2c_links", ["c2c_mode"], lambda text: text == "Enabled", 0),
    ("gpu.fabric_state", ["fabric/state"], words, 0),
    ("gpu.fabric_status", ["fabric/status"], words, 0),
    ("gpu.fabric_clique", ["fabric/cliqueId"], number, 0),
    ("gpu.fabric_cluster", ["fabric/clusterUuid"], str.lower, 0),
    ("gpu.fabric_health", ["fabric/health/summary"], lambda text: text == "Healthy", 0),
]

# What to make of muster's value, where nvidia-smi says it in another way.
OURS = {
    "gpu.c2c_links": lambda links: links is not None and links != 0,
    "gpu.fabric_status": lambda text: text and words(re.sub(r" \(\d+\)$", "", text)),
    "gpu.fabric_health": lambda text: text == "healthy",
}


def says_nothing(metric, text):
    """nvidia-smi prints N/A for all of a fabric that the GPU has not joined; muster prints what NVML gives."""
    return metric.startswith("gpu.fabric_") and text == "N/A"


def bus_id(text):
    """As sysfs and muster spell it: lower case, a domain of four digits when it fits."""
    domain, rest = text.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def same(ours, theirs, allowed):
    if isinstance(ours, (float, int)) and isinstance(theirs, float) and not isinstance(ours, bool):
        return abs(ours - theirs) <= allowed
    return ours == theirs


def values_of(report, metric):
    """{bus id: value}; a metric of several kinds is followed by the kind."""
    name, _, kind = metric.partition(" ")
    return {sample["labels"]["gpu"]: sample["value"] for sample in samples(report, name)
            if not kind or sample["labels"]["kind"] == kind}


# Kinds of gpu.nvlink_errors, and their names in `nvidia-smi nvlink -e`.
NVLINK_KINDS = {"Replay": "replay", "Recovery": "recovery", "CRC": "crc-flit"}


def nvlink_errors(text):
    """{UUID: {kind: errors of all links}}."""
    errors, gpu = {}, None
    for line in text.splitlines():
        if found := re.match(r"GPU \d+: .*\(UUID: ([^)]+)\)", line):
            gpu = errors.setdefault(found.group(1), {})
        elif gpu is not None and (found := re.match(r"\s+Link \d+: (\w+) Errors: (\d+)", line)):
            kind = NVLINK_KINDS.get(found.group(1))
            if kind:
                gpu[kind] = gpu.get(kind, 0) + int(found.group(2))
    return errors


def differences(report, root, nvlink="", show=False):
    """(how many facts agree, what differs as sentences). show: both sides of each fact are printed."""
    gpus = {bus_id(gpu.get("id")): gpu for gpu in root.findall("gpu")}
    agree, wrong = 0, []

    def judge(what, ours, theirs, allowed=0):
        nonlocal agree
        if show:
            print(f"{'equal ' if same(ours, theirs, allowed) else 'DIFFER'}  {what:52}  {ours!s:32}  {theirs!s}")
        if same(ours, theirs, allowed):
            agree += 1
        else:
            wrong.append(f"{what}: muster {ours!r}, nvidia-smi {theirs!r}")

    judge("node.driver_version", values(report, "node.driver_version"), [root.findtext("driver_version")])
    judge("node.cuda_driver_api", values(report, "node.cuda_driver_api"), [root.findtext("cuda_version")])
    judge("node.gpu_count", values(report, "node.gpu_count"), [float(len(gpus))])
    taken = values(report, "gpu.name", "gpu")
    if not taken:
        wrong.append("the report has no GPU")
    for gpu in taken:
        if gpu not in gpus:
            wrong.append(f"{gpu}: nvidia-smi does not show it")
    for metric, places, make, allowed in FACTS:
        ours = values_of(report, metric)
        for gpu in taken:
            if callable(places):
                text = places(gpus[gpu]) if gpu in gpus else None
            else:
                text = next((found for place in places if gpu in gpus and (found := gpus[gpu].findtext(place))), None)
            theirs = make(text) if text is not None else None
            if gpu in gpus and not says_nothing(metric, text):
                judge(f"{metric} of {gpu}", OURS.get(metric, lambda value: value)(ours.get(gpu)), theirs, allowed)
    theirs = nvlink_errors(nvlink)
    for gpu, uuid in values(report, "gpu.uuid", "gpu").items():
        for kind, errors in theirs.get(uuid, {}).items():
            judge(f"gpu.nvlink_errors {kind} of {gpu}", values_of(report, f"gpu.nvlink_errors {kind}").get(gpu),
                  float(errors))
    return agree, wrong


def main(report, xml, nvlink=None):
    text, show = "", nvlink == "--show"
    if nvlink and not show:
        with open(nvlink, encoding="utf-8") as file:
            text = file.read()
    agree, wrong = differences(load(report), ElementTree.parse(xml).getroot(), text, show)
    if show:
        for metric in ("gpu.inforom_valid", "gpu.sm_clock_allowed_mhz", "node.cuda_compat"):
            print(f"        {metric:52}  {values(load(report), metric)}")
        took = [probe["elapsed_ms"] for holder in holders(load(report)) for probe in holder.get("probes", [])
                if probe["probe"] == "gpu_state"]
        print(f"        the probe gpu_state took at most {max(took, default=0):.0f} ms")
        print(f"{agree} equal, {len(wrong)} differ")
        return 1 if wrong else 0
    for line in wrong:
        print(f"FAIL  {line}")
    print(f"{'FAIL' if wrong else 'ok'}    {report}: {agree} facts as nvidia-smi shows them, {len(wrong)} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
