# SPDX-License-Identifier: Apache-2.0
"""The scripts of this folder on a small made-up report: they agree with what is right and name what is not."""
import contextlib
import copy
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import figures
import findings
import inventory
import sanitise
import steps
import stream
import traffic

UUID = "GPU-12345678-90ab-cdef-1234-567890abcdef"
BUS_ID = "0000:19:00.0"
MIB = 1 << 20

GPU = {
    "gpu.name": "NVIDIA H200", "gpu.uuid": UUID, "gpu.vbios": "96.00.A5.00.01", "gpu.memory_mib": 143770.6,
    "gpu.serial": "1654024031626", "gpu.board_part": "692-2G520-0282-001", "gpu.recovery_action": "none",
    "gpu.remapped_correctable": 1, "gpu.remapped_uncorrectable": 0,
    "gpu.ecc": True, "gpu.mig": False, "gpu.persistence": True, "gpu.pcie_gen_max": 5, "gpu.pcie_width_max": 16,
    "gpu.sm_clock_max_mhz": 1980,
    "gpu.mem_clock_max_mhz": 3201, "gpu.power_limit_watts": 700, "gpu.h2d_gbps": 55.0,
    "gpu.h2d_together_gbps": 54.0, "gpu.d2h_gbps": 56.0, "gpu.d2h_together_gbps": 55.0,
    "gpu.copy_intact": True, "gpu.copy_numa_node": 0, "gpu.sm_clock_app_mhz": 1830, "gpu.virtualization": "passthrough",
    "gpu.c2c_links": 0, "gpu.fabric_state": "in-progress", "gpu.fabric_status": "Unknown Error (999)",
    "gpu.fabric_clique": 7, "gpu.fabric_cluster": "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809",
    "gpu.fabric_health": "healthy", "gpu.power_requested_watts": 700, "gpu.power_default_watts": 650,
    "gpu.sm_clock_app_default_mhz": 1980, "gpu.compute_mode": "exclusive-process", "gpu.bar1_mib": 262144,
    "gpu.inforom": "G520.0200.00.05", "gpu.gsp_firmware": None,
    "gpu.pending_changes": "ECC: on, will be off; repair of a TPC",
}
NODE = {
    "node.driver_version": "580.126.16", "node.cuda_driver_api": "13.0", "node.gpu_count": 1, "node.ib_ports": 0,
}


def sample(metric, value, **labels):
    return {"metric": metric, "value": value, **({"labels": labels} if labels else {})}


def a_report():
    ring = [sample("nccl.allreduce_busbw_gbps", 340.0, bytes=256 * MIB, nodes=1, ranks=4)]
    of_rank = [sample(metric, value, gpu=BUS_ID) for metric, value in GPU.items()]
    of_rank += [
        sample("gpu.pcie_errors", 3, gpu=BUS_ID, kind="replay"), sample("gpu.pcie_errors", 7, gpu=BUS_ID, kind="naks-sent"),
        sample("gpu.nvlink_errors", 0, gpu=BUS_ID, kind="replay"), sample("gpu.nvlink_errors", 2, gpu=BUS_ID, kind="recovery"),
        sample("gpu.nvlink_errors", 5, gpu=BUS_ID, kind="crc-flit"),
        sample("rank.allreduce_wrong", 0, bytes=256 * MIB),
        sample("rank.nccl_transport", "P2P/CUMEM"),
        sample("rank.note",
               f"{UUID.lower()} of host-17.example and host-17, not host-170, see /usr/lib/x/libcuda.so.1"),
    ]
    probes = [{"probe": "gpu_copy", "status": "ok", "elapsed_ms": 90.0}]
    rank = {"rank": 0, "gpu_uuid": UUID, "samples": of_rank, "probes": probes}
    node = {"name": "host-17.example", "samples": [sample(*fact) for fact in NODE.items()], "ranks": [rank]}
    node["samples"].append(sample("port.gid", "fe80:0000:0000:0000:9803:9b03:0012:3456", port="mlx5_ib0/1"))
    job = {"id": "777", "started": "2026-11-21T09:00:00Z", "samples": ring}
    return {"verdict": "pass", "simulated": False, "run": {"job": job, "nodes": [node]}}


XML = f"""<nvidia_smi_log><driver_version>580.126.16</driver_version><cuda_version>13.0</cuda_version>
<gpu id="00000000:19:00.0"><product_name>NVIDIA H200</product_name><uuid>{UUID}</uuid>
<vbios_version>96.00.A5.00.01</vbios_version><compute_mode>Exclusive_Process</compute_mode>
<inforom_version><img_version>G520.0200.00.05</img_version></inforom_version><gsp_firmware_version>N/A</gsp_firmware_version>
<bar1_memory_usage><total>262144 MiB</total></bar1_memory_usage>
<default_applications_clocks><graphics_clock>1980 MHz</graphics_clock></default_applications_clocks><persistence_mode>Enabled</persistence_mode>
<fb_memory_usage><total>143771 MiB</total></fb_memory_usage><ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc></ecc_mode>
<mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
<ecc_errors><channel_repair_pending>No</channel_repair_pending><tpc_repair_pending>Yes</tpc_repair_pending></ecc_errors>
<serial>1654024031626</serial><board_part_number>692-2G520-0282-001</board_part_number>
<gpu_recovery_action>None</gpu_recovery_action><remapped_rows><remapped_row_corr>1</remapped_row_corr>
<remapped_row_unc>0</remapped_row_unc></remapped_rows>
<pci><replay_counter>3</replay_counter><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width></link_widths></pci_gpu_link_info></pci>
<applications_clocks><graphics_clock>1830 MHz</graphics_clock></applications_clocks><c2c_mode>Disabled</c2c_mode>
<gpu_virtualization_mode><virtualization_mode>Pass-Through</virtualization_mode></gpu_virtualization_mode>
<fabric><state>In Progress</state><status>Unknown Error</status><cliqueId>7</cliqueId>
<clusterUuid>1A2B3C4D-5E6F-4081-92A3-B4C5D6E7F809</clusterUuid><health><summary>Healthy</summary></health></fabric>
<max_clocks><sm_clock>1980 MHz</sm_clock><mem_clock>3201 MHz</mem_clock></max_clocks>
<gpu_power_readings><current_power_limit>700.00 W</current_power_limit>
<requested_power_limit>700.00 W</requested_power_limit><default_power_limit>650.00 W</default_power_limit></gpu_power_readings></gpu></nvidia_smi_log>"""


NVLINK = f"""GPU 0: NVIDIA H200 (UUID: {UUID})
\t Link 0: Replay Errors: 0
\t Link 0: Recovery Errors: 2
\t Link 0: CRC Errors: 4

\t Link 1: Replay Errors: 0
\t Link 1: Recovery Errors: 0
\t Link 1: CRC Errors: 1
"""


def set_value(report, metric, value):
    for holder in [report["run"]["job"], *report["run"]["nodes"], *report["run"]["nodes"][0]["ranks"]]:
        for each in holder["samples"]:
            if each["metric"] == metric:
                each["value"] = value


class Steps(unittest.TestCase):
    TEXT = """nvbandwidth Version: v0.8
{
  "nvbandwidth" : {
    "testcases" : [
      { "name" : "host_to_device_bidirectional_memcpy_ce", "status" : "Passed", "sum" : 97.1,
        "bandwidth_matrix" : [ [ "48.5", "48.6" ] ] },
      { "name" : "device_to_host_bidirectional_memcpy_ce", "status" : "Passed", "sum" : 100.2,
        "bandwidth_matrix" : [ [ "50.1", "50.1" ] ] }
    ]
  }
}
"""

    def report(self, *findings):
        report = a_report()
        rank = report["run"]["nodes"][0]["ranks"][0]
        for direction, gbps in (("h2d", 48.0), ("d2h", 50.0)):
            rank["samples"].append(sample("gpu.bidirectional_gbps", gbps + 1, gpu="0000:2a:00.0", direction=direction))
            rank["samples"].append(sample("gpu.bidirectional_gbps", gbps, gpu=BUS_ID, direction=direction))
        report["findings"] = [{"status": status, "check": check, "where": {} if rank is None else {"rank": rank}}
                              for status, check, rank in findings]
        return report

    def test_nvbandwidths_figures_are_read_by_direction_and_gpu(self):
        self.assertEqual(steps.read_nvbandwidth(self.TEXT), {"h2d": [48.5, 48.6], "d2h": [50.1, 50.1]})

    def test_a_test_that_nvbandwidth_did_not_run_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "device_to_host_bidirectional_memcpy_ce"):
            steps.read_nvbandwidth(self.TEXT.replace("device_to_host_bid", "device_to_host_other"))

    def test_our_figures_are_in_the_order_of_the_bus(self):
        ours = steps.both_ways(self.report())
        self.assertEqual(ours, {"h2d": [48.0, 49.0], "d2h": [50.0, 51.0]})
        compared = steps.ratios(ours, steps.read_nvbandwidth(self.TEXT))
        self.assertEqual(compared[0], ("h2d", 0, 48.0, 48.5))
        self.assertEqual(len(compared), 4)

    def test_a_rank_is_named_by_a_finding_about_it_alone(self):
        for findings, named in (
                ([], False),
                ([("fail", "step.compute", 1)], True),
                ([("fail", "step.compute", 1), ("warn", "step.compute_in_step", 1), ("warn", "step.p99", None)], True),
                ([("warn", "step.spread", None)], False),
                ([("fail", "step.compute", 0)], False),
                ([("fail", "step.compute", 0), ("fail", "step.compute", 1)], False),
                ([("pass", "step.compute", 1)], False),
                ([("fail", "load.bf16", 1)], True),
                ([("fail", "step.compute", 1), ("warn", "load.bf16_close", 0)], False),
                ([("fail", "gpu.strangers", 1)], True),
                ([("warn", "gpu.stranger_busy", 1), ("fail", "load.bf16", 1)], True),
                ([("fail", "gpu.strangers", 0), ("fail", "step.compute", 1)], False),
                ([("warn", "gpu.persistence", 1)], False),
                ([("fail", "copy.h2d", 1)], False)):
            with self.subTest(findings=findings):
                self.assertEqual(steps.is_named(self.report(*findings), 1), named)


class Stream(unittest.TestCase):
    def report(self, disk=6.5, reason=None, wrong=0):
        report = a_report()
        rank = report["run"]["nodes"][0]["ranks"][0]
        for kind, value in zip(stream.KINDS, (55.0, 54.0, disk, 6.0)):
            made = sample("gpu.stream_gbps", value, gpu=BUS_ID, source=kind[0], load=kind[1])
            rank["samples"].append({**made, **({"reason": reason} if value is None else {})})
        rank["samples"].append(sample("gpu.stream_wrong", wrong, gpu=BUS_ID, source="disk"))
        rank["samples"].append({**sample("gpu.cufile_wrong", None, gpu=BUS_ID), "reason": "no library"})
        return report

    def test_streams_are_read_by_source_and_load(self):
        found, reasons = stream.streams(self.report())
        self.assertEqual(found, {("host", "alone"): 55.0, ("host", "products"): 54.0, ("disk", "alone"): 6.5, ("disk", "products"): 6.0})
        self.assertEqual(reasons, set())

    def test_a_stream_without_a_value_says_why(self):
        found, reasons = stream.streams(self.report(disk=None, reason="no direct I/O"))
        self.assertIsNone(found["disk", "alone"])
        self.assertEqual(reasons, {"no direct I/O"})

    def test_wrong_words_are_found_and_nulls_are_none(self):
        self.assertEqual(stream.wrong_words(self.report()), [])
        self.assertEqual(len(stream.wrong_words(self.report(wrong=3))), 1)

    def test_medians_that_are_near_agree_and_a_disk_may_be_faster(self):
        theirs = {kind: [50.0, 52.0, 51.0] for kind in stream.KINDS}
        for ours, host, disk in (([51.0, 10.0, 90.0], True, True), ([53.4], True, True), ([53.7], False, True), ([67.0], False, False),
                                 ([48.5], True, True), ([48.3], False, False), ([None], False, False)):
            with self.subTest(ours=ours):
                rows = stream.compare({kind: ours for kind in stream.KINDS}, theirs)
                self.assertEqual([agrees for *_, agrees in rows], [host, host, disk, disk])


class Inventory(unittest.TestCase):
    def test_equal_inventories_have_no_difference(self):
        agree, wrong = inventory.differences(a_report(), ElementTree.fromstring(XML))
        self.assertEqual(wrong, [])
        self.assertEqual(agree, 3 + len(inventory.FACTS))

    def test_counters_of_links_are_compared(self):
        root = ElementTree.fromstring(XML)
        agree, wrong = inventory.differences(a_report(), root, NVLINK)
        self.assertEqual(wrong, [])
        self.assertEqual(agree, 6 + len(inventory.FACTS))
        _, wrong = inventory.differences(a_report(), root, NVLINK.replace("CRC Errors: 4", "CRC Errors: 3"))
        self.assertEqual(len(wrong), 1)
        self.assertIn("crc-flit", wrong[0])

    def test_each_fact_that_differs_is_named(self):
        changes = {metric.split()[0]: "other" for metric, *_ in inventory.FACTS}
        changes.update({"gpu.memory_mib": 81559.0, "gpu.ecc": False, "gpu.mig": None, "gpu.persistence": False})
        changes.update({"gpu.pcie_gen_max": 4, "node.driver_version": "470.1", "node.gpu_count": 8})
        for metric, value in changes.items():
            with self.subTest(metric=metric):
                report = a_report()
                set_value(report, metric, value)
                _, wrong = inventory.differences(report, ElementTree.fromstring(XML))
                self.assertEqual(len(wrong), 1)
                self.assertIn(metric, wrong[0])

    def test_what_nvidia_smi_does_not_say_of_a_fabric_is_not_compared(self):
        root = ElementTree.fromstring(XML)
        for element in root.find("gpu/fabric").iter():
            element.text = element.text and "N/A"
        agree, wrong = inventory.differences(a_report(), root)
        self.assertEqual(wrong, [])
        self.assertEqual(agree, 3 + len(inventory.FACTS) - 5)

    def test_both_sides_are_shown_and_counted(self):
        for xml, last in ((XML, "equal, 0 differ"), (XML.replace("Exclusive_Process", "Default"), "equal, 1 differ")):
            with self.subTest(last=last), tempfile.TemporaryDirectory() as scratch:
                for name, text in (("report.json", json.dumps(a_report())), ("smi.xml", xml)):
                    with open(f"{scratch}/{name}", "w", encoding="utf-8") as file:
                        file.write(text)
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    inventory.main(f"{scratch}/report.json", f"{scratch}/smi.xml", "--show")
                self.assertTrue(printed.getvalue().splitlines()[-1].endswith(last))
                self.assertRegex(printed.getvalue(), r"equal +gpu.bar1_mib of \S+ +262144 +262144.0")

    def test_a_gpu_that_nvidia_smi_does_not_show_is_named(self):
        root = ElementTree.fromstring(XML.replace("00000000:19", "00000000:20"))
        _, wrong = inventory.differences(a_report(), root)
        self.assertEqual(wrong, [f"{BUS_ID}: nvidia-smi does not show it"])

    def test_a_report_without_gpus_is_not_equal(self):
        report = a_report()
        report["run"]["nodes"][0]["ranks"][0]["samples"] = []
        self.assertIn("the report has no GPU", inventory.differences(report, ElementTree.fromstring(XML))[1])


class Names(unittest.TestCase):
    def test_muster_has_each_metric_that_a_script_asks_for(self):
        done = subprocess.run([os.environ["MUSTER"], "metrics", "--format", "json"], capture_output=True, text=True, check=True)
        known = set(re.findall(r'"name": *"([a-z0-9_.]+)"', done.stdout))
        self.assertGreater(len(known), 300)
        checks = pathlib.Path(__file__).parents[2] / "configs/common.json"
        known |= {"rank.note", "rank.missing", *re.findall(r'"([a-z0-9_.]+)": \{', checks.read_text(encoding="utf-8"))} # made up; a finding
        for path in pathlib.Path(__file__).parent.glob("*.py"):
            named = set(re.findall(r'["\']((?:gpu|nccl|rank|pair|node|port)\.[a-z0-9_]+)["\']', path.read_text(encoding="utf-8")))
            self.assertEqual([name for name in named if not any(other.startswith(name) for other in known)], [], path.name)


class Figures(unittest.TestCase):
    def judged(self, report, lines=(), times=""):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "report-ngpu.json").write_text(json.dumps(report), encoding="utf-8")
            (folder / "reference.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
            (folder / "times.txt").write_text(times, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                status = figures.main(folder)
        return status, [line for line in printed.getvalue().splitlines() if line.startswith("FAIL")]

    def test_figures_near_the_references_pass(self):
        lines = [
            {"by": "nccl", "what": "busbw", "bytes": 256 * MIB, "gbps": 330.0},
            {"by": "nccl", "what": "busbw", "bytes": 256 * MIB, "gbps": 350.0},
            {"by": "torch", "what": "h2d", "gpu": UUID[4:], "bytes": 64 * MIB, "gbps": 55.5},
        ]
        self.assertEqual(self.judged(a_report(), lines, "muster-4 2.9\nmuster-4 3.4\nddp-smoke 9.1\n"), (0, []))

    def test_each_figure_that_does_not_hold_fails(self):
        cases = [
            ({}, [{"by": "nccl", "what": "busbw", "bytes": 256 * MIB, "gbps": 360.0}], "", "busbw"),
            ({}, [{"by": "nccl", "what": "busbw", "bytes": 256 * MIB, "gbps": 320.0}], "", "busbw"),
            ({}, [{"by": "torch", "what": "h2d", "gpu": UUID[4:], "gbps": 70.0}], "", "h2d"),
            ({"gpu.copy_intact": False}, [], "", "brought back"),
            ({"rank.allreduce_wrong": 3}, [], "", "wrong values"),
            ({}, [], "muster-4 4.2\n", "muster-4"),
        ]
        for changes, lines, times, word in cases:
            with self.subTest(word=word):
                report = a_report()
                for metric, value in changes.items():
                    set_value(report, metric, value)
                status, failed = self.judged(report, lines, times)
                self.assertEqual(status, 1)
                self.assertEqual(len(failed), 1)
                self.assertIn(word, failed[0])

    def test_simulated_or_failed_runs_are_no_measurement(self):
        for key, value in (("verdict", "fail"), ("simulated", True)):
            self.assertEqual(self.judged({**a_report(), key: value})[0], 1)


class Traffic(unittest.TestCase):
    TEXT = """# nThread 1 nGpus 2 minBytes 134217728 maxBytes 134217728 step: 1048576(bytes) warmup iters: 1 iters: 20
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
    67108864      16777216     float    none      -1   300.10  223.62  111.81       0   310.00  216.48  108.24       0
   134217728      16777216     float     sum      -1   512.10  262.09  131.05       0   520.00  258.11  129.06     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 130.05
"""

    @staticmethod
    def report():
        labels = {"kind": "edge", "peer_node": "host-17.example", "peer_gpu": BUS_ID, "nic": "none", "transport": "P2P/CUMEM"}
        of_rank = [sample("pair.exchange_gbps", 265.0, **labels), sample("pair.exchange_bytes", 64 * MIB, **labels),
                   sample("pair.exchange_wrong", 0, **labels)]
        of_job = [sample(f"nccl.{name}_busbw_gbps", 250.0, bytes=128 * MIB, nodes=1, ranks=2)
                  for name in ("alltoall", "allgather", "reducescatter")]
        for name in ("alltoall", "allgather", "reducescatter"):
            of_rank.append(sample(f"rank.{name}_wrong", 0, bytes=128 * MIB))
        return {"run": {"job": {"samples": of_job}, "nodes": [{"ranks": [{"rank": 0, "samples": of_rank}]}]}}

    def test_bus_bandwidth_out_of_place_is_read(self):
        self.assertEqual(traffic.read_nccl_tests(self.TEXT, 128 * MIB), 131.05)
        self.assertEqual(traffic.read_nccl_tests(self.TEXT, 64 * MIB), 111.81)

    def test_another_size_or_wrong_values_are_no_result(self):
        for text, size in ((self.TEXT, 32 * MIB), (self.TEXT.replace("111.81       0", "111.81      12"), 64 * MIB)):
            with self.assertRaises(ValueError):
                traffic.read_nccl_tests(text, size)

    def test_all_of_a_report_is_found(self):
        found = traffic.read_report(self.report())
        self.assertEqual(found["pair.exchange_gbps"], [265.0])
        self.assertEqual(found["nccl.alltoall_busbw_gbps"], [250.0])

    def test_a_report_with_less_or_wrong_values_is_refused(self):
        for metric, value in (("pair.exchange_wrong", 1), ("rank.alltoall_wrong", 2), ("pair.exchange_bytes", 32 * MIB),
                              ("pair.exchange_gbps", None)):
            report = self.report()
            next(each for each in report["run"]["nodes"][0]["ranks"][0]["samples"] if each["metric"] == metric)["value"] = value
            with self.assertRaises(ValueError):
                traffic.read_report(report)

    def test_ratios_have_bounds_on_both_sides(self):
        values = {name: [100.0, 101.0, 90.0] for name, _, _ in traffic.PAIRS}
        self.assertTrue(traffic.compare(values, values)[1])
        for factor, good in ((0.94, False), (0.96, True), (1.04, True), (1.06, False)):
            other = {**values, "nccl.alltoall_busbw_gbps": [100.0 / factor]}
            lines, within = traffic.compare(values, other)
            self.assertEqual(within, good)
            self.assertEqual([line for line in lines if line.startswith("FAIL")] == [], good)


class Findings(unittest.TestCase):
    def test_series_and_findings_are_counted(self):
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(said):
            folder = pathlib.Path(name)
            with gzip.open(folder / "gpu0-product.csv.gz", "wt") as file:
                file.write("t_ms,us\n" + "".join(f"{i},{300 if i % 10 == 0 else 100}\n" for i in range(160)))
            for number, status in enumerate(("pass", "warn", "fail")):
                for program in "new", "old":
                    (folder / f"{program}-2gpu-quick-{number}.json").write_text(
                        json.dumps({"findings": [{"check": "copy.h2d", "status": status}]}), encoding="utf-8")
            findings.show_series(folder)
            self.assertEqual(findings.show_runs(folder), 1)
        self.assertIn("| gpu0-product | 100 | 10.00% | 10.00% | 3.0 medians |", said.getvalue())
        for program in "new", "old":
            self.assertIn(f"| {program}-2gpu-quick | 1 of 3 (6.1 to 79.2 %) | 1 of 3 (6.1 to 79.2 %) | copy.h2d ", said.getvalue())


class Sanitise(unittest.TestCase):
    def test_nothing_of_the_host_remains(self):
        text = json.dumps(sanitise.sanitise(a_report()))
        for trace in ("host-17.example", UUID, UUID.lower(), "12345678-90ab", "9803", "/usr/lib", "777", "2026-11-21"):
            self.assertNotIn(trace, text)

    def test_the_same_text_becomes_the_same_substitute(self):
        fixture = sanitise.sanitise(a_report())
        rank = fixture["run"]["nodes"][0]["ranks"][0]
        note = next(each["value"] for each in rank["samples"] if each["metric"] == "rank.note")
        self.assertIn(rank["gpu_uuid"], note)
        self.assertIn("of gpu-1 and gpu-1, not host-170, see /opt/libcuda.so.1", note)
        self.assertEqual(fixture["run"]["nodes"][0]["name"], "gpu-1")

    def test_figures_and_structure_stay(self):
        before, after = a_report(), sanitise.sanitise(a_report())
        for report in (before, after):
            report["run"]["job"].update(id="1", started="")
            report["run"]["nodes"][0]["name"] = ""
            for metric in ("gpu.uuid", "rank.note", "port.gid"):
                set_value(report, metric, "")
            report["run"]["nodes"][0]["ranks"][0]["gpu_uuid"] = ""
        self.assertEqual(before, after)

    def test_the_report_itself_is_left_alone(self):
        report = a_report()
        kept = copy.deepcopy(report)
        sanitise.sanitise(report)
        self.assertEqual(report, kept)


if __name__ == "__main__":
    unittest.main()
