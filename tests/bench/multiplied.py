"""A large report from a small one: each copy of its nodes has names and ranks of its own.

multiplied.py REPORT COPIES WRITTEN
"""

import gzip
import json
import re
import sys


def copies_of(node, nodes, ranks, copy):
    """The JSON text of a node of one copy: what it says of other nodes is said of those of the same copy."""
    text = re.sub(r"\bsim-(\d+)\b", lambda name: f"sim-{int(name[1]) + copy * nodes}", json.dumps(node))
    return re.sub(r'"rank": (\d+), "local_rank"', lambda rank: f'"rank": {int(rank[1]) + copy * ranks}, "local_rank"', text)


def write(path, copies, written):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        report = json.load(file)
    run = report["run"]
    nodes, ranks = run["nodes"], run["job"]["ranks"]
    run["job"]["ranks"] = ranks * copies
    run["nodes"] = []
    with open(written, "w", encoding="utf-8") as file:
        before, after = json.dumps({"schema_version": report["schema_version"], "sku": report["sku"], "run": run}).split('"nodes": []')
        file.write(before + '"nodes": [')
        for copy in range(copies):
            file.write(",\n".join([""] * (copy > 0) + [copies_of(node, len(nodes), ranks, copy) for node in nodes]))
        file.write("]" + after)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
