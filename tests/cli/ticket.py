#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`muster ticket`: made-up reports, the table of docs/reference/ticket.md, a simulated node from the run to the body for Azure.

usage: ticket.py MUSTER SOURCE_DIRECTORY
"""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from made_reports import finding, save, simulated
from report_commands import MUSTER, Commands, bind, h2d

try:
    import jsonschema
except ImportError:
    jsonschema = None

SOURCE = sys.argv[2]
CATEGORY = "Resource.Hpc.Unhealthy."
NAMES = {"node.physical_host": "GGBB90904476", "node.vm_id": "0-1-2", "node.resource_id": "/subscriptions/acme/vm"}


def read(name):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as file:
        return file.read()


def rows():
    """(metric or check, label, value, category) of the table in docs/reference/ticket.md."""
    for line in re.findall(r"^\| (?:`|all others with).* \| (?:exact|near) \| .*$", read("reference/ticket.md"), re.M):
        names, label, category = (cell.strip() for cell in line.split("|")[1:4])
        key, values = re.fullmatch(r"(?:`(\w+)` )?(.*)", label).groups()
        for name in re.findall(r"`([^`]+)`", names):
            for value in values.split(", "):
                yield name, key, value, category.strip("`")


class Ticket(Commands):
    def ticket(self, path, *arguments, code=0):
        done = self.muster("ticket", path, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def bodies(self, path, node):
        printed = json.loads(self.ticket(path, "--node", node, "--format", "azure-ghr"))
        if jsonschema:
            jsonschema.Draft202012Validator(json.loads(read("ticket.schema.json"))).validate(printed)
        return [impact["properties"] for impact in printed["impacts"]]

    def categories(self, *findings):
        return [body["impactCategory"][len(CATEGORY):] for body in self.bodies(self.save(["n1", "n2"], findings), "n1")]

    def test_each_row_of_the_page_is_a_row_of_the_program(self):
        table = list(rows())
        self.assertGreater(len(table), 50)
        for name, key, value, category in table:
            one = finding("fail", "x", "n1", observed="o", proof="hard", action_code="replace-node")
            one["action_code" if "." not in name else "check" if name.startswith("probe.") else "metric"] = name
            one["where"]["labels"] = {key: value} if key else {"code": "13", "counter": "x"}
            self.assertEqual(self.categories(one), [category], (name, key, value))
        with open(os.path.join(SOURCE, "src", "report", "ticket.def"), encoding="utf-8") as file:
            program = re.findall(r'^ROW\("(\w+)", "([^"]+)", "(\w*)", "([^"]*)"\)', file.read(), re.M)
        self.assertEqual({(name, key or None, value, category) for category, names, key, values in program
                          for name in names.split() for value in values.split() or [""]}, set(table))

    def test_what_no_row_fits_is_the_generic_category(self):
        for metric in ("node.nvme_disks", "port.state", "gpu.throttled_share"):  # of Ethernet, by a power brake
            self.assertEqual(self.categories(finding("fail", "x", "n1", metric=metric)), ["HpcGenericFailure"])
        self.assertEqual(self.categories(finding("fail", "rank.missing", "n1")), ["HpcGenericFailure"])

    def test_what_the_support_desk_cannot_mend_is_no_part_of_a_ticket(self):
        setting = finding("fail", "gpu.ecc", "n1", metric="gpu.ecc", action_code="fix-settings", proof="hard")
        self.assertEqual(self.categories({**setting, "action_code": "reset-gpu"}, setting), ["HpcGenericFailure"])
        for code in ("none", "retry", "fix-launch", "restart-service"):
            path = self.save(["n1"], [setting, {**setting, "action_code": code}])
            self.assertEqual(self.ticket(path, "--node", "n1", code=2), "")
        text = self.ticket(self.save(["n1"], [{**h2d("n1"), "action_code": "replace-node", "proof": "soft"}]), "--node", "n1")
        self.assertIn("   action code: replace-node\n   proof: soft\n", text)
        self.assertNotIn("proof", self.ticket(self.save(["n1"], [h2d("n1")]), "--node", "n1"))  # of an older report

    def test_one_body_for_each_category(self):
        links = [finding("fail", "gpu.nvlinks", "n1", gpu=f"000{i}:00:00.0", metric="gpu.nvlinks") for i in (1, 2)]
        self.assertEqual(self.categories(h2d("n1"), *links, h2d("n1"), h2d("n2"), bind("n1")),
                         ["HpcGpuDcgmDiagFailure", "NvLink"])

    def test_a_node_without_a_failed_check_of_the_machine_is_one_line(self):
        path = self.save(["n1", "n2"], [h2d("n2"), bind("n1"), finding("inconclusive", "ib.state", "n1")])
        for arguments, said in ((("--node", "n1"), "no check of the machine failed on n1: nothing to report"),
                                (("--node", "n3"), 'the report has no node "n3"'), ((), "give the node: --node NAME"),
                                (("--node", "n2", "--format", "jira"), "text or azure-ghr is needed")):
            for more in ((), ("--format", "azure-ghr")) if "--format" not in arguments else ((),):
                done = self.muster("ticket", path, *arguments, *more)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)
                self.assertIn(said, done.stderr)
        done = self.muster("ticket", "none.json", "--node", "n1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_hostile_texts_do_nothing(self):
        one = finding("fail", "x", "n1", metric="gpu.name", observed="\x1b[2J\n7. n9", evidence='"}, "impacts": [')
        path = self.save(["n1"], [one])
        text = self.ticket(path, "--node", "n1")
        self.assertNotIn("\x1b", text)
        self.assertIn("   observed: \\x1b[2J\\n7. n9\n", text)
        self.assertEqual(len(self.bodies(path, "n1")), 1)

    def test_from_the_run_to_the_body(self):
        """What the node measured of itself, what is unknown, and that an anonymous report has no name of it."""
        value = simulated(MUSTER, "Standard_NC80adis_H100_v5", "--nodes", "2", "--fault", "inforom-bad@node2/gpu1", "--fault",
                          "h2d-slow@node2/gpu1=11")
        [body, other] = self.bodies(save(self.folder, "run.json", value), "sim-2")
        self.assertEqual({one["impactCategory"][len(CATEGORY):] for one in (body, other)},
                         {"HpcInforomCorruption", "HpcGpuDcgmDiagFailure"})
        samples = value["run"]["nodes"][1]["samples"]
        [gpu] = {one["where"]["gpu"] for one in value["findings"] if one["status"] == "fail"}
        serial = [one["value"] for rank in value["run"]["nodes"][1]["ranks"] for one in rank["samples"]
                  if one["metric"] == "gpu.serial" and one["labels"]["gpu"] == gpu]
        self.assertEqual(body["additionalProperties"]["PhysicalHostName"], "SIMHOST2")
        self.assertEqual([body["additionalProperties"][key] for key in ("SerialNumber", "Location")], [*serial, gpu])
        self.assertEqual(body["startDateTime"], value["run"]["job"]["started"])
        self.assertIn("SIMULATED", self.ticket("run.json", "--node", "sim-2"))
        for one in samples:
            one["value"] = NAMES.get(one["metric"], one["value"])
        path = save(self.folder, "named.json", value)
        self.assertIn("physical host: GGBB90904476\n", self.ticket(path, "--node", "sim-2"))
        anonymous = os.path.join(self.folder, "anonymous.json")
        self.muster("report", path, "--anonymous", "--format", "json", "--output", anonymous)
        text = self.ticket(anonymous, "--node", "node-2")
        self.assertIn("physical host: host-2\n", text)
        text += self.ticket(anonymous, "--node", "node-2", "--format", "azure-ghr")
        for name in (*NAMES.values(), *serial, "sim-2", "SIMHOST"):
            self.assertNotIn(name, text)
        value["run"]["nodes"][1]["samples"] = [one for one in samples if one["metric"] not in NAMES]
        [body, _] = self.bodies(save(self.folder, "old.json", value), "sim-2")
        self.assertEqual((body["impactedResourceId"], body["additionalProperties"]["PhysicalHostName"]), (None, None))
        self.assertNotIn("VmUniqueId", body["additionalProperties"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
