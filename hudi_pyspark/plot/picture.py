"""A picture that can be shown and saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from hudi_pyspark.errors import InvalidOptionError

_PNG_SCALE = 2  # device pixels per Vega pixel, for today's screens
# Colours that people with colour blindness can distinguish, too.
BLUE, ORANGE, RED, GREY = "#4c78a8", "#f58518", "#c0392b", "#c4c9cf"


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """A picture as a Vega-Lite specification; notebooks show it as SVG.

    Showing and saving it needs the extra ``plot``, else it raises `ImportError`; only ``.json``
    does not.
    """

    spec: Mapping[str, Any]

    def to_svg(self) -> str:
        """Return the picture as SVG."""
        text: str = _converter().vegalite_to_svg(dict(self.spec))
        return text

    def to_png(self) -> bytes:
        """Return the picture as PNG."""
        image: bytes = _converter().vegalite_to_png(dict(self.spec), scale=_PNG_SCALE)
        return image

    def to_html(self) -> str:
        """Return a page with the picture and tooltips; it loads nothing from elsewhere."""
        page: str = _converter().vegalite_to_html(dict(self.spec), bundle=True)
        return page

    def save(self, path: str | Path) -> None:
        """Write the picture to a local file.

        Args:
            path: ends in ``.svg``, ``.png``, ``.html``, or ``.json`` for the specification.

        Raises:
            InvalidOptionError: the path has another ending.
        """
        target = Path(path)
        writers: Mapping[str, Callable[[], bytes]] = {
            ".svg": lambda: self.to_svg().encode(),
            ".png": self.to_png,
            ".html": lambda: self.to_html().encode(),
            ".json": lambda: json.dumps(self.spec, indent=1).encode(),
        }
        if target.suffix.lower() not in writers:
            raise InvalidOptionError(
                f"{str(path)!r} is not a file name of a picture: it must end in "
                f"{', '.join(writers)}"
            )
        target.write_bytes(writers[target.suffix.lower()]())

    def __repr__(self) -> str:
        return f"Picture({self.spec['title']['text']!r})"

    def _repr_svg_(self) -> str:
        return self.to_svg()


def picture(
    drawing: str, title: str, facts: list[str], values: list[dict[str, Any]], **chosen: object
) -> Picture:
    """Return a picture in the common style.

    Args:
        drawing: name of the Vega-Lite specification in the folder ``assets``.
        title: of the picture.
        facts: lines below the title.
        values: what is drawn.
        chosen: what the specification names by ``"$name"``.
    """
    style = _filled(_asset("style"), {"title": title, "facts": facts, "values": values})
    # Without values the scales have no size, so the picture needs one.
    nothing = {"width": 720, "height": 1, "mark": "point"}
    return Picture({**style, **(_filled(_asset(drawing), chosen) if values else nothing)})


def _asset(name: str) -> Any:  # noqa: ANN401  (of JSON)
    folder = resources.files("hudi_pyspark.plot") / "assets"
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def _filled(node: Any, chosen: Mapping[str, object]) -> Any:  # noqa: ANN401  (JSON)
    """Return a specification with values in the places that name them."""
    match node:
        case dict():
            return {key: _filled(value, chosen) for key, value in node.items()}
        case list():
            return [_filled(value, chosen) for value in node]
        case str() if node.startswith("$"):
            return chosen[node[1:]]
    return node


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise ImportError(
            "pictures need a package that is not installed (extra 'plot'): "
            "pip install vl-convert-python"
        ) from error
    return vl_convert
