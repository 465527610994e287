# SPDX-License-Identifier: Apache-2.0
"""A large report from a small one of simulated nodes: each copy of a node has a name, ranks and measured numbers of its own.

multiplied.py REPORT COPIES WRITTEN
"""

import gzip
import json
import random
import re
import sys


def copy_of(node, nodes, ranks, copy):
    """The JSON text of a node of one copy. What it says of other nodes is said of those of the same copy."""
    factor = random.uniform(0.99, 1.01)
    text = re.sub(r"\bsim-(\d+)\b", lambda name: f"sim-{int(name[1]) + copy * nodes}", json.dumps(node))
    text = re.sub(r'"rank": (\d+), "local_rank"', lambda rank: f'"rank": {int(rank[1]) + copy * ranks}, "local_rank"', text)
    return re.sub(r"\b\d+\.\d{6,}\b", lambda number: repr(float(number[0]) * factor), text)


def write(path, copies, written):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        report = json.load(file)
    run = report["run"]
    nodes, ranks, run["nodes"] = run["nodes"], run["job"]["ranks"], []
    run["job"]["ranks"] = ranks * copies
    frame = json.dumps({"schema_version": report["schema_version"], "sku": report["sku"], "run": run})
    before, after = frame.split('"nodes": []')
    random.seed(1)
    with open(written, "w", encoding="utf-8") as file:
        file.write(before + '"nodes": [')
        for copy in range(copies):
            for i, node in enumerate(nodes):
                file.write((",\n" if copy + i > 0 else "") + copy_of(node, len(nodes), ranks, copy))
        file.write("]" + after)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
