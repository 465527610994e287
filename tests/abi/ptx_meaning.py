#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run the kernels of kernels.ptx by hand, thread after thread, and compare with what kernels.h says that they do.

usage: ptx_meaning.py KERNELS.ptx

A kernel that reads must also have four loads under way before it looks at the first of them. Only the instructions that the kernels use are known. Ranges are shorter and longer than what the threads do at once.
"""

import itertools
import re
import sys
from pathlib import Path

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
RANGE, OTHER, REPORT = 0x1000000, 0x2000000, 0x3000000
PATTERNS = [(0, MASK, 0, 0), (7, 0x80FF80FF80FF80FF, 0x3F003F003F003F00, MASK)]


def functions(text):
    """Of each function and kernel: its outputs, its inputs and its instructions, as lists of words."""
    found = {}
    text = re.sub(r"//.*", "", text)
    for head, body in re.findall(r"(\.(?:visible \.entry|func)[^{]*)\{(.*?\n)\}", text, re.S):
        name, inputs = re.search(r"([a-z_]+)\s*\(([^()]*)\)\s*$", head).groups()
        outputs = re.search(r"\.func \(([^()]*)\)", head)
        lines = [line.strip() for line in re.sub(r";", "\n", body).split("\n")]
        found[name] = ([w.split()[-1] for w in outputs[1].split(",")] if outputs else [],
                       [w.split()[-1] for w in inputs.split(",") if w.strip()],
                       [line for line in lines if line and not line.startswith(".reg")])
    return found


class Thread:
    """One thread of a kernel, with the memory of all."""

    def __init__(self, program, memory, special):
        self.program, self.memory, self.special = program, memory, special
        self.under_way = self.most = 0  # loads, until the next call looks at what they brought

    def call(self, name, given):
        outputs, inputs, lines = self.program[name]
        registers = dict(zip(inputs, given))
        labels = {line[:-1]: at for at, line in enumerate(lines) if line.endswith(":")}
        at = 0
        while at < len(lines):
            line = lines[at]
            at += 1
            guard = re.match(r"@(!?)(%\w+) (.*)", line)
            if line.endswith(":") or (guard and bool(registers[guard[2]]) == bool(guard[1])):
                continue
            operation, *rest = (guard[3] if guard else line).split(None, 1)
            if operation == "ret":
                break
            if operation == "bra":
                at = labels[rest[0]]
            elif operation == "call":
                self.under_way = 0
                to, callee, arguments = re.fullmatch(r"(?:\((%?\w+)\), )?(\w+), \(([^()]*)\)", rest[0]).groups()
                got = self.call(callee, [registers[word.strip()] for word in arguments.split(",") if word.strip()])
                if to:
                    registers[to] = got[0]
            else:
                self.step(operation, re.findall(r"\[[^]]*\]|\{[^}]*\}|[^,\s]+", rest[0]), registers)
        return [registers[name] for name in outputs]

    def value(self, word, registers):
        if word in self.special:
            return self.special[word]
        return registers[word] if word in registers else int(word, 0) & MASK

    def step(self, operation, words, registers):
        kind = operation.split(".")[0]
        if kind == "ld" and "param" in operation:
            registers[words[0]] = registers[words[1][1:-1]]
        elif kind in ("ld", "st", "red", "atom"):
            place = next(word for word in words if word.startswith("["))[1:-1].split("+")
            address = registers[place[0]] + (int(place[1]) if len(place) > 1 else 0)
            others = [name for word in words if not word.startswith("[") for name in word.strip("{}").replace(",", " ").split()]
            assert address % (8 * (len(others) if "v2" in operation else 1)) == 0
            self.under_way += operation.startswith("ld.global.v2")
            self.most = max(self.most, self.under_way)
            for i, name in enumerate(others[: 1 if kind == "atom" else None]):
                if kind in ("ld", "atom"):
                    registers[name] = self.memory[address + 8 * i]
                else:
                    before = self.memory[address + 8 * i] if kind == "red" else 0
                    self.memory[address + 8 * i] = (before + self.value(name, registers)) & MASK
            if kind == "atom":
                self.memory[address] = (self.memory[address] + self.value(others[1], registers)) & MASK
        else:
            a, *more = (self.value(word, registers) for word in words[1:])
            registers[words[0]] = {
                "mov": lambda: a, "cvt": lambda: a, "add": lambda b: a + b, "mul": lambda b: a * b,
                "mad": lambda b, c: a * b + c, "shl": lambda b: a << b, "shr": lambda b: a >> b, "xor": lambda b: a ^ b,
                "or": lambda b: a | b, "and": lambda b: a & b,
                "setp": lambda b: {"ge": a >= b, "lt": a < b, "eq": a == b, "ne": a != b}[operation.split(".")[1]],
            }[kind](*more) & MASK


def pattern_word(pattern, place):
    seed, ands, ors, xors = pattern
    word = (place + seed) * GOLDEN & MASK
    return ((word ^ word >> 32) & ands | ors) ^ xors


def launch(program, memory, name, parameters, blocks, threads):
    """Returns how many loads a thread had under way at most."""
    most = 0
    memory.update({REPORT + 8 * i: 0 for i in range(2 + 32 * 5)})
    for block, thread in itertools.product(range(blocks), range(threads)):
        special = {"%tid.x": thread, "%ntid.x": threads, "%ctaid.x": block, "%nctaid.x": blocks}
        run = Thread(program, memory, special)
        run.call(name, parameters)
        most = max(most, run.most)
    return most


def report(memory):
    """Wrong words, noted ones, and the differences that are there, by their place."""
    wrong, noted = memory[REPORT], memory[REPORT + 8]
    slots = ([memory[REPORT + 16 + 40 * i + 8 * j] for j in range(5)] for i in range(min(noted, 32)))
    return wrong, noted, sorted(slots)


def expected(have, want, threads):
    """The same, by what kernels.h says: a thread notes the first word that it finds wrong."""
    bad = [place for place in range(len(have) // 2) if have[2 * place:2 * place + 2] != want[2 * place:2 * place + 2]]
    first = {place % threads: place for place in reversed(bad)}
    notes = sorted([place, *have[2 * place:2 * place + 2], *want[2 * place:2 * place + 2]] for place in first.values())
    return len(bad), len(first), notes


def main(path):
    program, problems, tried = functions(Path(path).read_text()), [], 0
    for count, (blocks, threads), pattern in itertools.product(
            [0, 1, 2, 5, 6, 11, 12, 13, 18, 23, 24, 25, 29, 30, 47, 48, 53], [(1, 1), (2, 3), (3, 4)], PATTERNS):
        memory = {}
        launch(program, memory, "muster_fill", [RANGE, count, *pattern], blocks, threads)
        want = [pattern_word(pattern, place) for place in range(2 * count)]
        if [memory.get(RANGE + 8 * i) for i in range(2 * count)] != want or RANGE + 16 * count in memory:
            problems.append(f"fill of {count} words by {blocks} x {threads}")
        for bad in ([], [0], [2 * count - 1], [3, 4, 16, 30], range(2 * count)):
            have = list(want)
            for place in bad:
                if 0 <= place < len(have):
                    have[place] ^= 1 << 17
            memory.update({RANGE + 8 * i: word for i, word in enumerate(have)})
            memory.update({OTHER + 8 * i: word for i, word in enumerate(want)})
            whole = expected(have, want, blocks * threads)
            for name, parameters in (("muster_verify", [RANGE, count, *pattern, REPORT]),
                                     ("muster_compare", [RANGE, OTHER, count, REPORT])):
                loads = launch(program, memory, name, parameters, blocks, threads)
                tried += 1
                if loads < 4 and count >= 4 * blocks * threads:
                    problems.append(f"{name} of {count} words by {blocks} x {threads}: {loads} loads under way")
                if report(memory) != whole:
                    problems.append(f"{name} of {count} words by {blocks} x {threads}: {report(memory)[:2]}, not {whole[:2]}")
            loads = launch(program, memory, "muster_checksum", [RANGE, count, REPORT], blocks, threads)
            total = sum(pattern_word((word, MASK, 0, 0), place) for place, word in enumerate(have)) & MASK
            if memory[REPORT] != total or (loads < 4 and count >= 4 * blocks * threads):
                problems.append(f"muster_checksum of {count} words by {blocks} x {threads}, {loads} loads under way")
    print("\n".join(problems) or f"{tried} runs of verify and compare, and fills and checksums beside them")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
