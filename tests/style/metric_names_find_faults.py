#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""metric_names.py sees each of these faults, and nothing in code that has none."""

import metric_names

NAMES = {"gpu.a_gbps", "gpu.b"}
CASES = (
    ("src/eval/x.c", 'find("gpu.b"); /* "gpu.a_gbps" */', 0, 1, 1),
    ("src/eval/derive_x.c", '{ "gpu.b", "B" }, { "gpu.a_gbps", "A" }', 0, 0, 2),
    ("src/probes/b.c", 'NUMBER("gpu.b")', 0, 0, 0),
    ("src/cli/x.c", 'print("gpu.bx"); print("gpu.b", "gpu.b");', 0, 2, 2),
    ("src/cli/x.c", 'print("gpu.b");' * 73, 1, 73, 73),
    ("src/eval/derive_x.c", '"gpu.b",' * 143, 1, 0, 143),
    ("src/model/x.c", '{ "gpu.b" }', 1, 1, 1),
    ("src/eval/x.c", 'strcmp(metric->unit, "GB/s") == 0', 1, 0, 0),
    ("src/eval/x.c", 'strcmp(\n\t\tunit, "GB/s")', 1, 0, 0),
    ("src/cli/x.c", 'strcmp(metric->unit, "GB/s") == 0', 0, 0, 0),
    ("src/report/x.c", 'strstr(metric->name, "_errors")', 1, 0, 0),
    ("src/report/x.c", 'strrchr(check->metric->name, \'_\')', 1, 0, 0),
    ("src/report/x.c", 'strncmp(note->metric->name, "node.xid_", 9)', 1, 0, 0),
    ("src/slurm/x.c", 'strncmp(tally->expected, "the same on all nodes", 20)', 1, 0, 0),
    ("src/report/x.c", 'strcmp(a->metric->name, b->metric->name); metric->unit == MUSTER_UNIT_NONE; f("a b c")', 0, 0, 0),
)

for path, text, faults, elsewhere, outside in CASES:
    found, *counts = metric_names.faults([(path, text)], NAMES)
    assert (len(found), *counts) == (faults, elsewhere, outside), (path, text, found, counts)
print(f"{len(CASES)} cases")
