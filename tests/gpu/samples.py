# SPDX-License-Identifier: Apache-2.0
"""Reading samples out of a muster report."""
import json


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def holders(report):
    """Everything that carries samples: the job, nodes, ranks."""
    run = report["run"]
    yield run["job"]
    for node in run["nodes"]:
        yield node
        yield from node.get("ranks", [])


def samples(report, metric):
    """All samples of a metric, in the report's order."""
    for holder in holders(report):
        for sample in holder.get("samples", []):
            if sample["metric"] == metric:
                yield sample


def values(report, metric, label=None):
    """{label's value: value}; without a label, the list of values."""
    if label is None:
        return [sample["value"] for sample in samples(report, metric)]
    return {sample["labels"][label]: sample["value"] for sample in samples(report, metric)}
