#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the metadata probe makes of every kind of service, asked by `muster run` with one rank.

usage: recognise_metadata.py MUSTER
"""

import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

MUSTER = os.path.abspath(sys.argv.pop(1))
KEYS = {"node.vm_size": "vmSize", "node.placement_group": "placementGroupId", "node.location": "location",
        "node.vm_id": "vmId", "node.resource_id": "resourceId"}
RIGHT = {"vmSize": "Standard_ND96asr_v4", "placementGroupId": "a-group", "location": "eastus", "vmId": "0-1-2",
         "resourceId": "/subscriptions/a/resourceGroups/b"}
LIMIT = 64 * 1024


def padded(size):
    """A right answer of exactly this many bytes."""
    empty = json.dumps({"compute": RIGHT, "pad": ""})
    return json.dumps({"compute": RIGHT, "pad": "x" * (size - len(empty))}).encode()


class Service(http.server.BaseHTTPRequestHandler):
    """Each path answers in a way of its own. `requests` keeps what was asked; `release` lets the slow one go on."""

    requests = []
    release = threading.Event()

    def do_GET(self):
        self.requests.append((self.path, dict(self.headers)))
        getattr(self, "answer_" + self.path.split("?")[0].strip("/"))()

    def reply(self, body, status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass  # it hung up on us, as it may

    def answer_right(self):
        self.reply(json.dumps({"compute": RIGHT, "network": {}}).encode())

    def answer_partial(self):
        self.reply(json.dumps({"compute": {"vmSize": "A" * 511, "placementGroupId": "", "location": 7}}).encode())

    def answer_long(self):
        self.reply(json.dumps({"compute": dict(RIGHT, vmSize="A" * 512)}).encode())

    def answer_control(self):
        self.reply(json.dumps({"compute": dict(RIGHT, vmSize="\x1b[2J", vmId="\u00e9")}).encode())

    def answer_fits(self):
        self.reply(padded(LIMIT))

    def answer_huge(self):
        self.reply(padded(LIMIT + 1))

    def answer_endless(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 4096)
        except OSError:
            pass

    def answer_garbage(self):
        self.reply(b"\x00\xff<html>")

    def answer_cut(self):
        self.reply(b'{"compute": {"vmSize": "Standard_')

    def answer_list(self):
        self.reply(b"[1]")

    def answer_other(self):
        self.reply(b'{"instance": {"vmSize": "x"}}')

    def answer_nothing(self):
        self.reply(b"")

    def answer_absent(self):
        self.reply(b"not here", 404)

    def answer_elsewhere(self):
        self.reply(b"", 302, Location="/right")

    def answer_slow(self):
        self.release.wait(60)

    def log_message(self, *_):
        pass


def metadata_of(report):
    """The samples of the probe, and how it ended."""
    [node] = report["run"]["nodes"]
    [rank] = node["ranks"]
    samples = {s["metric"]: s for s in node["samples"] if s["metric"] in KEYS}
    [outcome] = [o for o in rank["probes"] if o["probe"] == "metadata"]
    return samples, outcome


class Metadata(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        cls.server.daemon_threads = True
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.base = f"http://127.0.0.1:{cls.server.server_port}"

    @classmethod
    def tearDownClass(cls):
        Service.release.set()
        cls.server.shutdown()
        cls.server.server_close()

    def measure(self, url, **more):
        """Run muster on this machine, without a GPU, asking url."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "PMI", "OMPI"))}
        environment.update(MUSTER_METADATA_URL=url, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        environment.update(more)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "report.json")
            done = subprocess.run([MUSTER, "run", "--sku", "generic-nvidia", "--profile", "quick", "--report", path],
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=100)
            self.assertTrue(os.path.exists(path), done.stdout)
            self.text = done.stdout
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        samples, outcome = metadata_of(report)
        self.assertEqual(outcome["status"], "ok")
        self.assertEqual(set(samples), set(KEYS))
        findings = [f for f in report["findings"] if f["status"] != "skip" and f.get("metric") in KEYS]
        self.assertEqual(findings, [])
        return samples

    def assert_values(self, samples, values):
        self.assertEqual({KEYS[name]: sample["value"] for name, sample in samples.items()}, values)

    def assert_null(self, samples, reason):
        for sample in samples.values():
            self.assertIsNone(sample["value"])
            self.assertEqual(sample["reason"], reason)

    def test_a_right_answer_gives_all_four(self):
        Service.requests.clear()
        self.assert_values(self.measure(self.base + "/right?api-version=2021-02-01"), RIGHT)
        [(path, headers)] = Service.requests  # one request, by one process
        self.assertEqual(path, "/right?api-version=2021-02-01")
        self.assertEqual(headers.get("Metadata"), "true")

    def test_proxies_are_not_asked(self):
        proxy = "http://127.0.0.1:1"
        samples = self.measure(self.base + "/right", http_proxy=proxy, HTTP_PROXY=proxy, all_proxy=proxy,
                               ALL_PROXY=proxy)
        self.assert_values(samples, RIGHT)

    def test_each_fact_is_had_or_not_by_itself(self):
        samples = self.measure(self.base + "/partial")
        self.assert_values(samples, {"vmSize": "A" * 511, "placementGroupId": None, "location": None, "vmId": None,
                                      "resourceId": None})
        reasons = [samples[name].get("reason") for name in KEYS]
        self.assertEqual(reasons, [None, "metadata service: placementGroupId is empty",
                                   "metadata service: location is not a string", "metadata service: compute has no vmId",
                                   "metadata service: compute has no resourceId"])
        samples = self.measure(self.base + "/long")
        self.assert_values(samples, dict(RIGHT, vmSize=None))
        self.assertEqual(samples["node.vm_size"]["reason"], "metadata service: vmSize is longer than 511 bytes")

    def test_nothing_that_could_steer_a_terminal_is_taken(self):
        samples = self.measure(self.base + "/control")
        self.assert_values(samples, dict(RIGHT, vmSize=None, vmId=None))
        self.assertEqual(samples["node.vm_size"]["reason"], "metadata service: vmSize contains characters other than printable ASCII")

    def test_an_answer_may_have_64_kib_and_no_more(self):
        self.assert_values(self.measure(self.base + "/fits"), RIGHT)
        for path in "/huge", "/endless":
            self.assert_null(self.measure(self.base + path), "metadata service: the answer is longer than 65536 bytes")

    def test_garbage_is_no_answer(self):
        for path in "/garbage", "/cut", "/nothing":
            samples = self.measure(self.base + path)
            reason = samples["node.vm_size"]["reason"]
            self.assertTrue(reason.startswith("metadata service: the answer is not JSON: "), reason)
            self.assert_null(samples, reason)
        for path in "/list", "/other":
            self.assert_null(self.measure(self.base + path), 'metadata service: the answer has no object "compute"')

    def test_only_status_200_is_an_answer(self):
        self.assert_null(self.measure(self.base + "/absent"), "metadata service: the answer is HTTP status 404")
        Service.requests.clear()
        self.assert_null(self.measure(self.base + "/elsewhere"), "metadata service: the answer is HTTP status 302")
        self.assertEqual(len(Service.requests), 1)

    def test_a_slow_service_is_given_up(self):
        self.assert_null(self.measure(self.base + "/slow"), "metadata service: Timeout was reached")

    def test_a_service_that_never_says_anything_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            samples = self.measure(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        self.assert_null(samples, "metadata service: Timeout was reached")

    def test_no_service_is_a_quiet_null(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, and nobody listens
            samples = self.measure(f"http://127.0.0.1:{unused.getsockname()[1]}/")
        reason = samples["node.vm_size"]["reason"]
        self.assertRegex(reason, "^metadata service: Could(n't| not) connect to server$")
        self.assert_null(samples, reason)
        self.assertNotIn("metadata service", self.text)

    def test_an_empty_address_asks_nobody(self):
        self.assert_null(self.measure(""), "no request: MUSTER_METADATA_URL is empty")

    def test_a_file_can_answer_and_other_protocols_cannot(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"compute": RIGHT}, file)
            file.flush()
            self.assert_values(self.measure("file://" + file.name), RIGHT)
        for url in "ftp://127.0.0.1:1/", "gopher://127.0.0.1:1/", "telnet://127.0.0.1:1/":
            samples = self.measure(url)
            reason = samples["node.vm_size"]["reason"]
            self.assertRegex(reason, "^metadata service: Unsupported protocol$")
            self.assert_null(samples, reason)


if __name__ == "__main__":
    unittest.main()
