# SPDX-License-Identifier: Apache-2.0
"""Turn a report of a real host into a fixture: usage: sanitise.py REPORT > FIXTURE

Host names become gpu-1, gpu-2 ...; GPU UUIDs, RDMA GUIDs, GIDs and LIDs are numbered; paths keep only their last part;
the job's id and start are fixed. The same text becomes the same substitute everywhere, also inside sentences, so that
checks across ranks and nodes come out as before.
"""
import json
import re
import sys

from samples import load

UUID = re.compile(r"\b(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
UUID_FORM = "-00000000-0000-0000-0000-{:012d}"
PATH = re.compile(r"(?<![\w.])/(?!sys/|proc/|dev/|etc/)(?:[^\s/:;,\"']+/)+([^\s/:;,\"']+)")
ADDRESSES = {
    "port.gid": "fe80:0000:0000:0000:0000:0000:0000:{:04x}",
    "port.guid": "0000:0000:0000:{:04x}",
    "port.lid": "{}",
}


class Substitutes:
    """New texts for old ones, numbered in the order in which they are met."""

    def __init__(self):
        self.known = {}

    def of(self, kind, text, form):
        return self.known.setdefault((kind, text), form.format(1 + sum(1 for other, _ in self.known if other == kind)))


def sanitise(report):
    known = Substitutes()
    names = [node["name"] for node in report["run"]["nodes"]]
    hosts = {}
    for name in names:
        hosts[name] = known.of("host", name, "gpu-{}")
        hosts.setdefault(name.split(".")[0], hosts[name])
    longest_first = sorted(hosts, key=len, reverse=True)
    host = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in longest_first))

    def text(old):
        new = UUID.sub(lambda found: known.of("uuid", found.group(0).lower(), found.group(1) + UUID_FORM), old)
        new = PATH.sub(r"/opt/\1", new)
        return host.sub(lambda found: hosts[found.group(0)], new) if hosts else new

    def clean(value):
        if isinstance(value, dict):
            if value.get("metric") in ADDRESSES and value.get("value") is not None:
                value = dict(value, value=address(value["metric"], value["value"]))
            return {key: clean(member) for key, member in value.items()}
        if isinstance(value, list):
            return [clean(element) for element in value]
        return text(value) if isinstance(value, str) else value

    def address(metric, old):
        new = known.of(metric, old, ADDRESSES[metric])
        return new if isinstance(old, str) else int(new)

    fixture = clean(report)
    job = fixture["run"]["job"]
    if "started" in job:
        job["started"] = "2026-01-01T00:00:00Z"
    if "id" in job:
        job["id"] = "1"
    return fixture


def main(path):
    json.dump(sanitise(load(path)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
