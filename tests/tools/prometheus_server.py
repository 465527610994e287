# SPDX-License-Identifier: Apache-2.0
"""A Prometheus with node_exporters, Debian's own programs, on free ports and in folders of their own."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

PROGRAMS = ("prometheus", "prometheus-node-exporter", "promtool")
STARTED_S = 60


def missing():
    """The programs that are not here."""
    return [name for name in PROGRAMS if not shutil.which(name)]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def get(address):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10) as answer:
        return answer.read().decode()


class Server:
    """folders: of textfile collectors, one node_exporter each; rules: files of rules."""

    def __init__(self, scratch, folders, rules=()):
        self.log = open(os.path.join(scratch, "prometheus.log"), "w", encoding="utf-8")
        ports = free_ports(1 + len(folders))
        self.address, self.exporters = f"127.0.0.1:{ports[0]}", [f"127.0.0.1:{port}" for port in ports[1:]]
        config = os.path.join(scratch, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": list(rules),
                       "scrape_configs": [{"job_name": "node", "static_configs": [{"targets": self.exporters}]}]}, file)
        commands = [["prometheus-node-exporter", f"--web.listen-address={address}", "--collector.disable-defaults",
                     "--collector.textfile", f"--collector.textfile.directory={folder}"]
                    for address, folder in zip(self.exporters, folders)]
        commands.append(["prometheus", f"--config.file={config}", f"--web.listen-address={self.address}",
                         f"--storage.tsdb.path={os.path.join(scratch, 'tsdb')}"])
        self.processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
                          for command in commands]

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)
        self.log.close()

    def page(self, index=0):
        """What Prometheus reads from a node_exporter."""
        return get(f"http://{self.exporters[index]}/metrics")

    def query(self, expression):
        """[(labels, value)]; ValueError, with Prometheus's words, for what is no query."""
        address = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            answer = json.loads(get(address))
        except urllib.error.HTTPError as error:
            raise ValueError(f"{expression}: {error.read().decode()}") from error
        return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]

    def wait_for(self, expression, seconds=STARTED_S):
        """Until the query finds something."""
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                found = self.query(expression)
                if found:
                    return found
            except (OSError, ValueError) as error:
                last = error
            time.sleep(0.2)
        raise AssertionError(f"Prometheus finds nothing for {expression}: {last}")
