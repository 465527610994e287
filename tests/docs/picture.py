# SPDX-License-Identifier: Apache-2.0
"""docs/examples/report.png: what a browser shows of docs/examples/report.html, shortened to one screen.

Usage: picture.py SOURCE            the picture belongs to the page: made from it, and rendered again it looks the same;
                                    and one click leads from a finding to the picture of its node
       picture.py SOURCE --write    make it anew
"""
import hashlib
import io
import os
import sys

try:
    from PIL import Image, ImageChops, ImageStat, PngImagePlugin
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
except ImportError as error:
    print(f"skipped: {error}; the packages are python3-pil and python3-selenium")
    sys.exit(77)

SOURCE = os.path.abspath(sys.argv[1])
PAGE, PICTURE = (os.path.join(SOURCE, "docs/examples", name) for name in ("report.html", "report.png"))
WIDTH = 1280
# One finding, the map, the picture of one node, and two strips of values.
SHORTEN = """
const drop = words => document.querySelectorAll(words).forEach(one => one.remove());
drop('#findings details:nth-of-type(n+2), #machines figure:nth-of-type(n+2), #machines details, #machines figure ~ p, #values figure:nth-of-type(n+3)');
drop('#values ~ *, #values > :not(h2):not(:has(figure)):not(figure)');
const bottom = document.querySelector('#values').getBoundingClientRect().bottom + window.scrollY;
drop('footer');
return Math.ceil(bottom) + 12;
"""


def start():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--no-first-run",
                     "--disable-dev-shm-usage", *(["--no-sandbox"] if os.getuid() == 0 else [])):
        options.add_argument(argument)
    try:
        return webdriver.Chrome(options=options)
    except WebDriverException as error:
        print(f"skipped: no browser: {error.msg}")
        sys.exit(77)


def click(browser, link):
    """In the middle of the window, where the header covers nothing. Returns the target's words, if it is in the window."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", link)
    link.click()
    return browser.execute_script("""
        const target = document.querySelector(location.hash), top = target.getBoundingClientRect().top;
        return top >= -1 && top < window.innerHeight ? target.textContent : '';
        """)


def lost_clicks():
    """Each finding of a node leads to the values of the part, and to the picture of the node: what does not."""
    browser, lost = start(), []
    try:
        browser.get("file://" + PAGE)
        places = [link.text for link in browser.find_elements("css selector", "#findings [id^='f'] a:first-of-type")]
        for number, place in enumerate(places):
            node, *part = place.split(", ")
            expected = part[0].split(" ")[-1] if part else node
            for which, words in (("first", expected), ("last", f"Picture of {node}")):
                link = browser.find_elements("css selector", f"#findings [id^='f'] a:{which}-of-type")[number]
                shown = click(browser, link)
                if words not in shown and not (which == "first" and not part and shown):
                    lost.append(f"{place}: the link \"{link.text}\" shows \"{shown[:60]}\", not {words}")
        return lost if places else ["no finding is a link"]
    finally:
        browser.quit()


def render():
    browser = start()
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        browser.get("file://" + PAGE)
        height = browser.execute_script(SHORTEN)
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False})
        return Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").crop((0, 0, WIDTH, height))
    finally:
        browser.quit()


def checksum():
    with open(PAGE, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def difference(one, other):
    """The mean difference of two pictures, 0 to 255, after both are made small: fonts of versions of a browser differ a little."""
    small = [picture.convert("L").resize((150, 150), Image.BOX) for picture in (one, other)]
    return ImageStat.Stat(ImageChops.difference(*small)).mean[0]


def main():
    if sys.argv[2:] == ["--write"]:
        info = PngImagePlugin.PngInfo()
        info.add_text("sha256 of report.html", checksum())
        render().quantize(128, dither=Image.NONE).save(PICTURE, optimize=True, pnginfo=info)
        return 0
    again = "make it anew: tests/docs/picture.py . --write"
    picture = Image.open(PICTURE)
    if picture.info.get("sha256 of report.html") != checksum():
        print(f"docs/examples/report.png was made from another report.html; {again}")
        return 1
    now = render()
    differs = difference(picture, now)
    blank = difference(now, Image.new("RGB", now.size, "white"))
    print(f"size {picture.size}, now {now.size}; difference {differs:.1f}, of a blank page {blank:.1f}")
    if abs(picture.size[1] - now.size[1]) > now.size[1] / 20 or differs > blank / 3:
        print(f"docs/examples/report.png does not look like the page; {again}")
        return 1
    lost = lost_clicks()
    print("\n".join(lost))
    return 1 if lost else 0


sys.exit(main())
