"""A drawing that can be shown and saved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_PNG_SCALE = 2  # pixels of a screen have halved since Vega chose its own
WIDTH = 720  # of what is drawn, in pixels; titles and labels come on top
# Two sides of one thing in one hue, what asks for attention in another: told apart by everybody.
BLUE, ORANGE, RED, GREY = "#4c78a8", "#f58518", "#c0392b", "#c4c9cf"


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A drawing as a Vega-Lite specification; notebooks show it as SVG.

    Showing and saving need the extra ``plot``.
    """

    spec: Mapping[str, Any]

    def to_svg(self) -> str:
        """The drawing as SVG."""
        text: str = _converter().vegalite_to_svg(dict(self.spec))
        return text

    def to_png(self) -> bytes:
        """The drawing as PNG."""
        image: bytes = _converter().vegalite_to_png(dict(self.spec), scale=_PNG_SCALE)
        return image

    def to_html(self) -> str:
        """A page that shows the drawing with tooltips; it loads nothing from anywhere."""
        page: str = _converter().vegalite_to_html(dict(self.spec), bundle=True)
        return page

    def save(self, path: str | Path) -> None:
        """Write the drawing to a local file.

        Args:
            path: ends in ``.svg``, ``.png``, ``.html``, or ``.json`` for the specification.

        Raises:
            InvalidOptionError: another ending.
        """
        target = Path(path)
        draw = self._forms().get(target.suffix.lower())
        if draw is None:
            raise InvalidOptionError(
                f"{str(path)!r} is no name for a picture: it must end in {', '.join(self._forms())}"
            )
        target.write_bytes(draw())

    def _forms(self) -> Mapping[str, Callable[[], bytes]]:
        return {
            ".svg": lambda: self.to_svg().encode(),
            ".png": self.to_png,
            ".html": lambda: self.to_html().encode(),
            ".json": lambda: json.dumps(self.spec, indent=1).encode(),
        }

    def __repr__(self) -> str:
        return f"Picture({self.spec['title']['text']!r})"

    def _repr_svg_(self) -> str:
        return self.to_svg()


def picture(
    title: str, facts: list[str], values: list[dict[str, Any]], drawing: Mapping[str, Any]
) -> Picture:
    """A picture in the style that all have.

    Args:
        title: its first line.
        facts: what it shows in words, one line each.
        values: the data, one mapping per mark.
        drawing: marks and encodings, or layers, or panels.
    """
    return Picture(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "title": {"text": title, "subtitle": facts, "anchor": "start", "offset": 12},
            "data": {"values": values},
            "background": "white",
            "padding": 12,
            "config": {
                "title": {"fontSize": 15, "subtitleFontSize": 11, "subtitleColor": "#555"},
                "axis": {"gridColor": "#eee", "labelFontSize": 10, "titleFontWeight": "normal"},
                "legend": {"orient": "top", "title": None, "labelFontSize": 11},
                "view": {"stroke": None},
            },
            # Scales of no values have no size, which ends in a picture of none.
            **(drawing if values else {"width": WIDTH, "height": 1, "mark": "point"}),
        }
    )


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  (an optional extra, loaded when asked for)
    except ImportError as error:
        raise ImportError(
            "pictures need the extra plot: pip install 'hudi-pyspark[plot]'"
        ) from error
    return vl_convert
