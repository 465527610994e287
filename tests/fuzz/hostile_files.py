#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files that nobody would write by accident, given to every command that reads one: exit code 2, one plain line that
names the file and the place, soon and in little memory, and nothing written.

usage: hostile_files.py MUSTER SOURCES [unbounded]     (unbounded: a sanitizer's memory is nobody's measure)
"""

import os
import subprocess
import sys
import tempfile
import threading
import unittest

MUSTER = os.path.abspath(sys.argv[1])
SOURCES = os.path.abspath(sys.argv[2])
UNBOUNDED = sys.argv[3:] == ["unbounded"]
del sys.argv[1:]
REPORT = os.path.join(SOURCES, "tests/gpu/recorded/1xh100.json")
SKU = "generic-nvidia"
MIB = 1 << 20
MEMORY = 48 * MIB  # of a process that refuses a file, besides the file itself when it may be that long
SECONDS = 60  # far more than any of them takes
BIG = 100 * MIB

CHECKS = b'"checks": {"a": {"metric": "node.kernel", "present": true, "source": "s"}}'
EXPECTATIONS = b'{"schema_version": 1, "name": "x", ' + CHECKS + b', "x": %s}'
OVERLAY = b'{"x": %s}'
SCENARIO = b'{"nodes": 1, "x": %s}'
RUN = b'{"schema_version": 1, "run": {"job": %s, "nodes": []}}'

# Name, command, a file of the right kind around a value, whether the file may have 100 MB.
ROLES = [
    ("expectation file", ["check", REPORT, "--report", "{out}", "--sku", "{file}"], EXPECTATIONS, False),
    ("parent", ["check", REPORT, "--report", "{out}", "--sku", "{child}"], EXPECTATIONS, False),
    ("overlay", ["check", REPORT, "--report", "{out}", "--sku", SKU, "--overlay", "{file}"], OVERLAY, False),
    ("overlay of a name without a file", ["check", REPORT, "--report", "{out}", "--sku", "Nobody_v1", "--overlay",
                                          "{file}"], OVERLAY, False),
    ("overlay of an unknown machine", ["run", "--report", "{out}", "--overlay", "{file}"], OVERLAY, False),
    ("linted file", ["lint", "{file}"], EXPECTATIONS, False),
    ("report", ["check", "{file}", "--report", "{out}", "--sku", SKU], RUN, True),
    ("scenario", ["sim", "--report", "{out}", "--scenario", "{file}"], SCENARIO, False),
]

# Values that make the frame around them no such file, and what is said; True: the line and the column too.
VALUES = [
    ("10,000 levels of arrays", b"[" * 10000 + b"]" * 10000, "nested deeper than 64 levels", True),
    ("10,000 levels of objects", b'{"a":' * 10000 + b"1" + b"}" * 10000, "nested deeper than 64 levels", True),
    ("a byte that is not UTF-8", b'"a\xffb"', "byte 0xff is not UTF-8", True),
    ("an overlong character", b'"\xc0\x80"', "byte 0xc0 is not UTF-8", True),
    ("half a character", b'"\xe2\x82"', "byte 0xe2 is not UTF-8", True),
    ("a surrogate", b'"\xed\xa0\x80"', "byte 0xed is not UTF-8", True),
    ("an escaped surrogate", b'"\\ud800"', "not JSON from here", True),
    ("a key twice", b'{"a": 1, "b": 2, "a": 3}', 'the key "a" occurs twice in one object', False),
    ("a key twice, once escaped", b'{"a": 1, "\\u0061": 3}', 'the key "a" occurs twice in one object', False),
    ("1e999", b"1e999", "a number is too large for a double", False),
    ("-1e999", b"-1e999", "a number is too large for a double", False),
    ("NaN", b"NaN", "JSON has no NaN", True),
    ("Infinity", b"-Infinity", "malformed number", True),
    ("01", b"01", "malformed number", True),
    ("a long number", b"1" * 5000, "", False),
    ("a NUL byte", b'"a\0b"', "control character 0x00", True),
    ("a NUL byte outside", b"\0", "NUL byte", True),
    ("an escaped NUL", b'"a\\u0000b"', "NUL in a string", True),
    ("a control character", b'"\x1b[31m"', "control character 0x1b", True),
    ("a comment", b"1 /* one */", "JSON has no comments", True),
    ("a text without end", b'"a', "string without an end", True),
    ("an escape sequence as key", b'{"\\u001b[2J\\u202e\\n": 1}', "", False),
    ("a key of 5,000 bytes", b'{"' + b"k" * 5000 + b'": 1}', "", False),
    ("half a megabyte of key around 50,000 members", b'{"' + b"k" * 500000 + b'": {'
     + b", ".join(b'"%x":1' % i for i in range(50000)) + b"}}", "", False),
    ("200,000 members", b"{" + b", ".join(b'"%x":1' % i for i in range(100000)) + b"}", "", False),
    ("200,000 elements", b"[" + b"0," * 200000 + b"0]", "", False),
]
# Regular expressions that the C library would not survive, or not soon.
PATTERNS = [
    ("200,000 parentheses", "(" * 200000 + ")" * 200000),
    ("200 parentheses", "(" * 200 + "a" + ")" * 200 + "{200}{200}"),
    ("repetitions in each other", "((((a{255}){255}){255}){255})"),
    ("repetitions behind each other", "a{255}{255}{255}{255}"),
    ("ones or more in each other", "(" * 40 + "a" + "+)" * 40),
    ("a back reference", "(.*)(.*)(.*)(.*)(.*)\\\\1\\\\2\\\\3\\\\4\\\\5x"),
]

# The reader of reports reads members as they come: an unknown key is said before what it has, and a value that is no object before
# what comes behind it.
UNKNOWN = "$.run.job.a: unknown key"
SAID_OF_REPORTS = {"a comment": "an object is needed, found 1", "a text without end": "an object is needed, found",
                   "10,000 levels of objects": UNKNOWN, "a key twice": UNKNOWN, "a key twice, once escaped": UNKNOWN}


def repeat(head, unit, tail):
    """Write a file of 100 MB without holding it."""
    def write(path):
        with open(path, "wb") as file:
            file.write(head)
            block = unit * (MIB // len(unit))
            for _ in range(BIG // len(block)):
                file.write(block)
            file.write(tail)
    return write


def just(content):
    def write(path):
        with open(path, "wb") as file:
            file.write(content)
    return write


# Name, how it is made, what is said of it: by those that take 1 MiB, and by the reader of reports.
TOO_BIG = "bytes, at most 1048576 are allowed"
THINGS = [
    ("nothing", just(b""), "", ""),
    ("a newline", just(b"\n"), "", ""),
    ("a byte order mark", just(b"\xef\xbb\xbf{}"), "line 1, column 1", "line 1, column 1"),
    ("a word", just(b"hello"), "line 1, column 1", "line 1, column 1"),
    ("a number", just(b"7"), "$", "line 1, column 1"),
    ("an array", just(b"[]"), "$", "line 1, column 1"),
    ("an open object", just(b"{"), "line 1, column 2", "line 1, column 2"),
    ("two objects", just(b"{} {}"), "line 1, column 4", 'the key "schema_version" is missing'),
    ("100 MB of blanks", repeat(b"", b" ", b""), TOO_BIG, "an object is needed"),
    ("100 MB of one text", repeat(b'{"a": "', b"a", b'"}'), TOO_BIG, '$.a: unknown key'),
    ("a key of 100 MB", repeat(b'{"', b"a", b'": 1}'), TOO_BIG, "unknown key"),
    ("100 MB of zeros", repeat(RUN.split(b"%s")[0] + b"[", b"0,", b"0]}}"), TOO_BIG, "$.run"),
    ("100 MB of brackets", repeat(RUN.split(b"%s")[0], b"[", b""), TOO_BIG, "never closed"),
    ("100 MB of closed brackets", repeat(RUN.split(b"%s")[0], b"[]", b""), TOO_BIG, "$.run.job: an object is needed, found an array"),
    ("100 MB of quotes", repeat(b"", b'"', b""), TOO_BIG, "an object is needed"),
    ("100 MB of backslashes", repeat(b'{"a": "', b"\\", b""), TOO_BIG, "$.a: unknown key"),
    ("100 MB of NUL", repeat(b"", b"\0", b""), TOO_BIG, "an object is needed"),
    ("100 MB of empty nodes", repeat(RUN.split(b"%s")[0] + b'{}, "nodes": [', b"{},", b"{}]}}"), TOO_BIG, "$.run.job"),
    ("a directory", os.mkdir, "is not a regular file", "is not a regular file"),
    ("a FIFO that nobody writes to", os.mkfifo, "is not a regular file", "is not a regular file"),
    ("endless zeros", lambda path: os.symlink("/dev/zero", path), "is not a regular file", "is not a regular file"),
    ("a terminal's like", lambda path: os.symlink("/dev/null", path), "is not a regular file",
     "is not a regular file"),
    ("a link to itself", lambda path: os.symlink(path, path), "Too many levels", "Too many levels"),
    ("no file", lambda path: None, "No such file", "No such file"),
]


class Result:
    """What a command printed, how it ended, and the most memory that it had."""

    def __init__(self, arguments, environment):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with subprocess.Popen([MUSTER, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  env=environment) as process:
                timer = threading.Timer(SECONDS, process.kill)
                timer.start()
                _, status, usage = os.wait4(process.pid, 0)
                timer.cancel()
                process.returncode = os.waitstatus_to_exitcode(status)
            self.code, self.memory = process.returncode, usage.ru_maxrss * 1024
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read()


class HostileFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "hostile.json")
        self.scratch = os.path.join(self.folder.name, "scratch")
        os.mkdir(self.scratch)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "PMI", "OMPI"))}
        self.environment.update(TMPDIR=self.scratch, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                MUSTER_METADATA_URL="")

    def command(self, template):
        child = os.path.join(self.folder.name, "child.json")
        out = os.path.join(self.scratch, "out.json")
        if "{child}" in template:
            just(b'{"schema_version": 1, "name": "child", "extends": "hostile.json", "checks": {}}')(child)
        return [word.format(file=self.path, child=child, out=out) for word in template]

    def refuse(self, template, said, memory):
        result = Result(self.command(template), self.environment)
        written = os.listdir(self.scratch)
        for file in written:
            os.unlink(os.path.join(self.scratch, file))
        printed = result.out if template[0] == "lint" else result.err
        words = printed.decode("utf-8")  # or this fails
        self.assertEqual(result.code, 2, words)
        self.assertNotIn(b"ERROR: AddressSanitizer", result.err)
        self.assertEqual(words.count("\n"), 1, words)
        self.assertTrue(words.endswith("\n"), words)
        self.assertFalse([c for c in words[:-1] if not c.isprintable()], ascii(words))
        self.assertIn("hostile.json: ", words)
        self.assertIn(said, words)
        self.assertLess(len(words), 1200)
        self.assertEqual(result.err if template[0] == "lint" else result.out, b"")
        self.assertEqual(written, [], "something was written")
        if not UNBOUNDED:
            self.assertLess(result.memory, memory, words)
        return words

    def test_values(self):
        for name, template, frame, _ in ROLES:
            for value, content, said, placed in VALUES:
                # an overlay may speak of what only the machine types that are known have
                if name == "overlay of a name without a file" and value == "an escape sequence as key":
                    continue
                with self.subTest(role=name, value=value):
                    just(frame % content)(self.path)
                    if name == "report":
                        placed = placed and value not in SAID_OF_REPORTS
                        said = SAID_OF_REPORTS.get(value, said)
                    words = self.refuse(template, said, MEMORY)
                    if placed:
                        self.assertRegex(words, r"line 1, column \d+: ")
                    else:
                        self.assertRegex(words, r"\$|occurs twice|too large|line 1, column")

    def test_patterns(self):
        frame = '{"schema_version": 1, "name": "x", "checks": {"a": {"metric": "node.kernel", "source": "s", %s}}}'
        for name, template, _, _ in ROLES:
            for kind, pattern in PATTERNS:
                if name not in ("expectation file", "parent", "linted file"):
                    continue
                with self.subTest(role=name, kind=kind):
                    just((frame % f'"matches": "{pattern}"').encode())(self.path)
                    long = len(pattern) > 4096
                    said = "bytes, at most 4096 are allowed" if long else "is too large a regular expression"
                    self.refuse(template, said, MEMORY)

    def test_things(self):
        for thing, make, said, said_of_reports in THINGS:
            make(self.path)
            size = os.path.getsize(self.path) if os.path.isfile(self.path) else 0
            for name, template, _, is_report in ROLES:
                with self.subTest(role=name, thing=thing):
                    if is_report:
                        self.refuse(template, said_of_reports, MEMORY + size)
                    else:
                        self.refuse(template, said, MEMORY)
            if os.path.isdir(self.path):
                os.rmdir(self.path)
            elif os.path.lexists(self.path):
                os.unlink(self.path)


unittest.main(verbosity=0)
