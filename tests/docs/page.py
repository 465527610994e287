# SPDX-License-Identifier: Apache-2.0
"""The commands of one page of the documentation are run as they stand there, and print what the page says.

Usage: page.py MUSTER SOURCE PAGE          (PAGE as docs/report.md)
       page.py MUSTER SOURCE PAGE --show   print what each block prints

A block ```sh holds commands; a block ```text right after it shows their whole output, or parts of it: a line "…" is any
number of lines. Numbers that are times, and the version, may be others. Commands run in a folder of their own, with
stand-ins for muster, srun, sbatch and mpirun first in PATH (bin/): `muster node` and `muster run` measure simulated nodes.
The commands of Slurm that name nodes are those of tests/tools/fake_slurm.py. Exit codes 0, 1 and 3 are verdicts;
any other one is a mistake of the page. As root, files outside of the folder are written into temporary file systems.

NOT_RUN names the blocks that cannot be run here, with the reason. Their options are checked by options.py all the same.
"""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

MUSTER, SOURCE, PAGE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
HERE = os.path.dirname(os.path.abspath(__file__))

# The first line of a block: why it is not run.
NOT_RUN = {
    "README.md": {
        "sh src/setup.sh run": "installs packages of the distribution and builds",
        "cmake -S . -B build": "builds; this test runs from a build",
    },
    "docs/containers.md": {
        "exec apptainer": "the text of a script, for Apptainer",
        "exec bwrap": "the text of a script, for an unpacked image",
        "podman run": "needs podman and the container runtime of NVIDIA",
    },
    "docs/contributing.md": {"sh src/setup.sh run": "installs packages of the distribution, builds, and runs tests",
                             "ninja -C build": "builds, and runs tests"},
    "docs/golden-image.md": {"set -e": "tests/cli/golden_image.py runs it, with a machine that is a folder"},
    "docs/install.md": {
        "cmake -S . -B build": "builds; tests/install/packages.sh makes and installs the packages",
        "apt-get install ./muster": "tests/install/packages.sh",
        "apt-get install patchelf": "tests/install/portable.sh",
        "tar -C /opt": "tests/install/portable.sh",
        "mkdir -p debs": "needs a second machine without a network",
        "mkdir -p slurm/cyclecloud": "needs CycleCloud",
        "sh src/setup.sh run": "installs packages of the distribution and builds",
        ". /opt/muster": "tests/cli/completion.py",
    },
    "docs/reference/logs.md": {
        "az rest": "needs an Azure subscription",
        "az monitor": "needs an Azure subscription",
        "systemd-cat": "needs a journal",
        "journalctl": "needs a journal; tests/cli/log_stores.py runs the filters of jq",
    },
    "docs/jobs.md": {"srun --nodes=4": "needs folders that nodes share; tests/cli/checkpoint.py and paths.py use these options"},
    "docs/reference/storage.md": {"srun": "needs folders that nodes share; tests/cli/checkpoint.py, broadcast.py and paths.py use these options"},
    "docs/slurm.md": {"install -D": "writes into /etc; tests/slurm/node.py installs the scripts"},
    "docs/reference/ticket.md": {"jq -c": "needs an Azure subscription"},
    "docs/dev/aarch64.md": {
        "sh tests/arm64/run.sh": "a part of .ci/run",
        "sh tests/arm64/sysroot.sh": "downloads packages for aarch64",
    },
    "docs/dev/fuzzing.md": {"tests/fuzz/run.sh": "needs hours"},
    "docs/dev/simulation.md": {
        "muster sim --sku Standard_ND96asr_v4 --nodes 2 --fault 'dies@rank5=nccl": "waits for a deadline of 30 s",
        "muster sim --sku Standard_ND96asr_v4 --fault cuda-slow": "waits for a deadline of 30 s",
        "tests/slurm/cluster.sh": "starts a Slurm; the tests in tests/slurm do",
        "export QEMU_LD_PREFIX": "a part of tests/arm64/run.sh",
        "tests/scenarios/valgrind.py": "needs minutes; ctest runs small cases",
    },
}
# What a page needs: the machine type of its nodes, faults of them, and files.
SETTINGS = {
}
SITE = {"checks": {"copy.h2d": {"min": 22, "source": "our acceptance test, March"}}}
IMAGE = {"checks": {"image.driver": {"metric": "node.driver_version", "one_of": ["580.*"], "source": "release notes"}}}
# Where a page may write besides its folder.
ELSEWHERE = ("/etc/default", "/etc/slurm", "/opt", "/usr/local", "/var/lib", "/var/log", "/shared")

BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```\n(?:\n? *```text\n(.*?)^ *```\n)?", re.M | re.S)
# Numbers of time, as they stand in outputs.
VARY = ((re.compile(r"\b\d+(\.\d+)? (s|ms|min|h)\b"), r"N \2"), (re.compile(r"\b47\d\d\b"), "JOB"),
        (re.compile(r"\bmuster \d+\.\d+\.\d+(\+g[0-9a-f]+(\.dirty)?)?"), "muster VERSION"),
        (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?)?"), "DATE"))


def blocks():
    with open(os.path.join(SOURCE, PAGE), encoding="utf-8") as file:
        return [(textwrap.dedent(match[1]), match[2] and textwrap.dedent(match[2])) for match in BLOCK.finditer(file.read())]


def reason_not_to_run(commands):
    for start, reason in NOT_RUN.get(PAGE, {}).items():
        if commands.startswith(start):
            return reason
    return None


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def prepare(folder):
    """The files that pages take as given, and the environment of their commands."""
    here, tools, slurm = (os.path.join(folder, name) for name in ("here", "tools", "slurm"))
    for path in (here, tools, slurm, os.path.join(folder, "home")):
        os.mkdir(path)
    for name in os.listdir(os.path.join(HERE, "bin")):
        os.symlink(os.path.join(HERE, "bin", name), os.path.join(tools, name))
    for name in ("squeue", "sinfo", "sacct"):
        os.symlink(os.path.join(SOURCE, "tests/tools/fake_slurm.py"), os.path.join(tools, name))
    os.symlink(os.path.join(SOURCE, "tests/tools/fake_slurm.py"), os.path.join(slurm, "scontrol"))
    nodes = [f"{cluster}-{number}" for cluster in ("sim", "gpu") for number in range(1, 17)]
    write(os.path.join(slurm, "nodes.json"), json.dumps({name: {"state": "IDLE", "reason": ""} for name in nodes}))
    with gzip.open(os.path.join(SOURCE, "docs/examples/report.json.gz"), "rb") as file:
        report = file.read()
    for name in ("muster-report.json", "report.json", "before.json", "after.json", "muster-4711.json"):
        with open(os.path.join(here, name), "wb") as file:
            file.write(report)
        os.chmod(file.name, 0o600)
    for name, overlay in (("site.json", SITE), ("image.json", IMAGE)):
        write(os.path.join(here, name), json.dumps(overlay))
    for name in ("train.sh", "train.sbatch", "job.sh", "train.py"):
        write(os.path.join(here, name), "#!/bin/sh\necho training\n", 0o755)
    for name in ("src", "docs", "configs", "tests", "CMakeLists.txt", "LICENSE"):
        os.symlink(os.path.join(SOURCE, name), os.path.join(here, name))
    shutil.copytree(os.path.join(SOURCE, "slurm"), os.path.join(here, "slurm"))
    for name in ("preflight.sbatch", "train-with-preflight.sbatch"):
        os.symlink(os.path.join("slurm", name), os.path.join(here, name))
    os.mkdir(os.path.join(here, "build"))
    os.symlink(os.path.join(HERE, "bin/muster"), os.path.join(here, "build/muster"))
    settings = dict({"DOCS_SKU": "Standard_NC40ads_H100_v5"}, **SETTINGS.get(PAGE, {}))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "MUSTER", "XDG"))}
    return here, dict(kept, PATH=f"{tools}:{kept['PATH']}", DOCS_PATH=kept["PATH"], HOME=os.path.join(folder, "home"), DOCS_MUSTER=MUSTER,
                      FAKE_SLURM=slurm, SLURM_JOB_ID="4711", **settings)


def shielded():
    """A prefix that gives commands empty folders in place of those of ELSEWHERE; none if this is not possible."""
    if os.getuid() != 0:
        return []
    script = "set -e; for place; do mkdir -p \"$place\"; mount -t tmpfs docs \"$place\"; done"
    there = [place for place in ELSEWHERE if os.path.isdir(place) and not MUSTER.startswith(place)]
    prefix = ["unshare", "--mount", "sh", "-c", script + "; exec bash -s", "sh", *there]
    done = subprocess.run(prefix, input="true", capture_output=True, text=True, check=False)
    return prefix if done.returncode == 0 else []


# Exit codes of a block's commands that are no verdict end it; 141 is a pipe into head.
HEAD = """set -u -o pipefail
trap 'code=$?; case $code in 0|1|3|141) ;; *) echo "exit code $code: $BASH_COMMAND" >&2; exit 99;; esac' ERR
"""


def run_all(here, environment):
    """Each block with what it printed, all in one shell, so that variables and folders stay."""
    script = [HEAD]
    ran = []
    for number, (commands, shown) in enumerate(blocks()):
        reason = reason_not_to_run(commands)
        if reason:
            print(f"not run: {reason}:\n  " + commands.strip().replace("\n", "\n  "))
            continue
        script.append(f"exec >{here}.{number}.out 2>{here}.{number}.err\n{commands}")
        ran.append((number, commands, shown))
    code = 0
    if ran:
        code = subprocess.run([*(shielded() or ["bash", "-s"])], input="\n".join(script) + "\nexit 0\n", cwd=here, env=environment,
                              text=True, timeout=280, check=False).returncode
    results = []
    for number, commands, shown in ran:
        texts = []
        for kind in ("out", "err"):
            path = f"{here}.{number}.{kind}"
            texts.append(open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else None)
        results.append((commands, shown, *texts))
    return code, results


def plain(text):
    for pattern, word in VARY:
        text = pattern.sub(word, text)
    return [re.sub(r"[ -]+", " ", line).rstrip() for line in text.splitlines()]


def matches(shown, printed):
    """Whether the lines shown, of which "…" is any number of lines, are those printed."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(matches(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        here, environment = prepare(folder)
        code, results = run_all(here, environment)
        for commands, shown, out, err in results:
            wrong = None
            if out is None:
                wrong = "was not reached"
            elif re.search(r"^exit code \d+: |^Traceback ", err, re.M):
                wrong = "failed"
            elif shown is not None and not matches(plain(shown), plain(out)):
                wrong = "printed something else than the page shows"
            if wrong or "--show" in sys.argv:
                print(f"{PAGE}: {wrong or 'ran'}:\n{commands}--- printed ---\n{out}--- errors ---\n{err}---")
            failed += wrong is not None
        if code != 0 and not failed:
            print(f"{PAGE}: the commands ended with {code}")
            failed = 1
    for start in NOT_RUN.get(PAGE, {}):
        if not any(commands.startswith(start) for commands, _ in blocks()):
            print(f"{PAGE}: no block begins with \"{start}\"; NOT_RUN is out of date")
            failed += 1
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
