"""A cluster of cluster.sh for one test, jobs on it, and what they must have left behind.

A file with tests holds functions test_NAME(cluster), and ends with main(globals()). One of them is run by
`FILE MUSTER NAME`. The file may say NODES and SKU of its clusters, the commands of muster that it NEEDS, and
options(muster) for cluster.sh up. Every wait has a deadline.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "slurm")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


class Failure(Exception):
    """The test has failed, with what was seen."""


def check(true, what, seen=""):
    if not true:
        raise Failure(f"{what}\n{seen}")


def check_equal(seen, wanted, what):
    check(seen == wanted, f"{what}: {wanted!r} is wanted, not {seen!r}")


class Job:
    """What Slurm says of a job that has ended, and the files that it left."""

    def __init__(self, folder, number, text):
        self.folder, self.number = folder, number
        self.fields = dict(re.findall(r"(\w+)=(\S*)", text))
        self.state = self.fields["JobState"]
        self.exit_code, self.signal = (int(part) for part in self.fields["ExitCode"].split(":"))
        times = [time.mktime(time.strptime(self.fields[key], "%Y-%m-%dT%H:%M:%S")) for key in ("StartTime", "EndTime")]
        self.seconds = times[1] - times[0]

    def path(self, ending):
        return os.path.join(self.folder, f"muster-{self.number}.{ending}")

    def read(self, ending):
        try:
            with open(self.path(ending), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError as error:
            raise Failure(f"{error}; there are {sorted(os.listdir(self.folder))}") from error

    def report(self):
        return json.loads(self.read("json"))

    def problems(self):
        """Of the report: (check, status, node) of every finding that is no pass and no skip."""
        return {(f["check"], f["status"], f["where"].get("node")) for f in self.report()["findings"]
                if f["status"] not in ("pass", "skip")}


class Cluster:
    def __init__(self, muster, nodes, sku):
        self.nodes, self.sku = nodes, sku
        self.rank_variable = "SLURM_PROCID"
        self.base = tempfile.mkdtemp(prefix="muster-slurm-")
        self.folder = os.path.join(self.base, "submit")
        os.mkdir(self.folder)
        self.environment = dict(os.environ, MUSTER_CLUSTER=os.path.join(self.base, "c"), MUSTER_PROGRAM=muster,
                                MUSTER_CLUSTER_LIFE="900", OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name in [name for name in self.environment if name.startswith(("SLURM_", "SBATCH_", "PMI"))]:
            del self.environment[name]

    def script(self, *words, seconds=60, **more):
        """cluster.sh; its words and exit code."""
        done = subprocess.run([os.path.join(HERE, "cluster.sh"), *words], env=dict(self.environment, **more),
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False)
        return done.returncode, done.stdout

    def up(self, *options):
        code, text = self.script("up", str(self.nodes), self.sku, *options)
        if code == 77:
            print(text, end="")
            sys.exit(77)
        check(code == 0, "the cluster did not come up", text)

    def down(self):
        self.script("down")
        shutil.rmtree(self.base, ignore_errors=True)

    def run(self, *words, seconds=90, **more):
        """A command on the login node, in the submit directory: its exit code, and its words."""
        return self.script("run", *words, seconds=seconds, **more)

    def ask(self, *words):
        code, text = self.run(*words)
        check(code == 0, f"{' '.join(words)} exits with {code}", text)
        return text.strip()

    def fault(self, *faults):
        check_equal(self.script("fault", *faults), (0, ""), "cluster.sh fault")

    def submit(self, *words, **more):
        """The number of a new job."""
        code, text = self.run("sbatch", "--parsable", *words, **more)
        check(code == 0 and text.strip().isdigit(), f"sbatch {' '.join(words)}", text)
        return int(text)

    def wait(self, number, seconds=90):
        """The job, when it has ended and its nodes have given up on it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.ask("scontrol", "show", "job", "-o", str(number))
            if re.search(r"JobState=(\S+)", text)[1] in ENDED:
                return Job(self.folder, number, text)
            time.sleep(0.3)
        raise Failure(f"job {number} does not end:\n{text}")

    def wait_for(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seen = condition()
            if seen:
                return seen
            time.sleep(0.2)
        raise Failure(f"never came true: {what}")

    def drained(self):
        """The reasons of the nodes that are drained."""
        seen = {}
        for text in self.ask("scontrol", "show", "node", "-o").splitlines():
            if "DRAIN" in re.search(r" State=(\S+)", text)[1]:
                seen[re.search(r"NodeName=(\S+)", text)[1]] = re.search(r" Reason=(.*?) \[", text)[1]
        return seen

    def supervisors(self, rank):
        """The process ids of `muster run` of this rank, here on the machine that the cluster is on."""
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as file:
                    words = file.read().split("\0")
                with open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace") as file:
                    variables = file.read().split("\0")
            except OSError:
                continue
            if words[1:2] == ["run"] and f"{self.rank_variable}={rank}" in variables and any(
                    variable == "SLURM_CONF=" + self.environment["MUSTER_CLUSTER"] + "/etc/slurm.conf"
                    for variable in variables):
                yield int(entry)

    def signal(self, rank, number):
        found = list(self.supervisors(rank))
        check_equal(len(found), 1, f"supervisors of rank {rank}")
        os.kill(found[0], number)

    def preflight_at(self, step, *words, options=(), **more):
        """A preflight that has come to this step; the number of its job."""
        number = self.submit("-N", str(self.nodes), *options, os.path.join(SCRIPTS, "preflight.sbatch"), *words,
                             **more)
        self.wait_for(f"the log says {step!r}", lambda: step in self.log(number), 30)
        return number

    def log(self, number):
        try:
            with open(os.path.join(self.folder, f"muster-{number}.log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def preflight(self, *words, options=(), seconds=90, **more):
        nodes = () if options else ("-N", str(self.nodes))
        return self.wait(self.submit(*nodes, *options, os.path.join(SCRIPTS, "preflight.sbatch"), *words, **more), seconds)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need_commands(muster, commands):
    for command in commands:
        if subprocess.run([muster, command, "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            skip(f"this muster has no command {command}")


def tell_crashes(cluster, muster):
    """Where a program was that left a core file."""
    for name in sorted(os.listdir(cluster.folder)):
        if name.split(".")[0] == "core" and shutil.which("gdb"):
            done = subprocess.run(["gdb", "-batch", "-ex", "thread apply all bt", muster, os.path.join(cluster.folder, name)],
                                  capture_output=True, text=True, timeout=60, check=False)
            print(f"-- {name}\n{done.stdout}")


def main(tests):
    _, muster, name = sys.argv
    need_commands(muster, tests.get("NEEDS", ()))
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    cluster = Cluster(os.path.abspath(muster), tests.get("NODES", 2), tests.get("SKU", "Standard_ND96asr_v4"))
    try:
        cluster.up(*(tests["options"](muster) if "options" in tests else ()))
        tests["test_" + name](cluster)
    except (Failure, LookupError, OSError, ValueError, subprocess.TimeoutExpired) as failure:
        print(f"{name}: {type(failure).__name__}: {failure}")
        for folder, _, files in os.walk(cluster.folder):
            for file in sorted(file for file in files if file.endswith(".log")):
                with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as log:
                    print(f"-- {file}\n{log.read()}")
        tell_crashes(cluster, muster)
        sys.exit(1)
    finally:
        cluster.down()
