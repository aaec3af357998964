"""Render pages from templates: text is escaped, and only the page's own script may run."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from hudi_pyspark.errors import InvalidOptionError, printable
from hudi_pyspark.extras import needs_extra
from hudi_pyspark.format.timeline.instant import moment_of
from hudi_pyspark.wording import byte_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from jinja2 import Environment

SUFFIXES: Final = (".html", ".json")
# Every page begins with it, before any text of a table.
_GENERATOR = '<meta name="generator" content="hudi-py report">'
_JSON_KEYS = {"format", "made_at", "table", "findings"}
_HEAD = 200  # characters of a page that include the generator


def render(template: str, content: Mapping[str, Any]) -> str:
    """Render a template of this folder.

    Args:
        template: the file's name in ``assets``.
        content: for the template; its texts may contain anything.

    Raises:
        ImportError: the extra ``report`` is not installed.
    """
    style = _asset("report.css")
    script = _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    return page.render(
        content=content, style=style, script=script, policy=policy, generator=_GENERATOR
    )


def refuse_other_files(files: Iterable[Path]) -> None:
    """Refuse to replace files that are not reports, whether pages or JSON.

    Raises:
        InvalidOptionError: there is such a file; it is named.
    """
    for file in files:
        if file.is_file() and not _is_report(file):
            raise InvalidOptionError(
                f"{str(file)!r} exists and is not a report",
                advice="Choose another name, or replace it: force=True, in the command --force",
            )


def _is_report(file: Path) -> bool:
    try:
        if file.suffix != ".json":
            with file.open(encoding="utf-8") as page:
                return _GENERATOR in page.read(_HEAD)
        content = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError):  # no text, no JSON, or JSON that is too deep
        return False
    return isinstance(content, dict) and content.keys() >= _JSON_KEYS


@cache
def _environment() -> Environment:
    with needs_extra("report"):
        import jinja2  # noqa: PLC0415  (an optional extra)

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        # Control characters are escaped in text, but not in markup, which has its own type.
        finalize=lambda value: printable(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"bytes": byte_text, "duration": duration_text, "instant": instant_text}
    return environment


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__ or "") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def instant_text(instant: str | None) -> str:
    """Format an instant as date and time; one that is not a time stays, and None is ``never``."""
    moment = moment_of(instant)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment is not None else instant or "never"
