# SPDX-License-Identifier: Apache-2.0
"""What `muster report --format junit` writes, as an independent reader of such files sees it (python3-junitparser).

usage: junit_reader.py MUSTER WRITE_REPORTS
Exit status: 0 it sees what the report says, 1 not, 77 no reader here.
"""

import json
import os
import subprocess
import sys
import tempfile

try:
    import junitparser
except ImportError:
    print("skipped: python3-junitparser is not installed")
    sys.exit(77)

KINDS = {junitparser.Failure: "failures", junitparser.Error: "errors", junitparser.Skipped: "skipped"}


def compare(muster, path, folder):
    """What is wrong, one line each."""
    out = os.path.join(folder, "junit.xml")
    subprocess.run([muster, "report", path, "--format", "junit", "--output", out], check=True, timeout=60)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    suites = junitparser.JUnitXml.fromfile(out)
    problems, seen = [], dict.fromkeys(KINDS.values(), 0)
    for suite in suites:
        counted = dict.fromkeys(KINDS.values(), 0)
        for case in suite:
            if not case.name or not case.classname:
                problems.append(f"a case without a name in {suite.name}")
            for result in case.result:
                if type(result) in KINDS:
                    counted[KINDS[type(result)]] += 1
                    if not result.message:
                        problems.append(f"{case.name} does not say why")
        said = {kind: getattr(suite, kind) for kind in counted}
        if said != counted or suite.tests != len(list(suite)):
            problems.append(f"{suite.name} says {suite.tests} tests with {said}, and holds {len(list(suite))} with {counted}")
        for kind, count in counted.items():
            seen[kind] += count
    nodes = {node["name"] for node in report["run"]["nodes"]}
    if len(list(suites)) != len(nodes) + 1:
        problems.append(f"{len(list(suites))} suites for {len(nodes)} nodes and the job")
    statuses = {finding["status"] for finding in report["findings"]}
    for kind, words in (("failures", {"fail", "warn"}), ("errors", {"inconclusive"}), ("skipped", {"skip"})):
        if bool(seen[kind]) != bool(statuses & words):
            problems.append(f"{seen[kind]} {kind}, and findings that are {statuses}")
    return [f"{os.path.basename(path)}: {problem}" for problem in problems]


def main():
    muster, writer = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        subprocess.run([writer, folder], check=True, timeout=60)
        written = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        problems = [problem for path in written for problem in compare(muster, path, scratch)]
    for problem in problems:
        print(problem)
    print(f"{len(written)} reports read")
    return 1 if problems or not written else 0


sys.exit(main())
