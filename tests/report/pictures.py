"""Draws the pictures of reports that README and docs show: ``python -m tests.report.pictures``.

Run it, and look at them, whenever the page changes.
"""

import base64
import tempfile
from pathlib import Path

from hudi_pyspark import HudiTable
from tests.conftest import PROJECT
from tests.damage import unpack
from tests.report.browser import Browser, chromium

IMAGES = PROJECT / "docs" / "images"


def _page(case: str, folder: Path) -> Path:
    """Write the report of a golden table, as if the table was in a lake."""
    page = HudiTable(unpack(case, folder)).report().save(folder / f"{case}.html")
    text = page.read_text(encoding="utf-8").replace(str(folder), "/lake")
    page.write_text(text, encoding="utf-8")
    return page


def _draw(browser: Browser, name: str, width: int, height: int, top: int = 0) -> None:
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    wanted = {"format": "webp", "quality": 85, "clip": clip, "captureBeyondViewport": True}
    answer = browser.driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
    (IMAGES / f"{name}.webp").write_bytes(base64.b64decode(answer["data"]))


def main() -> None:
    """Draw the pictures."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        archived, indexed = (
            _page(case, Path(folder)) for case in ("v9_mor_archived", "v9_mor_mdt_indexes")
        )
        browser.open(archived)
        _draw(browser, "report", 1280, 1290)
        browser.open(archived, is_dark=True)
        _draw(browser, "report-dark", 1280, 1290)
        browser.open(archived, width=390)
        _draw(browser, "report-narrow", 390, 1180)
        browser.open(indexed, is_dark=True)
        top = browser.run("return document.querySelector('#storage').offsetTop")
        _draw(browser, "report-storage", 1280, 1000, top - 20)


if __name__ == "__main__":
    main()
