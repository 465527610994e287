# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for the tests of the HTML page: started, shown a page in some way, and a picture taken of it."""

import base64
import os
import shutil
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError as missing:
    print(f"skipped: {missing}; Debian's package python3-selenium has it")
    sys.exit(77)

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    print("skipped: no chromium or chromedriver here; Debian's packages chromium and chromium-driver have them")
    sys.exit(77)


def start():
    options = Options()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-device-scale-factor=1", "--no-first-run", "--disable-background-networking"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's own refuses to run as root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def look(browser, width, scheme="light", media=""):
    """Show the page that is loaded in another way."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})


def picture(browser, path, width):
    """What is seen of the page that is loaded, from its top on."""
    height = browser.execute_script("return document.documentElement.scrollHeight;")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {  # parts outside the window may not be laid out
        "width": width, "height": min(height, 8000), "deviceScaleFactor": 1, "mobile": False})
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {
        "format": "png", "captureBeyondViewport": True,
        "clip": {"x": 0, "y": 0, "width": width, "height": min(height, 8000), "scale": 1}})
    with open(path, "wb") as file:
        file.write(base64.b64decode(shot["data"]))
