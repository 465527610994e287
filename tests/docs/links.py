# SPDX-License-Identifier: Apache-2.0
"""Every link of the documentation has its target: files, headings, and pages that sources and help texts name.

Usage: links.py SOURCE
"""
import os
import re
import sys
import unittest

SOURCE = os.path.abspath(sys.argv[1])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# Not those of other projects: expectation files cite their designs and references.
PAGE = re.compile(r"(?<![\w/.])(?:\.\./)*docs/(?!designs/|reference/gpu-)[\w./-]+\.(?:md|json|1|png|svg|html)\b(?!\.gz)")


def files_of(*folders):
    """The files of the source tree in these folders, as paths from its root."""
    names = []
    for folder in folders:
        for place, _, files in os.walk(os.path.join(SOURCE, folder)):
            names += [os.path.relpath(os.path.join(place, file), SOURCE) for file in files if not file.endswith(".pyc")]
    return sorted(names)


def pages():
    return ["README.md"] + [name for name in files_of("docs", "src", "tests", "slurm", "configs") if name.endswith(".md")]


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def prose(text):
    """The text without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)


def anchors(text):
    """The anchors of all headings, as GitHub makes them."""
    found = set()
    for title in re.findall(r"^#+ +(.*)$", prose(text), flags=re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        same = sum(1 for one in found if one == slug or re.fullmatch(re.escape(slug) + r"-\d+", one))
        found.add(f"{slug}-{same}" if same else slug)
    return found | set(re.findall(r'<a (?:name|id)="([^"]+)"', text))


def broken_links(name, text):
    """The links of a page that lead nowhere."""
    broken = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(text))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if path and not os.path.exists(os.path.join(SOURCE, target)):
            broken.append(f"{name}: {link}: no file {target}")
        elif anchor and target.endswith(".md") and anchor not in anchors(read(target) if path else text):
            broken.append(f"{name}: {link}: no heading #{anchor} in {target}")
    return broken


class Links(unittest.TestCase):
    def test_each_link_has_its_target(self):
        self.assertIn("docs/install.md", pages())
        self.assertEqual([line for page in pages() for line in broken_links(page, read(page))], [])

    def test_a_missing_file_and_a_missing_heading_are_found(self):
        self.assertEqual(len(broken_links("README.md", "[a](docs/no-such.md) [b](LICENSE#x) [c](docs/install.md#no-such)")), 2)
        self.assertEqual(broken_links("docs/x.md", "# A `b`: c (d)\n[a](#a-b-c-d)"), [])

    def test_each_page_that_sources_name_exists(self):
        missing = []
        for name in files_of("src", "include", "configs", "slurm", "tests", "docs", ".ci") + ["CMakeLists.txt", "README.md"]:
            if name.startswith(("tests/gpu/recorded/", "tests/fuzz/corpus/", "tests/docs/links.py", "tests/style/",
                                "tests/published/", "docs/dev/published.md")):  # pages of others
                continue
            for page in set(PAGE.findall(read(name))):
                page = re.sub(r"^(\.\./)+", "", page)
                if not os.path.exists(os.path.join(SOURCE, page)):
                    missing.append(f"{name}: {page}")
        self.assertEqual(missing, [])

    def test_each_page_can_be_reached_from_the_readme(self):
        reached, todo = set(), ["README.md"]
        while todo:
            page = todo.pop()
            if page in reached or not page.endswith(".md"):
                continue
            reached.add(page)
            for link in LINK.findall(prose(read(page))):
                path = link.partition("#")[0]
                if path and not re.match(r"[a-z]+:", link):
                    todo.append(os.path.normpath(os.path.join(os.path.dirname(page), path)))
        self.assertEqual([page for page in pages() if page.startswith("docs/") and page not in reached], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
