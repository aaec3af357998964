"""A headless Chromium of the system, and what tests ask it."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AXE = PROJECT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
_MISSING = (
    "Chromium or its chromedriver is not installed: install both, on Debian and Ubuntu by "
    "apt-get install chromium chromium-driver"
)


class Browser:
    """One browser; its pages are files."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, *, width: int = 1280, is_dark: bool = False) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},  # clicks do not wait for scrolls
        ]
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get_log("performance")
        self.driver.get(page.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        read = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        found: list[str] = self.run(read, selector)
        return found

    def problems(self) -> list[str]:
        """Messages of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses asked for since the page was opened, its own included."""
        entries = (json.loads(e["message"])["message"] for e in self.driver.get_log("performance"))
        return [
            entry["params"]["request"]["url"]
            for entry in entries
            if entry["method"] == "Network.requestWillBeSent"
        ]

    def violations(self) -> list[str]:
        """What the accessibility checker finds, with the first element of each."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
        answer = self.driver.execute_async_script("axe.run().then(arguments[0])")
        return [
            f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:300]}" for v in answer["violations"]
        ]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser, and end it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program = next(filter(None, map(shutil.which, _NAMES)), None)
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        pytest.fail(_MISSING, pytrace=False)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
