#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prometheus reads what muster writes, and the alerts and the dashboard of docs/prometheus/ ask for what is there.

usage: prometheus.py MUSTER WRITE_REPORTS SOURCE
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import prometheus_server

MUSTER, WRITER, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
DOCS = os.path.join(SOURCE, "docs", "prometheus")
SKU = "Standard_NC40ads_H100_v5"
HOSTILE = 'a"} 1\nmuster_run_simulated 7 \\ \x1b[31m\u202e'


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=200, check=False,
                          env=dict(os.environ, MUSTER_METADATA_URL="", **more))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def names(text):
    """Names of our metrics in a query, a help text or a page."""
    return set(re.findall(r"\bmuster_[a-z0-9_]*[a-z0-9]\b", text))


def types(page):
    return re.findall(r"^# TYPE (\S+) gauge$", page, re.MULTILINE)


def dashboard_queries():
    """Of all panels, for all nodes, as Grafana would send them."""
    for panel in json.loads(read(DOCS, "grafana-dashboard.json"))["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$instance", ".*")


class Prometheus(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.folder = cls.directory.name
        subprocess.run([WRITER, cls.folder], check=True, timeout=60)
        # every metric of the catalogue, and no error counter that is 0
        with open(os.path.join(cls.folder, "pass.json"), encoding="utf-8") as file:
            cls.report = json.load(file)
        cls.report["run"]["nodes"][0]["name"] = HOSTILE
        for place in cls.report["run"]["nodes"] + [rank for node in cls.report["run"]["nodes"] for rank in node["ranks"]]:
            for sample in place["samples"]:
                if "errors" in sample["metric"] or sample["metric"].startswith("port.counter"):
                    sample["value"] = sample["value"] or 1
        cls.path = os.path.join(cls.folder, "all.json")
        with open(cls.path, "w", encoding="utf-8") as file:
            json.dump(cls.report, file)
        cls.page = run(MUSTER, "report", cls.path, "--format", "prometheus").stdout

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def empty(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        os.chmod(folder, 0o755)
        return folder

    def test_promtool_has_nothing_to_say(self):
        catalogue = json.loads(run(MUSTER, "metrics", "--format", "json").stdout)
        facts = {"rank." + name for name in ("cpu_numa_nodes", "cpus", "gpu_numa_node", "gpu_sharers", "local_rank", "mpi_as_slurm",
                                             "mpi_size", "nccl_gdr", "nccl_nvls", "settings_left_out", "slurm_localid", "slurm_ntasks",
                                             "slurm_procid", "visible_gpus")}
        shown = [metric["name"] for metric in catalogue if metric["type"] != "string" and metric["name"] not in facts]
        self.assertGreater(len(types(self.page)), len(shown), "a metric of the catalogue is not there")
        pages = [self.page]
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".json"):
                pages.append(run(MUSTER, "report", os.path.join(self.folder, name), "--format", "prometheus").stdout)
        for page in pages:
            done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_rules_are_right_and_fire(self):
        for what in ("check", "test"):
            path = os.path.join(DOCS, "alerts.yml" if what == "check" else "alerts-test.yml")
            done = run("promtool", what, "rules", path)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        alerts = set(re.findall(r"alert: (\w+)", read(DOCS, "alerts.yml")))
        tested = set(re.findall(r"alertname: (\w+)\n +exp_alerts", read(DOCS, "alerts-test.yml")))
        self.assertEqual(alerts, tested, "alerts, and alerts that a test has seen")

    def test_queries_name_what_is_there(self):
        with gzip.open(os.path.join(SOURCE, "docs", "examples", "report.prom.gz"), "rt") as file:  # nodes with an action code
            written = set(types(self.page)) | set(types(file.read()))
        recorded = set(re.findall(r"record: (\S+)", read(DOCS, "alerts.yml")))
        self.assertTrue(recorded)
        page = read(SOURCE, "docs", "reference", "prometheus.md")
        for where, text in [*dashboard_queries(), ("alerts.yml", re.sub(r"#.*", "", read(DOCS, "alerts.yml"))), ("prometheus.md", page)]:
            for name in names(text):
                self.assertIn(name, written, where)

    def test_a_dashboard_can_be_imported(self):
        board = json.loads(read(DOCS, "grafana-dashboard.json"))
        self.assertEqual([board["title"], board["uid"]], ["Muster", "muster"])
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in board["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
            references = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(references), len(set(references)), panel["title"])
        variables = {variable["name"] for variable in board["templating"]["list"]}
        self.assertLessEqual(set(re.findall(r"\$\{?(\w+)\}?", json.dumps(board["panels"]))), variables)

    def test_a_real_prometheus_answers(self):
        if prometheus_server.missing():
            self.skipTest(f"no {prometheus_server.missing()}")
        textfiles = self.empty()
        self.assertEqual(run(MUSTER, "report", self.path, "--textfile", textfiles).stderr, "")
        server = prometheus_server.Server(self.empty(), [textfiles], [os.path.join(DOCS, "alerts.yml")])
        self.addCleanup(server.close)
        found = server.wait_for("muster_node_failed")
        self.assertEqual({labels["node"] for labels, _ in found}, {HOSTILE.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e"), "sim-2"})
        self.assertEqual([value for _, value in server.query("muster_run_simulated")], [1])
        self.assertEqual([value for _, value in server.query("node_textfile_scrape_error")], [0])
        [(_, speed)] = server.query('muster_gpu_h2d_bytes_per_second{node="sim-2",gpu="0001:00:00.0"}')
        value = next(sample["value"] for rank in self.report["run"]["nodes"][1]["ranks"] for sample in rank["samples"]
                     if sample["metric"] == "gpu.h2d_gbps" and sample["labels"]["gpu"] == "0001:00:00.0")
        self.assertAlmostEqual(speed, value * 1e9, delta=1)
        for title, query in dashboard_queries():
            self.assertTrue(server.query(query), f"{title}: nothing for {query}")
        [queries] = re.findall(r"```promql\n(.*?)```", read(SOURCE, "docs", "monitoring.md"), re.DOTALL)
        for query in re.sub(r" +#.*", "", queries).splitlines():
            self.assertTrue(server.query(query), query)
        server.wait_for('ALERTS{alertname="MusterNodeFailed",node="sim-2"}')

    def test_the_textfile_of_a_run(self):
        textfiles = self.empty()
        report = os.path.join(self.empty(), "report.json")
        done = run(MUSTER, "sim", "--sku", SKU, "--report", report, "--fault", "h2d-slow@node1/gpu0=11", "--", "--profile", "quick",
                   "--textfile", textfiles)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(os.listdir(textfiles), ["muster.prom"])
        self.assertEqual(read(textfiles, "muster.prom"), run(MUSTER, "report", report, "--format", "prometheus").stdout)
        self.assertIn('muster_findings{node="sim-1",check="copy.h2d",status="fail",action_code="replace-node"} 1\n', read(textfiles, "muster.prom"))

    def test_a_directory_that_cannot_take_it_is_said_before_anything_is_measured(self):
        for command in ("run", "node"):
            done = run(MUSTER, command, "--textfile", os.path.join(self.folder, "none"), "--report", "-")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Amuster: --textfile \S+/none: No such file or directory\n\Z")
        fifos = self.empty()
        os.mkfifo(os.path.join(fifos, "muster.prom"))
        done = run(MUSTER, "report", self.path, "--textfile", fifos)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"\Amuster: \S+/muster.prom: not a regular file\n\Z")

    def test_textfile_has_a_form_of_its_own(self):
        for more in (["--format", "json"], ["--output", "x"], ["--inventory"]):
            done = run(MUSTER, "report", self.path, "--textfile", self.folder, *more)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
            self.assertIn("without --format, --inventory and --output", done.stderr)


if not prometheus_server.shutil.which("promtool"):
    print("no promtool here (Debian's package prometheus)")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
