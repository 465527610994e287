# SPDX-License-Identifier: Apache-2.0
"""Every small change that tests/tools/mutate.py can make to one C file.

C is read as tokens and statements, no further: enough to know a binary operator from a pointer, a condition from a
call, and to leave alone what is no behaviour (comments, strings, the preprocessor, log lines, what only frees memory).
Layout decides the rest: the files are formatted by clang-format, so a binary operator has a space on both sides.
"""

import bisect
import re
from dataclasses import dataclass

KINDS = {"operator": 30, "constant": 13, "condition": 25, "jump": 12, "statement": 14, "unit": 6}  # name: weight

TOKEN = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\\\n]|\\.)*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>\.?[0-9](?:[eEpP][+-]|[0-9a-zA-Z_.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-",
         "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=",
         "&=": "|=", "&": "|", "|": "&", "<<": ">>", ">>": "<<", "++": "--", "--": "++"}
UNIT = re.compile(r"(?:1e[+-]?[369]|1024(?:\.0)?|1000(?:\.0)?|1000000|1000000000|1048576|60|3600)(?:[uUlLfF]*)$")
TYPE_WORDS = set("const static struct enum union unsigned signed int char long short double float bool void size_t "
                 "ssize_t FILE DIR cJSON volatile extern _Atomic register typedef".split())
JUMPS = ("return", "break", "continue", "goto")
# What a log line or the release of memory does is seen by no unit test, and is none of a mutant's business.
SILENT = re.compile(r"(?:muster_log\w*|perror|vfprintf|fflush|free|fclose|close|closedir|dlclose|munmap|regfree|"
                    r"freeaddrinfo|freeifaddrs|cJSON_Delete|cJSON_free|va_end|va_start|assert|"
                    r"pthread_\w*(?:lock|destroy)|\w+_(?:free|done|destroy|close|cleanup))$")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    column: int
    kind: str
    label: str  # what the place becomes, in a word
    start: int  # these bytes of the file...
    end: int
    text: str  # ... become this
    lines: tuple  # first and last line of the statement
    function: tuple  # name, first and last line; None outside of functions

    @property
    def id(self):
        return f"{self.path}:{self.line}:{self.column}:{self.label}"


def tokens_of(source):
    found = []
    for match in TOKEN.finditer(source):
        if match.lastgroup != "skip":
            found.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    return found


class Reader:
    """One file: tokens, the partner of every bracket, and the mutants found so far."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        self.tokens = tokens_of(source)
        self.starts = [0] + [match.end() for match in re.finditer("\n", source)]
        self.partner = self._partners()
        self.function = None
        self.mutants = []

    def _partners(self):
        partner, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind == "mark" and token.text in "([{":
                opened.append(i)
            elif token.kind == "mark" and token.text in ")]}" and opened:
                partner[i] = opened.pop()
                partner[partner[i]] = i
        return partner

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def place(self, offset):
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def span(self, first, last):
        """First and last line of the tokens from first to last, last included."""
        return self.place(self.tokens[first].start)[0], self.place(self.tokens[last].start)[0]

    def add(self, kind, label, first, last, text, lines):
        start, end = self.tokens[first].start, self.tokens[last].end
        line, column = self.place(start)
        self.mutants.append(Mutant(self.path, line, column, kind, label, start, end, text, lines, self.function))

    # ---- the file ----

    def read(self):
        i = 0
        while i < len(self.tokens):
            if self.text(i) != "{":
                i += 1
                continue
            end = self.partner.get(i, len(self.tokens) - 1)
            if self.text(i - 1) == ")":
                name = self.partner[i - 1] - 1
                self.function = (self.text(name), *self.span(name, end))
                self.block(i, end)
                self.function = None
            elif "enum" in (self.text(i - 1), self.text(i - 2)):
                self.numbers_only(i, end)
            i = end + 1
        return self.mutants

    def numbers_only(self, first, end):
        for i in range(first + 1, end):
            if self.tokens[i].kind == "number":
                self.number(i, self.span(i, i))

    # ---- statements ----

    def block(self, start, end):
        """The statements between two braces."""
        i = start + 1
        while i < end:
            i = self.statement(i)

    def statement(self, i):
        """The statement at i; the index behind it."""
        word = self.text(i)
        if word == "{":
            self.block(i, self.partner[i])
            return self.partner[i] + 1
        if word in ("if", "while", "switch", "for"):
            close = self.partner[i + 1]
            (self.loop_head if word == "for" else self.condition)(word, i + 1, close)
            i = self.statement(close + 1)
            if word == "if" and self.text(i) == "else":
                i = self.statement(i + 1)
            return i
        if word == "do":
            i = self.statement(i + 1)
            self.condition("while", i + 1, self.partner[i + 1])
            return self.partner[i + 1] + 2
        if word in ("case", "default"):
            while self.text(i) != ":":
                i += 1
            return i + 1
        if self.tokens[i].kind == "name" and self.text(i + 1) == ":":
            return i + 2
        if self.is_macro_loop(i):
            return self.statement(self.partner[i + 1] + 1)
        return self.simple(i)

    def is_macro_loop(self, i):
        if self.tokens[i].kind != "name" or self.text(i + 1) != "(" or self.text(i) in ("return", "sizeof"):
            return False
        behind = self.partner[i + 1] + 1
        return self.text(behind) == "{" or (behind < len(self.tokens) and self.tokens[behind].kind == "name")

    def simple(self, i):
        """An expression, a declaration or a jump, up to its semicolon."""
        end = i
        while end < len(self.tokens) and self.text(end) != ";":
            end = self.partner[end] + 1 if self.text(end) in "([{" else end + 1
        if end >= len(self.tokens):
            return end
        lines = self.span(i, end)
        if self.is_silent(i):
            return end + 1
        if self.text(i) in JUMPS:
            self.jump(i, end, lines)
        elif not self.is_declaration(i):
            self.removal(i, end, lines)
        self.expression(i, end, lines)
        return end + 1

    def is_silent(self, i):
        if self.text(i) == "(" and self.text(i + 1) == "void" and self.text(i + 2) == ")":
            i += 3
        if self.text(i + 1) != "(":
            return False
        return bool(SILENT.match(self.text(i))) or (
            self.text(i) in ("fprintf", "fputs", "fputc") and "stderr" in
            (self.text(i + 2), self.text(self.partner[i + 1] - 1)))

    def is_declaration(self, i):
        if self.text(i) in JUMPS:
            return False
        if self.text(i) in TYPE_WORDS or self.text(i).endswith("_t"):
            return True
        j = i + 1
        while self.text(j) in ("*", "const"):
            j += 1
        return self.tokens[i].kind == "name" and self.tokens[j].kind == "name"

    def jump(self, i, end, lines):
        last = self.text(end + 1) == "}" and self.place(self.tokens[end + 1].start)[0] == self.function[2]
        if not last:
            self.add("jump", f"no-{self.text(i)}", i, end, ";", lines)
        if self.text(i) == "return" and self.text(i + 1) == "0" and end == i + 2:
            self.add("constant", "-1", i + 1, i + 1, "-1", lines)

    def removal(self, i, end, lines):
        marks = {self.text(k) for k in self.top_level(i, end)}
        if self.text(i) == "(" or marks & {"=", "+=", "-=", "|=", "&=", "*=", "/="} or self.text(i + 1) == "(":
            self.add("statement", "drop", i, end, ";", lines)

    def top_level(self, i, end):
        while i < end:
            yield i
            i = self.partner[i] + 1 if self.text(i) in ("(", "[", "{") else i + 1

    def condition(self, word, opening, close):
        lines = self.span(opening, close)
        if word != "switch":
            self.forced(word, opening + 1, close - 1, lines)
        self.expression(opening + 1, close, lines)

    def forced(self, word, first, last, lines):
        inside = self.source[self.tokens[first].start:self.tokens[last].end]
        self.add("condition", "negate", first, last, f"!({inside})", lines)
        self.add("condition", "false", first, last, f"0 && ({inside})", lines)
        if word == "if":
            self.add("condition", "true", first, last, f"1 || ({inside})", lines)

    def loop_head(self, word, opening, close):
        lines = self.span(opening, close)
        ends = [k for k in self.top_level(opening + 1, close) if self.text(k) == ";"]
        if len(ends) != 2:
            return
        if ends[1] > ends[0] + 1:
            self.forced(word, ends[0] + 1, ends[1] - 1, lines)
        self.expression(opening + 1, ends[1], lines)

    # ---- what an expression is made of ----

    def expression(self, first, end, lines):
        declares = self.is_declaration(first)
        started = not declares  # behind the first = of a declaration
        for i in range(first, end):
            token = self.tokens[i]
            if token.text == "=":
                started = True
            if not started:
                continue
            if token.kind == "number":
                self.number(i, lines)
            elif token.kind == "mark":
                self.operator(i, lines)

    def operator(self, i, lines):
        token, text = self.tokens[i], self.text(i)
        if text == "!":
            self.add("operator", "no-not", i, i, "", lines)
        elif text == "?":
            self.add("condition", "true", i, i, "|| 1 ?", lines)
            self.add("condition", "false", i, i, "&& 0 ?", lines)
        elif text in ("++", "--"):
            self.add("operator", SWAPS[text], i, i, SWAPS[text], lines)
        elif text in SWAPS and self.source[token.start - 1].isspace() and self.source[token.end].isspace():
            self.add("operator", SWAPS[text], i, i, SWAPS[text], lines)

    def number(self, i, lines):
        token, text = self.tokens[i], self.text(i)
        if self.text(i - 1) == "{" and self.text(i + 1) == "}" and text == "0":
            return  # { 0 } is a way to say "empty"
        if len(text) > 1 and text[0] == "0" and text[1].isdigit():
            return  # a file's mode
        if self.text(i - 1) == "[" and self.text(i + 1) == "]" and text not in ("0", "1"):
            return  # nearly always an array's size
        if self.text(i - 1) == "return" and self.text(i + 1) == ";" and text == "0":
            return  # return 0 becomes return -1
        if UNIT.match(text) and {self.text(i - 1), self.text(i + 1)} & {"*", "/", "%"}:
            self.add("unit", f"{text}->x1000", i, i, f"{text} {self.scale(i)} 1000", lines)
            return
        changed = self.next_number(text)
        if changed:
            self.add("constant", changed, i, i, changed, lines)

    def scale(self, i):
        return "/" if self.text(i - 1) in ("/", "%") else "*"

    @staticmethod
    def next_number(text):
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", text)
        if match:
            number = int(match.group(1), 0)
            return f"{0 if number == 1 else number + 1}{match.group(2)}"
        match = re.fullmatch(r"([0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)([fFlL]?)", text)
        if not match or match.group(1) in ("", "."):
            return None
        number = float(match.group(1))
        return f"{number * 1000 if 'e' in text.lower() else number + 1!r}{match.group(2)}"


def mutants_of(path, source):
    """All mutants of one file's text, in the order of their places."""
    found = Reader(path, source).read()
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.label))


def applied(mutant, source):
    return source[:mutant.start] + mutant.text + source[mutant.end:]
