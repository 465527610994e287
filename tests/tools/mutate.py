#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What are the tests worth? Change one thing in the product, and see whether a test fails.

usage: mutate.py --build FOLDER [--tests REGEX] [--label REGEX] [--files NAME=GLOB[,GLOB...]]... [--count N] [--seed N]
       mutate.py --build FOLDER --only ID...          these mutants again, each with its change
       mutate.py --build FOLDER --replay RESULTS.json  those that survived an earlier run, again; --sanitize builds with
                                                      AddressSanitizer: what reads past an end dies then
       mutate.py --list [--files ...]                 every mutant there is; builds nothing

A mutant is one change of one place: an operator, a constant, a condition (negated, always true, always false), a jump
(return, continue, break, goto) or a statement left out, or the factor of a unit. Each is built and met with the tests
that run its line, the likely ones first, until one fails. Printed is one line for each mutant:
  killed      by a test, or by its deadline
  survived    all tests that run the line pass (followed by the change)
  unmet       no test runs the line: survived, without any test to blame
  equivalent  the compiler makes the same object of it; not counted
  no compile  not counted
then a table of the folders. --out FILE holds everything as JSON, written anew after each mutant.

Names of groups: --files expect='src/expect/*.c' gives the table a row "expect"; without --files each folder of src is
one. Mutants are spread evenly over the groups, and one line of a file is changed once at most.

The tree is never touched: FOLDER/tree is a copy (files that git knows or does not ignore; all of them without git), FOLDER/plain a build of it,
FOLDER/lines a build with gcov, which tells once which test runs which line. All three are kept in FOLDER for the next
time. With --benches N, N mutants are tried at once, each in a copy and a build of its own (FOLDER/2, FOLDER/3, ...). Tests run in name spaces of their own (processes, mounts: only FOLDER, /tmp and /dev/shm can be written, the last
two are private), because a mutant may well call kill(-1, SIGKILL); where that is not allowed, --unsafe runs without.
Changes are made by c_mutants.py, which also says what is never changed.
"""

import argparse
import difflib
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from c_mutants import KINDS, applied, mutants_of

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTED = ("killed", "survived", "unmet")
MEMORY = 8 << 30  # bytes of address space for one test process
FILE_SIZE = 1 << 30

# Only the folder of the build can be written, and no process outside can be seen: $0 is that folder.
ISOLATE = r"""
mount --make-rprivate / && mount --bind "$0" "$0" || exit 125
while read -r _ at _; do
	case $at in "$0" | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;; *) mount -o remount,bind,ro "$at" ;; esac
done </proc/self/mounts 2>/dev/null
for at in /tmp /dev/shm; do
	case $0 in $at/*) ;; *) mount -t tmpfs -o size=2g tmpfs $at ;; esac
done
cd "$1" && shift && "$@"
exit $?
"""

# gcov writes its figures at exit(); processes that call _exit() would leave none.
FLUSH = """
void __gcov_dump(void);
_Noreturn void __real__exit(int);
_Noreturn void __wrap__exit(int code);
_Noreturn void __wrap__exit(int code) { __gcov_dump(); __real__exit(code); }
"""


def said(text):
    print(text, flush=True)


class Fault(Exception):
    """What the user must know and mend; ends the program."""


def call(*command, cwd=None, env=None, tolerant=False):
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    if done.returncode != 0 and not tolerant:
        raise Fault(f"{' '.join(command[:6])} ...: status {done.returncode}\n{done.stdout[-2000:]}")
    return done


# ---- the private copy ----

def sync(source, tree):
    """Make tree hold what source holds; only files that differ are written, so that little is built again."""
    git = ("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = call(*git, tolerant=True) if shutil.which("git") else None
    names = listed.stdout.split("\0") if listed and listed.returncode == 0 else files_below(source)
    wanted = {name for name in names if name and os.path.isfile(os.path.join(source, name))}
    for name in files_below(tree):
        if name not in wanted:
            os.unlink(os.path.join(tree, name))
    for name in wanted:
        there, here = os.path.join(source, name), os.path.join(tree, name)
        os.makedirs(os.path.dirname(here), exist_ok=True)
        if not os.path.exists(here) or read(there) != read(here):
            shutil.copy(there, here)


def files_below(top):
    return [os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


class Build:
    """One folder of objects: configured once, then driven by ninja without its look at CMake's globs."""

    def __init__(self, tree, folder, options, jobs):
        self.tree, self.folder, self.jobs = tree, folder, jobs
        self.env = dict(os.environ, CCACHE_DIR=os.path.join(os.path.dirname(folder), "ccache"), LC_ALL="C")
        os.makedirs(folder, exist_ok=True)
        if shutil.which("ccache"):
            options = [*options, "-DCMAKE_C_COMPILER_LAUNCHER=ccache"]
        call("cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
             "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options, env=self.env)
        self.strip()
        self.targets = self.outputs()

    def strip(self):
        """mutate.ninja: build.ninja without the rule that looks for new files each time."""
        text = read(os.path.join(self.folder, "build.ninja")).decode()
        text = re.sub(r"^build build\.ninja:(?:.*\$\n)*.*\n(?:[ \t]+.*\n)*", "", text, flags=re.MULTILINE)
        write(os.path.join(self.folder, "mutate.ninja"), text.encode())

    def ninja(self, *targets, tolerant=False):
        return call("ninja", "-C", self.folder, "-f", "mutate.ninja", f"-j{self.jobs}", *targets, env=self.env,
                    tolerant=tolerant)

    def outputs(self):
        lines = self.ninja("-t", "targets", "all").stdout.splitlines()
        return {line.rsplit(": ", 1)[0] for line in lines if not line.endswith(": phony")}

    def objects(self):
        """source file, relative to the tree -> its objects."""
        found = {}
        for entry in json.loads(read(os.path.join(self.folder, "compile_commands.json"))):
            output = re.search(r" -o (\S+)", entry["command"])
            found.setdefault(os.path.relpath(entry["file"], self.tree), []).append(output.group(1))
        return found


class Test:
    """One test of ctest, and what must be built for it."""

    def __init__(self, entry, build):
        self.name, self.command, self.build = entry["name"], entry["command"], build
        properties = {one["name"]: one["value"] for one in entry.get("properties", [])}
        self.labels = properties.get("LABELS", [])
        self.cwd = properties.get("WORKING_DIRECTORY", build.folder)
        self.skip = properties.get("SKIP_RETURN_CODE")
        self.env = dict(os.environ, **dict(one.split("=", 1) for one in properties.get("ENVIRONMENT", [])))
        self.seconds, self.deadline, self.limited = 0.0, 60.0, True
        inside = [os.path.relpath(word, build.folder) for word in self.command if word.startswith(build.folder)]
        self.targets = [word for word in inside if word in build.targets]

    def widen(self, programs):
        """A test that knows the build's folder may start the programs there."""
        path = os.path.join(self.build.folder, self.targets[0]) if self.targets else ""
        if len(self.targets) != 1 or self.build.folder.encode() in read(path):
            self.targets += [name for name in programs if name not in self.targets and name in self.build.targets]

    def run(self, shelter):
        """Exit status (None: its time ran out), and the first case that failed."""
        with tempfile.TemporaryFile() as output:
            running = subprocess.Popen([*shelter.words(self.cwd), *self.command], cwd=self.cwd, env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                                       preexec_fn=limits if self.limited else None)
            try:
                status = running.wait(self.deadline)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                shelter.end(running)
            output.seek(0)
            text = output.read(1 << 16).decode(errors="replace")
        case = re.search(r":[FE]:[^:]*:(\w+):", text) or re.search(r"^(?:FAIL|ERROR): (\w+)", text, re.MULTILINE)
        return status, case.group(1) if case else ""


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Shelter:
    """Where tests run: name spaces of their own, so that a mutant harms nobody."""

    def __init__(self, folder, unsafe):
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self.prefix = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                       ISOLATE, folder]
        if unsafe:
            self.prefix = []
        elif call(*self.words(folder), "true", tolerant=True).returncode != 0:
            raise Fault("no name spaces of their own for the tests here (unshare); --unsafe runs without")

    def words(self, cwd):
        return [*self.prefix, cwd] if self.prefix else []

    @staticmethod
    def end(running):
        try:
            os.killpg(running.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        running.wait()


# ---- which test runs which line ----

def tests_of(build, options):
    listed = json.loads(call("ctest", "--test-dir", build.folder, "--show-only=json-v1").stdout)
    tests = [Test(entry, build) for entry in listed["tests"] if entry.get("command")]
    return [test for test in tests if re.search(options.tests, test.name) and
            any(re.search(options.label, label) for label in test.labels or [""])]


def fingerprint(test):
    found = hashlib.sha256(repr(test.command).encode())
    for target in test.targets:
        found.update(read(os.path.join(test.build.folder, target)))
    return found.hexdigest()


def lines_run(build, tree):
    """file -> [lines that could run, lines that ran] of all that gcov has counted since the last time."""
    counts = glob.glob(os.path.join(build.folder, "**", "*.gcda"), recursive=True)
    if not counts:
        return {}
    shown = call("gcov", "--json-format", "--stdout", *counts, cwd=build.folder, tolerant=True).stdout
    found = {}
    for text in shown.splitlines():
        if not text.startswith("{"):
            continue
        for file in json.loads(text)["files"]:
            path = os.path.relpath(os.path.join(build.folder, file["file"]), tree)
            if path.startswith(".."):
                continue
            could, ran = found.setdefault(path, [set(), set()])
            could.update(line["line_number"] for line in file["lines"])
            ran.update(line["line_number"] for line in file["lines"] if line["count"] > 0)
    for path in counts:
        os.unlink(path)
    return {path: [sorted(could), sorted(ran)] for path, (could, ran) in found.items()}


class Map:
    """Which lines each test runs, kept in a file between runs for the tests that did not change."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "map.json")
        self.tests = json.loads(read(self.path)) if os.path.exists(self.path) else {}
        self.could = {}

    def learn(self, build, tests, shelter, tree):
        for path in glob.glob(os.path.join(build.folder, "**", "*.gcda"), recursive=True):
            os.unlink(path)
        for test in tests:
            mark = fingerprint(test)
            if self.tests.get(test.name, {}).get("mark") != mark:
                test.deadline = 600
                status, _ = test.run(shelter)
                self.tests[test.name] = {"mark": mark, "status": status, "lines": lines_run(build, tree)}
                write(self.path, json.dumps(self.tests).encode())
        names = {test.name for test in tests}
        self.tests = {name: entry for name, entry in self.tests.items() if name in names}
        for entry in self.tests.values():
            for path, (could, _) in entry["lines"].items():
                self.could.setdefault(path, set()).update(could)

    def meeting(self, mutant):
        """Names of the tests that run the mutant's statement, or its function where gcov cannot tell."""
        could = self.could.get(mutant.path, set())
        if not mutant.function:  # a constant: whoever runs anything of the file
            return self.running(mutant.path, could)
        lines = {line for line in could if mutant.lines[0] <= line <= mutant.lines[1]}
        if not lines:
            inside = [line for line in could if mutant.function[1] <= line <= mutant.function[2]]
            before = [line for line in inside if line < mutant.lines[0]]
            lines = {max(before)} if before else set(inside)
        return self.running(mutant.path, lines)

    def running(self, path, lines):
        return [name for name, entry in self.tests.items()
                if path in entry["lines"] and lines.intersection(entry["lines"][path][1])]


# ---- the mutants ----

def groups_of(options, tree):
    """name -> files, relative to the tree."""
    if not options.files:
        found = {}
        for path in sorted(glob.glob(os.path.join(tree, "src", "**", "*.c"), recursive=True)):
            name = os.path.relpath(path, tree)
            found.setdefault(os.path.dirname(name), []).append(name)
        return {name: files for name, files in found.items() if name != "src"}
    found = {}
    for one in options.files:
        name, _, globs = one.rpartition("=")
        files = {path for pattern in globs.split(",") for path in glob.glob(os.path.join(tree, pattern), recursive=True)
                 if path.endswith((".c", ".h"))}
        if not files:
            raise Fault(f"--files {one}: no file is called so")
        found.setdefault(name or globs, []).extend(sorted(os.path.relpath(path, tree) for path in files))
    return found


def all_mutants(groups, tree):
    """group -> its mutants."""
    return {name: [mutant for path in files
                   for mutant in mutants_of(path, read(os.path.join(tree, path)).decode())]
            for name, files in groups.items()}


def drawn(mutants, seed):
    """Mutants of all groups in turn, kinds by their weight, no line twice, without end but that of the supply."""
    supply = {}
    for group, found in mutants.items():
        chance = random.Random(f"{seed} {group}")
        kinds = {kind: [one for one in found if one.kind == kind] for kind in KINDS}
        for one in kinds.values():
            chance.shuffle(one)
        supply[group] = (chance, kinds, set())
    while supply:
        for group in list(supply):
            chance, kinds, used = supply[group]
            one = next_of(chance, kinds, used)
            if one:
                yield group, one
            else:
                del supply[group]


def next_of(chance, kinds, used):
    while any(kinds.values()):
        left = [kind for kind in KINDS if kinds[kind]]
        kind = chance.choices(left, [KINDS[name] for name in left])[0]
        one = kinds[kind].pop()
        if (one.path, one.line) not in used:
            used.add((one.path, one.line))
            return one
    return None


def change_of(mutant, source):
    before, after = source.splitlines(), applied(mutant, source).splitlines()
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    return "\n".join([mutant.id, *lines])


class Bench:
    """A copy, its build and its tests: where mutants are tried, one after the other. The first one of several also
    learns which test runs which line; the others are handed that one."""

    def __init__(self, options, folder, first=None):
        self.options = options
        self.folder = os.path.realpath(folder)
        self.tree = os.path.join(self.folder, "tree")
        os.makedirs(self.tree, exist_ok=True)
        sync(options.source, self.tree)
        self.shelter = Shelter(self.folder, options.unsafe)
        lld = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld"] if shutil.which("ld.lld") else []
        flags = [*self.options.cmake, "-DCMAKE_C_FLAGS_RELEASE=-O2 -w", *lld]
        if self.options.sanitize:
            flags.append("-DMUSTER_SANITIZE=ON")
        self.build = Build(self.tree, os.path.join(self.folder, "sanitized" if self.options.sanitize else "plain"),
                           flags, self.options.jobs)
        self.build.ninja()
        self.objects = self.build.objects()
        self.map = first.map if first else self.learned()
        self.kills = first.kills if first else {}  # (file, test) -> how many
        self.tests = {test.name: test for test in self.widened(tests_of(self.build, self.options))}
        if first:
            self.adopt(first.tests)
        else:
            self.baseline()

    def learned(self):
        """Which test runs which line."""
        flush = os.path.join(self.folder, "flush")
        write(flush + ".c", FLUSH.encode())
        call("cc", "-c", "-o", flush + ".o", flush + ".c")
        lines = Build(self.tree, os.path.join(self.folder, "lines"),
                      [*self.options.cmake, "-DCMAKE_C_FLAGS_RELEASE=-O0 -w --coverage",
                       f"-DCMAKE_EXE_LINKER_FLAGS=-Wl,--wrap=_exit {flush}.o --coverage"],
                      self.options.jobs * self.options.benches)
        lines.ninja()
        found = Map(self.folder)
        found.learn(lines, self.widened(tests_of(lines, self.options)), self.shelter, self.tree)
        return found

    def adopt(self, tests):
        """The tests that pass on the first bench, and the time that each takes there."""
        self.tests = {name: test for name, test in self.tests.items() if name in tests}
        for name, test in self.tests.items():
            test.seconds, test.deadline = tests[name].seconds, tests[name].deadline

    def widened(self, tests):
        for test in tests:
            test.widen(self.options.programs)
            test.limited = not self.options.sanitize  # a sanitizer's shadow is larger than any machine
        return tests

    def baseline(self):
        for name, test in list(self.tests.items()):
            test.deadline = 600
            start = time.monotonic()
            status, case = test.run(self.shelter)
            test.seconds = time.monotonic() - start
            test.deadline = self.options.timeout or 10 + 5 * test.seconds
            if status != 0:
                said(f"left out: {name} does not pass as it is (status {status} {case})")
                del self.tests[name]
        if not self.tests:
            raise Fault("no test passes: nothing to measure with")

    def attempt(self, mutant):
        """One mutant, from the change to its undoing: what became of it."""
        path = os.path.join(self.tree, mutant.path)
        original = read(path)
        source = original.decode()
        result = {"id": mutant.id, "kind": mutant.kind, "by": "", "case": "", "tests": 0,
                  "change": change_of(mutant, source)}
        start = time.monotonic()
        targets = self.objects.get(mutant.path, [])
        objects = [os.path.join(self.build.folder, name) for name in targets]
        self.build.ninja(*targets)
        before = [read(name) for name in objects]
        try:
            write(path, applied(mutant, source).encode())
            result["outcome"] = self.compiled(mutant, objects, before) or self.met(mutant, result)
        finally:
            write(path, original)
        result["seconds"] = round(time.monotonic() - start, 1)
        return result

    def compiled(self, mutant, objects, before):
        if self.build.ninja(*self.objects.get(mutant.path, []), tolerant=True).returncode != 0:
            return "no compile"
        if objects and [read(name) for name in objects] == before:
            return "equivalent"
        return None

    def met(self, mutant, result):
        names = [name for name in self.map.meeting(mutant) if name in self.tests]
        if not names:
            return "unmet"
        tests = sorted((self.tests[name] for name in names),
                       key=lambda test: (-self.kills.get((mutant.path, test.name), 0), test.seconds))
        while tests:
            batch, tests = tests[:self.options.jobs], tests[self.options.jobs:]
            self.build.ninja(*sorted({target for test in batch for target in test.targets}))
            with ThreadPoolExecutor(len(batch)) as pool:
                ended = list(pool.map(self.fails, batch))
            result["tests"] += len(batch)
            for test, case in zip(batch, ended):
                if case is not None:
                    self.kills[mutant.path, test.name] = self.kills.get((mutant.path, test.name), 0) + 1
                    result["by"], result["case"] = test.name, case
                    return "killed"
        return "survived"

    def fails(self, test):
        """The case that failed, None when the test passes. Slow tests and deadlines are asked twice: the machine may
        have been busy."""
        for again in (False, True):
            status, case = test.run(self.shelter)
            if status == 0 or str(status) == str(test.skip):
                return None
            if again or (status is not None and test.seconds < 2):
                break
        return case if status is not None else case or "its deadline"


# ---- what is said ----

def shown(result):
    line = f"{result['outcome']:10} {result['id']}"
    if result["by"]:
        line += f"  {result['by']} {result['case']}"
    said(f"{line}  {result['seconds']} s")
    if result["outcome"] in ("survived", "unmet"):
        said("\n".join("    " + text for text in result["change"].splitlines()[1:]))


def table(results):
    rows = [("folder", "mutants", "killed", "survived", "unmet", "killed %", "equivalent", "no compile")]
    names = list(dict.fromkeys(result["group"] for result in results))
    for name in [*names, "all"]:
        count = {outcome: sum(result["outcome"] == outcome for result in results if name in (result["group"], "all"))
                 for outcome in (*COUNTED, "equivalent", "no compile")}
        whole = sum(count[outcome] for outcome in COUNTED)
        share = f"{100 * count['killed'] / whole:.0f}" if whole else "-"
        rows.append((name, whole, count["killed"], count["survived"], count["unmet"], share, count["equivalent"],
                     count["no compile"]))
    return "\n".join("| " + " | ".join(f"{cell!s:>10}" for cell in row) + " |" for row in rows)


def save(path, options, results):
    """The whole file or none of it, whenever the program ends."""
    if path:
        write(path + ".new", json.dumps({"seed": options.seed, "tests": options.tests, "label": options.label,
                                         "results": results}, indent=1).encode())
        os.replace(path + ".new", path)


def wanted(options, mutants):
    """(group, mutant) in the order in which they are tried, and how many of them have to count."""
    if not options.only and not options.replay:
        return drawn(mutants, options.seed), options.count
    named = list(options.only)
    if options.replay:
        named += [result["id"] for result in json.loads(read(options.replay))["results"]
                  if result["outcome"] in ("survived", "unmet")]
    known = {mutant.id: (group, mutant) for group, found in mutants.items() for mutant in found}
    for name in named:
        if name not in known:
            said(f"no such mutant now: {name}")
    return iter([known[name] for name in named if name in known]), len(named)


def earlier(options):
    """What is kept of the results that are replayed."""
    if not options.replay:
        return {}
    return {result["id"]: result for result in json.loads(read(options.replay))["results"]}


class Trial:
    """What is tried, handed out to benches that work side by side, and what became of it."""

    def __init__(self, options, tried, count):
        self.options, self.tried, self.count = options, tried, count
        self.results, self.counted, self.running = earlier(options), 0, 0
        self.lock = threading.Lock()

    def next(self):
        """(group, mutant), or None when those at work will do."""
        with self.lock:
            if self.counted + self.running >= self.count:
                return None
            one = next(self.tried, None)
            self.running += one is not None
            return one

    def work(self, bench):
        while one := self.next():
            group, mutant = one
            try:
                result = {"group": group, **bench.attempt(mutant)}
            except BaseException:
                with self.lock:
                    self.running -= 1
                raise
            with self.lock:
                self.running -= 1
                self.counted += result["outcome"] in COUNTED
                self.results[mutant.id] = result
                shown(result)
                save(self.options.out, self.options, list(self.results.values()))


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(HERE)), help="the tree to measure")
    parser.add_argument("--build", default="build-mutate", help="where the copy and its builds are kept")
    parser.add_argument("--tests", default="", help="only tests whose name holds this expression (ctest -R)")
    parser.add_argument("--label", default="unit", help="only tests with such a label (ctest -L); default: unit")
    parser.add_argument("--files", "--folders", action="append", default=[], metavar="NAME=GLOB[,GLOB]")
    parser.add_argument("--count", type=int, default=200, help="how many that compile and are not equivalent")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    parser.add_argument("--replay", metavar="RESULTS")
    parser.add_argument("--sanitize", action="store_true", help="build with -DMUSTER_SANITIZE=ON")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2, help="compilers, and tests of one mutant, at once")
    parser.add_argument("--benches", type=int, default=1, help="mutants at once")
    parser.add_argument("--timeout", type=float, help="seconds for one test; default: 10 + 5 times what it takes")
    parser.add_argument("--programs", action="append", default=["muster"], help="what tests start from the build")
    parser.add_argument("--cmake", action="append", default=[], help="an option for CMake")
    parser.add_argument("--out", help="the results, as JSON")
    parser.add_argument("--unsafe", action="store_true", help="tests run without name spaces of their own")
    options = parser.parse_args(arguments)
    options.source = os.path.realpath(options.source)
    return options


def main(arguments):
    options = parse(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))  # so that "finally" is run
    os.nice(15)
    mutants = all_mutants(groups_of(options, options.source), options.source)
    if options.list:
        for group, found in mutants.items():
            for mutant in found:
                said(f"{group} {mutant.kind} {mutant.id}")
        return 0
    first = Bench(options, options.build)
    with ThreadPoolExecutor(options.benches) as pool:
        others = pool.map(lambda number: Bench(options, os.path.join(options.build, str(number)), first),
                          range(2, options.benches + 1))
        benches = [first, *others]
        tried, count = wanted(options, mutants)
        trial = Trial(options, tried, count)
        list(pool.map(trial.work, benches))
    results = trial.results
    said(table(results.values()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Fault as fault:
        sys.exit(f"mutate.py: {fault}")
