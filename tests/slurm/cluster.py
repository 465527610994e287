# SPDX-License-Identifier: Apache-2.0
"""A cluster of cluster.sh for a test, jobs on it, and what they must have left behind.

A file with tests holds functions test_NAME(cluster), and ends with main(globals()). One of them is run by
`FILE MUSTER NAME`. The file may say NODES and SKU of its clusters (nodes with two GPUs unless it does), the commands of muster
that it NEEDS, and options(muster) for cluster.sh up. Every wait has a deadline.

The tests of a file share a cluster (shared.py), whoever runs them. A test that cannot leave it as it was, for it loses a
node or ends a daemon, is marked @fresh and has one to itself.
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

import shared

HERE = os.path.dirname(os.path.abspath(__file__))
# Copies that take their time, so that a run is not over before it is ended; and the options that let them.
LONG, PATIENT = "cuda-slow@node1=cuStreamQuery#1:300s", ("--probe-deadline", "400", "--deadline", "500")
SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "slurm")
# Prints what Slurm says of job $1 when it has ended and its nodes have given up on it; of a heterogeneous job, when all its
# components have.
WAIT = """failed=0
while :; do
if ! text=$(scontrol show job -o "$1" 2>&1); then
failed=$((failed + 1))
[ "$failed" -lt 20 ] || { printf '%s' "$text"; exit 1; }
fi
case $text in
*JobState=PENDING*|*JobState=CONFIGURING*|*JobState=RUNNING*|*JobState=COMPLETING*) ;;
*JobState=COMPLETED*|*JobState=FAILED*|*JobState=CANCELLED*|*JobState=TIMEOUT*|*JobState=NODE_FAIL*|*JobState=OUT_OF_ME*)
printf '%s' "$text"; exit 0;;
esac
sleep 0.4
done"""


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
        times = [self.fields[key] for key in ("StartTime", "EndTime")]
        self.seconds = None  # of a job that never started
        if "Unknown" not in times:
            start, end = (time.mktime(time.strptime(each, "%Y-%m-%dT%H:%M:%S")) for each in times)
            self.seconds = end - start

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
    """In a home that others have too, one after the other, or in one of its own. The folders base and submit are the test's."""

    def __init__(self, muster, nodes, sku, home=None):
        self.nodes, self.sku = nodes, sku
        self.rank_variable = "SLURM_PROCID"
        self.is_shared, self.is_clean = home is not None, False
        self.home = home or tempfile.mkdtemp(prefix="muster-slurm-")
        self.lock = shared.hold(self.home)
        self.base = tempfile.mkdtemp(prefix="test-", dir=self.home)
        self.folder = os.path.join(self.base, "submit")
        os.mkdir(self.folder)
        self.environment = dict(os.environ, MUSTER_CLUSTER=os.path.join(self.home, "c"), MUSTER_CLUSTER_HOME=self.home,
                                MUSTER_PROGRAM=muster, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name in [name for name in self.environment if name.startswith(("SLURM_", "SBATCH_", "PMI", "TMPDIR"))]:
            del self.environment[name]

    def script(self, *words, seconds=180, **more):
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

    def get_ready(self, *options):
        """The cluster is up, and as new."""
        if not self.is_shared:
            self.up(*options)
        elif not shared.is_as_new(self):
            self.script("down")
            shutil.rmtree(os.path.join(self.home, "kept"), ignore_errors=True)
            self.up(*options)
            shared.keep(self)

    def leave(self):
        """Whoever shares this cluster finds it as this test did."""
        if self.is_shared:
            left = shared.leave(self)
            self.is_clean = not left
            if left and all(map(shared.is_of_step, left)):
                print(f"the next test gets a new cluster, for Slurm does not end {left}")  # seen once in some thousand steps
                return
            check(not left, "the next test would find what this one has left", left)

    def down(self):
        """For good, unless the next test can have it."""
        if self.is_clean:
            shutil.rmtree(self.base)
        else:
            self.script("down")
            shutil.rmtree(self.home, ignore_errors=True)
        os.close(self.lock)

    def run(self, *words, seconds=240, **more):
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

    def wait(self, number, seconds=240):
        """The job, when it has ended and its nodes have given up on it."""
        try:
            code, text = self.run("sh", "-c", WAIT, "wait", str(number), seconds=seconds)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"job {number} does not end:\n{self.ask('scontrol', 'show', 'job', str(number))}") from late
        check(code == 0, f"scontrol show job {number} exits with {code}", text)
        return Job(self.folder, number, text)

    def wait_for(self, what, condition, seconds=180):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            seen = condition()
            if seen:
                return seen
            time.sleep(0.5)
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
        self.wait_for(f"the log says {step!r}", lambda: step in self.log(number), 90)
        return number

    def log(self, number):
        try:
            with open(os.path.join(self.folder, f"muster-{number}.log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def preflight(self, *words, options=(), seconds=240, **more):
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


def fresh(test):
    """This test has a cluster to itself."""
    test.fresh = True
    return test


def main(tests):
    _, muster, name = sys.argv
    need_commands(muster, tests.get("NEEDS", ()))
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    test, nodes, sku = tests["test_" + name], tests.get("NODES", 2), tests.get("SKU", "Standard_NC80adis_H100_v5")
    muster, options = os.path.realpath(muster), tests["options"](muster) if "options" in tests else ()
    home = None if hasattr(test, "fresh") else shared.home_of(muster, sys.argv[0], nodes, sku, options)
    cluster = Cluster(muster, nodes, sku, home)
    try:
        cluster.get_ready(*options)
        test(cluster)
        cluster.leave()
    except (Failure, LookupError, OSError, ValueError, subprocess.TimeoutExpired) as failure:
        print(f"{name}: {type(failure).__name__}: {failure}")
        for folder, _, files in os.walk(cluster.folder):
            for file in sorted(file for file in files if file.endswith(".log")):
                with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as log:
                    print(f"-- {file}\n{log.read()}")
        print(cluster.script("logs")[1])
        tell_crashes(cluster, muster)
        sys.exit(1)
    finally:
        cluster.down()
