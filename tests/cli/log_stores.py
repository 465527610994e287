#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/logs.md: tables, rules and queries of log stores have the fields that muster writes.

usage: log_stores.py MUSTER SOURCE
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MUSTER, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
DOCS = os.path.join(SOURCE, "docs")
SKU = "Standard_ND96asr_v4"
# by which type of a JSON value a column of this type is filled
COLUMNS = {"string": (str,), "int": (int,), "real": (int, float), "boolean": (bool,), "datetime": (str,)}
OF_AZURE = {"TimeGenerated", "Computer", "FilePath"}  # the agent's
KQL = {"Muster_CL", "where", "ago", "and", "summarize", "count", "arg_max", "by", "order", "asc", "desc", "isnotempty", "isnotnull",
       "countif", "min", "bin", "render", "timechart", "false"}
LOGQL = {"json", "line_format", "sum", "by", "count_over_time", "app"}


def read(*path):
    with open(os.path.join(DOCS, *path), encoding="utf-8") as file:
        return file.read()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", read("reference", "logs.md"), re.MULTILINE | re.DOTALL)


def words(text):
    """Identifiers, without texts in quotation marks and lengths of time."""
    return set(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r'"[^"]*"|\b\d+[a-z]\b', "", text)))


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The lines of a healthy run, of one with faults of a GPU and a port, and of one whose probe hangs."""
        cls.lines = []
        with tempfile.TemporaryDirectory() as scratch:
            for faults in ((), ("h2d-slow@node1/gpu1=11", "ib-down@node1/mlx5_ib3"), ("nccl-hang@rank1=init",)):
                options = [word for fault in faults for word in ("--fault", fault)]
                done = subprocess.run([MUSTER, "sim", "--sku", SKU, *options, "--", "--profile", "quick", "--log-format", "json",
                                       "--probe-deadline", "6"], capture_output=True, text=True, timeout=200, cwd=scratch, check=False,
                                      env=dict(os.environ, MUSTER_METADATA_URL=""))
                cls.lines += [json.loads(line) for line in done.stderr.splitlines()]
                cls.text = done.stderr
        cls.fields = {key for line in cls.lines for key in line}
        cls.columns = {column["name"]: column["type"] for column in
                       json.loads(read("logs", "azure-dcr.json"))["properties"]["streamDeclarations"]["Custom-Json-Muster"]["columns"]}

    def test_the_table_of_fields_is_complete(self):
        rows = re.findall(r"^\| (`.*?) \|", read("reference", "logs.md"), re.MULTILINE)
        listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(set(listed), self.fields)

    def test_columns_of_azure_are_the_fields(self):
        self.assertEqual(set(self.columns) - OF_AZURE, self.fields)
        for line in self.lines:
            for key, value in line.items():
                self.assertIn(type(value), COLUMNS[self.columns[key]], (key, line))
        table = json.loads(read("logs", "azure-table.json"))["properties"]["schema"]
        self.assertEqual({column["name"]: column["type"] for column in table["columns"]}, self.columns)

    def test_the_rule_of_azure_hangs_together(self):
        rule = json.loads(read("logs", "azure-dcr.json"))["properties"]
        table = json.loads(read("logs", "azure-table.json"))["properties"]["schema"]["name"]
        [source], [flow], [workspace] = rule["dataSources"]["logFiles"], rule["dataFlows"], rule["destinations"]["logAnalytics"]
        self.assertEqual((source["format"], source["streams"], flow["streams"]), ("json", list(rule["streamDeclarations"]), list(rule["streamDeclarations"])))
        self.assertEqual((flow["destinations"], flow["outputStream"]), ([workspace["name"]], "Custom-" + table))
        self.assertEqual(source["filePatterns"], ["/var/log/muster/muster.jsonl"])
        with open(os.path.join(SOURCE, "slurm", "muster.default"), encoding="utf-8") as file:
            self.assertIn("#MUSTER_JSON_LOG=" + source["filePatterns"][0] + "\n", file.read())
        for name in ("promtail.yml", "muster.alloy"):
            self.assertIn(source["filePatterns"][0], read("logs", name))

    def test_queries_name_columns(self):
        self.assertEqual((len(blocks("kusto")), len(blocks("logql"))), (3, 3))
        for query in blocks("kusto"):
            made = set(re.findall(r"(\w+) = ", query))
            self.assertEqual(words(query) - KQL - made - set(self.columns), set(), query)
        for query in blocks("logql"):
            self.assertEqual(words(query) - LOGQL - self.fields, set(), query)
            self.assertLessEqual(set(re.findall(r"\{\{\.(\w+)\}\}", query)), self.fields, query)
        for text in (read("logs", "promtail.yml"), read("logs", "muster.alloy")):
            extracted = set(re.findall(r"(\w+)(?::| =) \"?\1\b", text))
            self.assertEqual(extracted, {"time", "level", "node"})

    def test_queries_of_the_journal_find_the_lines(self):
        """As journalctl --output=json has them, beside a line that is no object."""
        entries = [json.dumps({"MESSAGE": text, "SYSLOG_IDENTIFIER": "muster"}) for text in [*map(json.dumps, self.lines), "no JSON"]]
        queries = re.findall(r"^journalctl --identifier=muster .* --output=json \| jq -r '(.*)'$", read("reference", "logs.md"), re.MULTILINE)
        self.assertEqual(len(queries), 2)
        found = [subprocess.run(["jq", "-r", query], input="\n".join(entries), capture_output=True, text=True, check=True, timeout=60)
                 .stdout.splitlines() for query in queries]
        self.assertEqual({tuple(line.split("\t")[1:3]) for line in found[0]} & {("sim-1", "copy.h2d"), ("sim-1", "ib.state")},
                         {("sim-1", "copy.h2d"), ("sim-1", "ib.state")})
        self.assertEqual([line.split("\t")[1:3] for line in found[1]][:2], [["sim-1", "pass"], ["sim-1", "fail"]])


unittest.main(argv=sys.argv[:1])
