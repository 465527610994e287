#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML page of 512 and of 4,096 nodes in a headless Chromium: how large it is, how long it takes to open, and its
filters. The reports are the 16 nodes of docs/examples, multiplied. Pictures of six pages are left in OUTPUT.

usage: large.py MUSTER OUTPUT SOURCE
"""

import gzip
import json
import os
import subprocess
import sys
import time
import unittest

import chromium  # skips where there is no browser
from selenium.webdriver.common.by import By

MUSTER, OUTPUT, SOURCE = [os.path.abspath(argument) for argument in sys.argv[1:4]]
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import made_reports  # noqa: E402  (the path is an argument)

# Nodes: copies of the 16 nodes with faults, bytes of the page, its elements.
LARGE = {512: (5, 700_000, 12_000), 4096: (32, 2_000_000, 40_000)}
FAILED, WARNED, OF = 5, 1, 16  # nodes of one copy
PICTURES = (1280, 400)
GENEROUS = 30  # seconds to open a page on a busy machine; it takes one or two

SEEN = """
return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).length;
"""


def page(name, report):
    path = os.path.join(OUTPUT, f"{name}.html")
    with open(path, "wb") as file:
        subprocess.run([MUSTER, "report", report, "--format", "html"], stdout=file, timeout=200, check=True)
    return path


def example():
    with gzip.open(os.path.join(SOURCE, "docs", "examples", "report.json.gz"), "rt", encoding="utf-8") as file:
        return json.load(file)


def of_unknown_type(value):
    """The report of one healthy node, whose GPU nobody knows."""
    value["run"]["nodes"] = value["run"]["nodes"][:1]
    value["run"]["job"].update(ranks=len(value["run"]["nodes"][0]["ranks"]), samples=[])
    value["sku"] = {"name": "unknown", "observe": False}
    for samples in made_reports.sample_lists(value):
        for sample in samples:
            if sample["metric"] in ("gpu.name", "node.vm_size"):
                sample.update({"value": "NVIDIA X999"} if sample["metric"] == "gpu.name" else {"value": None, "reason": "no metadata"})
    return made_reports.judged(MUSTER, value)[0]


def made(name, value):
    """The page of a report."""
    report = made_reports.save(OUTPUT, f"{name}.json", value)
    try:
        return page(name, report)
    finally:
        os.unlink(report)


def large(nodes):
    report = os.path.join(OUTPUT, f"large-{nodes}.json")
    with open(report, "w", encoding="utf-8") as file:
        file.writelines(made_reports.multiplied(example(), nodes // OF, LARGE[nodes][0]))
    try:
        return page(f"large-{nodes}", report)
    finally:
        os.unlink(report)


class Large(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(OUTPUT, exist_ok=True)
        cls.pages = {nodes: large(nodes) for nodes in LARGE}
        cls.browser = chromium.start()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def show(self, path, width=1280):
        chromium.look(self.browser, width)
        started = time.monotonic()
        self.browser.get("file://" + path)
        return time.monotonic() - started

    def count(self, selector):
        return self.browser.execute_script(SEEN, selector)

    def click(self, selector, at=0):
        element = self.browser.find_elements(By.CSS_SELECTOR, selector)[at]
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'});", element)
        element.click()

    def test_a_page_is_small_and_opens_at_once(self):
        for nodes, (faulty, most_bytes, most_elements) in LARGE.items():
            size, seconds = os.path.getsize(self.pages[nodes]), self.show(self.pages[nodes])
            elements = self.browser.execute_script("return document.querySelectorAll('*').length;")
            print(f"{nodes} nodes: {size / 1e6:.2f} MB, {elements} elements, opened in {seconds:.2f} s")
            self.assertLess(size, most_bytes)
            self.assertLess(elements, most_elements)
            self.assertLess(seconds, GENEROUS)
            self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".tiles > li")), nodes)
            self.assertEqual(self.count(".tiles > li:not([class])"), nodes - faulty * (FAILED + WARNED))
            inside = "return Math.max(...[...document.querySelectorAll('.tiles > li:not([class])')].map(e => e.children.length));"
            self.assertEqual(self.browser.execute_script(inside), 0, "a node without findings is one element")
            self.assertEqual(self.count("#nodes summary"), min(faulty * (FAILED + WARNED), 96))

    def test_kinds_of_faults_are_on_the_first_screen(self):
        self.show(self.pages[512])
        kinds = self.browser.find_elements(By.CSS_SELECTOR, ".kind > summary")
        self.assertEqual(len(kinds), 7)
        self.assertTrue(all("5 nodes" in kind.text for kind in kinds[:5]), [kind.text for kind in kinds])
        bottoms = self.browser.execute_script(
            "return [...document.querySelectorAll('.kind.fail > summary')].map(e => e.getBoundingClientRect().bottom);")
        self.assertLess(max(bottoms), 900)
        kinds[0].click()
        self.assertEqual(self.count(".kind[open] tbody tr"), 5)

    def test_tiles_have_one_size(self):
        for nodes in LARGE:
            self.show(self.pages[nodes])
            sizes = self.browser.execute_script(
                "return [...new Set([...document.querySelectorAll('.tiles > li')].map(e => e.getBoundingClientRect())"
                ".map(r => Math.round(r.width) + ' x ' + Math.round(r.height)))];")
            self.assertEqual(len(sizes), 1, sizes)

    def test_filters_of_the_map_and_of_the_list(self):
        failed, warned = LARGE[512][0] * FAILED, LARGE[512][0] * WARNED
        self.show(self.pages[512])
        self.click("#map input.only-fail")
        self.assertEqual((self.count(".tiles > li"), self.count(".tiles > .fail")), (failed, failed))
        self.assertEqual(self.count(".rack"), 10, "two domains of each copy with faults")
        self.click("#map input.only-warn")
        self.assertEqual((self.count(".tiles > li"), self.count(".tiles > .warn")), (warned, warned))
        self.assertEqual(self.count("#nodes .filtered > details"), failed + warned, "each section has its own")
        self.click("#nodes input.only-warn")
        self.assertEqual(self.count("#nodes .filtered > details"), warned)
        self.click("#nodes input[name=list]")
        self.assertEqual(self.count("#nodes .filtered > details"), failed + warned)
        self.click("#map input[name=map]")
        self.assertEqual(self.count(".tiles > li"), 512)

    def test_one_rack_alone(self):
        self.show(self.pages[512])
        self.click(".only input", 1)
        self.assertEqual((self.count(".rack"), self.count(".tiles > li")), (1, 8))
        self.click("#map input.only-fail")
        self.assertEqual(self.count(".tiles > li"), 3, "both filters hold")
        self.click("#map fieldset input[name=rack]")
        self.assertEqual(self.count(".tiles > li"), LARGE[512][0] * FAILED)

    def test_a_healthy_node_that_is_named_elsewhere_can_be_found(self):
        self.show(self.pages[512])
        lost = self.browser.execute_script(
            "return [...document.querySelectorAll('[href]')].filter(e => !document.getElementById(e.getAttribute('href').slice(1)))"
            ".map(e => e.outerHTML);")
        self.assertEqual(lost, [])

    def test_six_pages_for_people_to_look_at(self):
        value = example()
        pages = {"large-512": self.pages[512], "large-4096": self.pages[4096], "racks": made("racks", value),
                 "unknown": made("unknown", of_unknown_type(example())),
                 "healthy": made("healthy", made_reports.simulated(MUSTER, "Standard_ND96asr_v4", "--nodes", "2", profile="quick")),
                 "slow": made("slow", made_reports.simulated(MUSTER, "Standard_NC48ads_A100_v4", "--nodes", "2", "--fault",
                                                             "h2d-slow@node1/gpu1=9", profile="quick"))}
        for name, path in pages.items():
            for width in PICTURES:
                self.show(path, width)
                self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth;"), width, name)
                chromium.picture(self.browser, os.path.join(OUTPUT, f"{name}-{width}.png"), width)
        self.show(pages["unknown"])
        self.assertTrue(self.browser.title.startswith("INCONCLUSIVE: unknown machine type, 1 node, "), self.browser.title)
        self.assertIn("Next: set the machine type with --sku NAME", self.browser.find_element(By.CSS_SELECTOR, ".banner").text)


unittest.main(argv=sys.argv[:1], verbosity=2)
