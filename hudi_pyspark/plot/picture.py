"""A picture that can be shown and saved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudi_pyspark.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_PNG_SCALE = 2  # device pixels per Vega pixel, for today's screens
WIDTH = 720  # pixels, without titles and labels
# Colours that people with colour blindness can distinguish, too.
BLUE, ORANGE, RED, GREY = "#4c78a8", "#f58518", "#c0392b", "#c4c9cf"


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture as a Vega-Lite specification; notebooks show it as SVG.

    Showing and saving it needs the extra ``plot``.
    """

    spec: Mapping[str, Any]

    def to_svg(self) -> str:
        """Return the picture as SVG.

        Raises:
            ImportError: the extra ``plot`` is not installed.
        """
        text: str = _converter().vegalite_to_svg(dict(self.spec))
        return text

    def to_png(self) -> bytes:
        """Return the picture as PNG.

        Raises:
            ImportError: the extra ``plot`` is not installed.
        """
        image: bytes = _converter().vegalite_to_png(dict(self.spec), scale=_PNG_SCALE)
        return image

    def to_html(self) -> str:
        """Return a page with the picture and tooltips; it loads nothing from elsewhere.

        Raises:
            ImportError: the extra ``plot`` is not installed.
        """
        page: str = _converter().vegalite_to_html(dict(self.spec), bundle=True)
        return page

    def save(self, path: str | Path) -> None:
        """Write the picture to a local file.

        Args:
            path: ends in ``.svg``, ``.png``, ``.html``, or ``.json`` for the specification.

        Raises:
            InvalidOptionError: the path has another ending.
            ImportError: the extra ``plot`` is not installed; ``.json`` does not need it.
        """
        target = Path(path)
        writer = self._writers().get(target.suffix.lower())
        if writer is None:
            raise InvalidOptionError(
                f"{str(path)!r} is not a file name of a picture: it must end in "
                f"{', '.join(self._writers())}"
            )
        target.write_bytes(writer())

    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
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
    """Return a picture in the common style."""
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
            # Without values the scales have no size, so the picture needs one.
            **(drawing if values else {"width": WIDTH, "height": 1, "mark": "point"}),
        }
    )


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise ImportError(
            "pictures need a package that is not installed (extra 'plot'): "
            "pip install vl-convert-python"
        ) from error
    return vl_convert
