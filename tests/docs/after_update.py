# SPDX-License-Identifier: Apache-2.0
"""The loop of docs/operations.md after a driver update, as the page prints it: of eight simulated nodes, each with a
report from before and one from after, it names the three that are worse by a fact, a warning and a speed.

usage: after_update.py MUSTER SOURCE
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

MUSTER, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
WORSE = {"gpu-4": "recovery-action@node1/gpu0=gpu-reset", "gpu-5": "governor@node1", "gpu-7": "h2d-slow@node1/gpu1=48"}


def measure(path, fault):
    """As `muster node --profile standard --repeat 5` on a node, whatever its verdict is."""
    subprocess.run([MUSTER, "sim", "--sku", "Standard_NC80adis_H100_v5", "--alone",
                    *(("--fault", fault) if fault else ()), "--report", path, "--", "--profile",
                    "standard", "--repeat", "5"], capture_output=True, timeout=100, check=False)


def main():
    with open(os.path.join(SOURCE, "docs/operations.md"), encoding="utf-8") as file:
        loop = re.search(r"^for report in after/\*\.json; do\n\tmuster diff .*?^done\n", file.read(), re.M | re.S)[0]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = []
        for when in ("before", "after"):
            os.mkdir(os.path.join(folder, when))
            for number in range(1, 9):
                name = f"gpu-{number}"
                runs.append(pool.submit(measure, os.path.join(folder, when, name + ".json"),
                                        WORSE.get(name) if when == "after" else None))
        for run in runs:
            run.result()
        os.symlink(MUSTER, os.path.join(folder, "muster"))
        done = subprocess.run(["sh", "-c", loop], cwd=folder, env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]},
                              capture_output=True, text=True, timeout=100, check=True)
        named = re.findall(r"^after/(.*)\.json: MUSTER DIFF WORSE worse=", done.stdout, re.M)
        if sorted(named) != sorted(WORSE) or len(done.stdout.splitlines()) != 3 or done.stderr:
            sys.exit(f"{done.stdout}{done.stderr}")


main()
