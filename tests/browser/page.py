#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML page in a headless Chromium: it loads nothing, everything in it can be reached and read, and nothing from
outside becomes markup. Pages: a simulated run (`muster sim --html`), hostile names, and 1,024 nodes.

usage: page.py MUSTER WRITE_PAGES OUTPUT SOURCE NPM
OUTPUT: where the pages and their pictures are left. NPM: where `npm ci` has installed what package.json names.
"""

import base64
import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

import chromium  # skips where there is no browser

try:
    import html5lib
    from selenium.common.exceptions import NoAlertPresentException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError as missing:
    print(f"skipped: {missing}; Debian's packages python3-selenium and python3-html5lib have it")
    sys.exit(77)

MUSTER, WRITE_PAGES, OUTPUT, SOURCE, NPM = [os.path.abspath(argument) for argument in sys.argv[1:6]]
WIDTHS = (390, 1024, 1920)
SCHEMES = ("light", "dark")
LIMIT = 1000 * 1000

# Every element of a page, with the text of its own and how it is drawn.
READ_TEXT = """
const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
};
const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('title, desc, .hidden, .skip-link')) continue;
    const style = getComputedStyle(element), svg = element instanceof SVGElement;
    if (style.visibility !== 'visible') continue;
    const back = behind(element), front = over(rgba(svg ? style.fill : style.color), back);
    found.push([node.data.trim().slice(0, 60), ratio(front, back), style.userSelect]);
}
return found;
"""
BAD_LINKS = """
const links = [...document.querySelectorAll('[href]')];
const bad = links.filter(link => !link.getAttribute('href').startsWith('#') ||
    !document.getElementById(link.getAttribute('href').slice(1)));
return [links.length, bad.map(link => link.outerHTML.slice(0, 200))];
"""
# Texts of the pictures of nodes that leave their box or cover another text.
LOST_TEXTS = """
const lost = [];
const cover = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
for (const picture of document.querySelectorAll('svg.machine')) {
    const texts = [...picture.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]);
    for (const [text, at] of texts) {
        const part = text.closest('g') && text.closest('g').querySelector('rect.part');
        const box = (part || picture).getBoundingClientRect();
        if (at.left < box.left || at.right > box.right || at.top < box.top - 1 || at.bottom > box.bottom + 1)
            lost.push(text.textContent + ' leaves its box');
        for (const [other, there] of texts)
            if (other !== text && cover(at, there)) lost.push(text.textContent + ' covers ' + other.textContent);
    }
}
return [document.querySelectorAll('svg.machine').length, lost];
"""
TWICE = "const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.length - new Set(ids).size;"
TAB_STOPS = """
return [...document.querySelectorAll('a[href], [tabindex], summary')].filter(e =>
    e.tabIndex >= 0 && e.checkVisibility()).length;
"""


def write_pages():
    """The pages by name; a picture of the last run may be beside them."""
    os.makedirs(OUTPUT, exist_ok=True)
    for old in glob.glob(os.path.join(OUTPUT, "*.html")):
        os.unlink(old)
    subprocess.run([WRITE_PAGES, OUTPUT], check=True, timeout=60)
    page, report = os.path.join(OUTPUT, "run.html"), os.path.join(OUTPUT, "run.json")
    done = subprocess.run([MUSTER, "sim", "--sku", "Standard_NC48ads_A100_v4", "--nodes", "2",
                           "--fault", "h2d-slow@node1/gpu1=9", "--fault", "ecc-uncorrected@node2/gpu0",
                           "--fault", "oom@node2", "--report", report, "--html", page],
                          capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    again = subprocess.run([MUSTER, "report", report, "--format", "html"], capture_output=True, timeout=60, check=True)
    with open(page, "rb") as file:
        assert file.read() == again.stdout, "--html is what `muster report --format html` prints"
    return {name: os.path.join(OUTPUT, f"{name}.html") for name in ("run", "hostile", "fleet")}


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = write_pages()
        cls.browser = chromium.start()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def look(self, width, scheme, media=""):
        chromium.look(self.browser, width, scheme, media)

    def show(self, name, width=1024, scheme="light", media=""):
        self.look(width, scheme, media)
        self.browser.get("file://" + self.pages[name])
        self.assertTrue(self.browser.title.startswith("FAIL: "), self.browser.title)

    def run_script(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def test_pages_load_without_a_message_and_without_any_request(self):
        for name, path in self.pages.items():
            self.browser.get_log("browser"), self.browser.get_log("performance")
            self.show(name)
            self.assertEqual(self.browser.get_log("browser"), [], name)
            events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
            asked = [event["params"]["request"]["url"] for event in events
                     if event["method"] == "Network.requestWillBeSent"]
            self.assertEqual(asked, ["file://" + path], name)

    def test_every_link_has_its_target_and_every_id_is_there_once(self):
        for name in self.pages:
            self.show(name)
            count, bad = self.run_script(BAD_LINKS)
            self.assertGreater(count, 20, name)
            self.assertEqual(bad, [], name)
            self.assertEqual(self.run_script(TWICE), 0, name)

    def test_text_can_be_selected_and_has_the_contrast_of_wcag_aa(self):
        for name in ("run", "hostile"):
            for scheme in SCHEMES:
                self.show(name, scheme=scheme)
                self.run_script("for (const d of document.querySelectorAll('details')) d.open = true;")
                found = self.run_script(READ_TEXT)
                self.assertGreater(len(found), 300, name)
                self.assertEqual([text for text in found if text[1] < 4.5], [], f"{name} {scheme}")
                self.assertEqual({text[2] for text in found} - {"auto", "text", "all"}, set(), name)
        self.show("run")
        selected = self.run_script("getSelection().selectAllChildren(document.body); return getSelection().toString();")
        for words in ("2 of 2 nodes failed", "copy.h2d", "H2D, one GPU at a time", "--exclude=sim-[1-2]"):
            self.assertIn(words, selected)

    def test_no_size_has_a_page_wider_than_the_window(self):
        for name in self.pages:
            self.show(name)
            self.run_script("for (const d of document.querySelectorAll('details')) d.open = true;")
            for width in WIDTHS:
                for scheme in SCHEMES if name != "fleet" else SCHEMES[:1]:
                    self.look(width, scheme)
                    wide = self.run_script("return document.documentElement.scrollWidth;")
                    self.assertLessEqual(wide, width, f"{name} {width}")
                    if name == "run":
                        chromium.picture(self.browser, os.path.join(OUTPUT, f"{name}-{width}-{scheme}.png"), width)

    def test_the_accessibility_tree_has_headings_landmarks_and_names(self):
        self.show("run")
        nodes = [node for node in self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
                 if not node.get("ignored")]

        def role(node):
            return node["role"]["value"]

        def name(node):
            return node.get("name", {}).get("value", "")

        levels = [p["value"]["value"] for node in nodes if role(node) == "heading"
                  for p in node["properties"] if p["name"] == "level"]
        self.assertEqual(levels[0], 1)
        self.assertEqual(levels.count(1), 1)
        self.assertTrue(all(after - before <= 1 for before, after in zip(levels, levels[1:])), levels)
        roles = [role(node) for node in nodes]
        for landmark in ("banner", "navigation", "main", "contentinfo"):
            self.assertEqual(roles.count(landmark), 1, landmark)
        links = [name(node).strip() for node in nodes if role(node) == "link"]
        self.assertGreater(len(links), 10)
        self.assertNotIn("", links)
        self.assertTrue(any(link.startswith("GPU ") and link.endswith(" of sim-1: fail") for link in links), links)
        self.assertTrue(all(name(node) for node in nodes if role(node) in ("table", "region", "article", "group")
                            and role(node) != "group"))

    def test_axe_has_no_complaint(self):
        axe = os.path.join(NPM, "node_modules", "axe-core", "axe.min.js")
        if not os.path.exists(axe):
            self.skipTest(f"no {axe}: `sh src/setup.sh test` installs it")
        with open(axe, encoding="utf-8") as file:
            source = file.read()
        for name in ("run", "hostile"):
            for scheme in SCHEMES:
                self.show(name, scheme=scheme)
                self.run_script(source)
                result = self.browser.execute_async_script(
                    "const done = arguments[0]; axe.run(document).then(r => done(r.violations.map(v =>"
                    " [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)])), e => done(String(e)));")
                self.assertEqual(result, [], f"{name} {scheme}")

    def test_a_link_of_the_map_leads_to_values_that_can_be_read(self):
        self.show("fleet")
        closed = "return document.getElementById(arguments[0]).checkVisibility();"
        self.assertFalse(self.run_script(closed, "n393"))
        self.browser.find_element(By.CSS_SELECTOR, "#map a[href='#n393']").click()
        self.assertTrue(self.run_script(closed, "n393"))
        node = self.run_script("const e = document.querySelector(':target'), r = e.getBoundingClientRect();"
                               "return [e.id, e.innerText, r.top >= 0 && r.top <= innerHeight];")
        self.assertEqual((node[0], node[2]), ("n393", True))
        self.assertIn("copy.h2d 11.2 GB/s", node[1])

    def test_the_keyboard_reaches_what_matters_and_shows_where_it_is(self):
        self.show("run")
        body = self.browser.find_element(By.TAG_NAME, "body")
        body.send_keys(Keys.TAB)
        text, outline = self.run_script("const e = document.activeElement;"
                                        "return [e.innerText, getComputedStyle(e).outlineStyle];")
        self.assertEqual((text, outline), ("Skip to the content", "solid"))
        self.show("fleet")
        self.assertLess(self.run_script(TAB_STOPS), 1024 + 300, "a node, and each thing with a finding")

    def test_pictures_of_nodes_can_be_read(self):
        for name, pictures in (("run", 2), ("hostile", 1), ("fleet", 2)):
            self.show(name)
            count, lost = self.run_script(LOST_TEXTS)
            self.assertGreaterEqual(count, pictures, name)
            self.assertEqual(lost, [], name)
        self.show("run")
        words = self.run_script("return document.getElementById('m0').textContent;")
        for wanted in ("NUMA node 0: CPUs 0-23", "GPU 1, rank 1", "PCIe 4.0 x16", "NVLink 12 x 25 GB/s"):
            self.assertIn(wanted, words)
        marked = self.run_script("return [...document.querySelectorAll('#m0 g.fail text')].map(e => e.textContent);")
        self.assertEqual(marked[0], "GPU 1, rank 1")

    def test_exchanges_and_the_inventory_of_a_thousand_nodes_are_short_tables(self):
        self.show("fleet")
        rows = "return [...document.querySelectorAll(arguments[0])].map(e => e.rows.length);"
        for table in ("#matrix table", "#inventory table"):
            lengths = self.run_script(rows, table)
            self.assertGreaterEqual(len(lengths), 1, table)
            self.assertLess(max(lengths), 600, table)

    def test_the_inventory_alone_is_a_page(self):
        path = os.path.join(OUTPUT, "inventory.html")
        with open(path, "wb") as file:
            subprocess.run([MUSTER, "report", os.path.join(OUTPUT, "run.json"), "--format", "html", "--inventory"],
                           stdout=file, timeout=60, check=True)
        self.browser.get("file://" + path)
        self.assertEqual(self.run_script(BAD_LINKS)[1], [])
        self.assertEqual([e.text for e in self.browser.find_elements(By.CSS_SELECTOR, "#inventory caption")],
                         ["Topology by rank", "Nodes", "Fabric by port"])
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#findings"), [])

    def test_paper_has_all_but_the_navigation(self):
        self.show("run", media="print")
        self.assertFalse(self.run_script("return document.querySelector('nav').checkVisibility();"))
        self.assertTrue(self.run_script("return document.querySelector('.banner').checkVisibility();"))
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
        self.assertTrue(pdf.startswith(b"%PDF-"))

    def test_hostile_names_are_text(self):
        self.show("hostile")
        with self.assertRaises(NoAlertPresentException):
            _ = self.browser.switch_to.alert.text
        self.assertTrue(self.browser.title.startswith("FAIL: <script>document.title='owned'</script>"), self.browser.title)
        made = "return document.querySelectorAll('script, img, b b, i, u, iframe, object, embed, form, base, link').length;"
        self.assertEqual(self.run_script(made), 0)
        handlers = "return [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())" \
                   ".filter(a => a.startsWith('on') || a === 'x=\"').length;"
        self.assertEqual(self.run_script(handlers), 0)
        text = self.run_script("return document.body.innerText;")
        for words in ("<script>document.title='owned'</script>", "</style></title></svg><img src=x onerror=alert(1)>",
                      "\"' onmouseover='alert(2)' x=\"", "]]>--><!-- <b>bold</b> &lt;i&gt; &#60;u&#62;",
                      "javascript:alert(3)\\x1b[2J\\u202egpj\\u2066", "\\xff\\xfe broken \\xc3"):
            self.assertIn(words, text)
        self.assertEqual(self.run_script("return document.styleSheets.length;"), 1)

    def test_a_report_of_8192_gpus_is_small_and_its_faults_are_open(self):
        self.assertLess(os.path.getsize(self.pages["fleet"]), LIMIT)
        self.show("fleet")
        opened = self.run_script("return [...document.querySelectorAll('#nodes details[open] summary b')]"
                                 ".map(e => e.textContent);")
        self.assertIn("sim-6", opened)
        self.assertEqual(len(opened), 3)
        racks = [rack.text for rack in self.browser.find_elements(By.CSS_SELECTOR, "#map .rack")]
        self.assertEqual(len(racks), 33)
        self.assertTrue(racks[0].startswith("switch s0\n1 fail, 1 warn, 30 pass\nonly this one\nsim-1\n"), racks[0])
        self.assertTrue(racks[-1].startswith("no known switch\n1 fail\n"), racks[-1])
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".tiles > li")), 1024)


class Valid(unittest.TestCase):
    """The pages of the last test class, by parsers that know HTML."""

    def pages(self):
        return [os.path.join(OUTPUT, f"{name}.html") for name in ("run", "hostile")]

    def test_a_strict_parser_finds_no_error(self):
        for path in self.pages():
            with open(path, "rb") as file:
                html5lib.HTMLParser(strict=True).parse(file, transport_encoding="utf-8")

    def test_the_validator_finds_no_error(self):
        validator = os.path.join(NPM, "node_modules", "html-validate", "bin", "html-validate.mjs")
        node = shutil.which("node")
        if not node or not os.path.exists(validator):
            self.skipTest(f"no {validator}, or no node: `sh src/setup.sh test` installs them")
        config = os.path.join(SOURCE, "tests", "browser", "htmlvalidate.json")
        done = subprocess.run([node, validator, "--config", config, *self.pages()], capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
