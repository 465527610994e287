# SPDX-License-Identifier: Apache-2.0
"""docs/examples/: one report of 16 simulated nodes with six faults, and all forms that muster makes of it.

Usage: examples.py MUSTER SOURCE                the forms are those that this muster makes of report.json.gz
       examples.py MUSTER SOURCE --simulate     the cluster of cluster.json still has the findings of report.json.gz
       examples.py MUSTER SOURCE --write        make the forms and the picture anew
       examples.py MUSTER SOURCE --write-all    simulate, and make report and forms anew
"""
import difflib
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EXAMPLES = os.path.join(SOURCE, "docs/examples")
REPORT = os.path.join(EXAMPLES, "report.json.gz")
AGAIN = "make it anew: tests/docs/examples.py build/muster . --write"

# Each file, and the options of `muster report report.json` that print it.
FORMS = {
    "report.txt": (),
    "report.md": ("--format", "markdown"),
    "report.xml": ("--format", "junit"),
    "report.html": ("--format", "html"),
    "report.prom.gz": ("--format", "prometheus"),
    "inventory.txt": ("--inventory",),
    "inventory.md": ("--inventory", "--format", "markdown"),
}


def version():
    return subprocess.run([MUSTER, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def without_commit(text):
    """Files of examples name the release alone, so that they stay as they are from commit to commit."""
    return text.replace(version().encode(), version().partition("+")[0].encode())


def packed(text):
    return gzip.compress(text, 9, mtime=0)


def simulate():
    """The report of the cluster, as bytes; files of muster are where a package has them."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([MUSTER, "sim", "--scenario", os.path.join(EXAMPLES, "cluster.json"), "--report", "report.json", "--",
                               "--profile", "standard"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=280, check=False)
        if done.returncode != 1:
            sys.exit(f"muster sim exited with {done.returncode}, not with 1:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        with open(os.path.join(folder, "report.json"), "rb") as file:
            report = file.read()
    return without_commit(report).replace(os.path.dirname(MUSTER).encode(), b"/usr").replace(SOURCE.encode(), b"/usr/share/muster")


def make_forms():
    """{file: bytes} of all forms."""
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(REPORT, "rb") as packed_report, open(os.path.join(folder, "report.json"), "wb") as file:
            release = version().partition("+")[0]
            file.write(packed_report.read().replace(f'"muster": "{release}"'.encode(), f'"muster": "{version()}"'.encode()))
        for name, options in FORMS.items():
            done = subprocess.run([MUSTER, "report", "report.json", *options], cwd=folder, capture_output=True, timeout=60, check=False,
                                  env={**os.environ, "TZ": "UTC"})  # the page has the local time too
            if done.returncode != 0:
                sys.exit(f"{name}: muster report exited with {done.returncode}: {done.stderr.decode()}")
            made[name] = packed(without_commit(done.stdout)) if name.endswith(".gz") else without_commit(done.stdout)
    return made


def read(name):
    path = os.path.join(EXAMPLES, name)
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def write(name, content):
    with open(os.path.join(EXAMPLES, name), "wb") as file:
        file.write(content)


def compare_forms():
    wrong = 0
    for name, made in make_forms().items():
        if read(name) == made:
            continue
        wrong += 1
        texts = [gzip.decompress(text) if name.endswith(".gz") and text else text for text in (read(name), made)]
        lines = (text.decode("utf-8", "replace").splitlines() for text in texts)
        print(f"docs/examples/{name} is not what muster prints; {AGAIN}")
        print("\n".join(list(difflib.unified_diff(*lines, "docs", "now", lineterm="", n=0))[:20])[:4000])
    left = set(os.listdir(EXAMPLES)) - set(FORMS) - {"README.md", "cluster.json", "report.json.gz", "report.png"}
    if left:
        print(f"docs/examples/ has files that nothing makes: {sorted(left)}")
    return wrong + len(left)


# Measured only where the host launches in time, so not in every run.
NOT_ALWAYS = "collectives.jitter_network"


def findings_of(report):
    """What must stay the same from run to run. UUIDs are drawn for each simulation."""
    found = []
    for finding in json.loads(report)["findings"]:
        where = {key: finding["where"].get(key) for key in ("node", "gpu", "port")}
        kept = {key: finding.get(key) for key in ("status", "check", "observed", "expected")}
        kept["blocked"] = [check for check in finding.get("blocked", []) if check != NOT_ALWAYS]
        found.append(re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID", json.dumps([where, kept], sort_keys=True)))
    return sorted(found)


def compare_findings():
    with gzip.open(REPORT, "rb") as file:
        before = findings_of(file.read())
    now = findings_of(simulate())
    for line in difflib.unified_diff(before, now, "docs/examples/report.json.gz", "the cluster simulated now", lineterm="", n=0):
        print(line)
    if before != now:
        print("make all anew: tests/docs/examples.py build/muster . --write-all")
    return before != now


def main():
    mode = sys.argv[3] if len(sys.argv) > 3 else ""
    if mode == "--simulate":
        return compare_findings()
    if mode == "--write-all":
        write("report.json.gz", packed(simulate()))
    if mode in ("--write", "--write-all"):
        for name, made in make_forms().items():
            write(name, made)
        picture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "picture.py")
        return subprocess.run(["/usr/bin/python3", "-B", picture, SOURCE, "--write"], check=False).returncode
    return compare_forms()


sys.exit(main() != 0)
