"""Hooks of mkdocs: files that the pages in docs/ link to, and names that break well.

The links work in a checkout and on Git hosts. On the site docs/ is the root folder, so links lose
their ``docs/`` or ``../``.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\]\((\.\./)?(docs/)?")
_SOURCE = re.compile(r"(?<=(?:src|set)=\")docs/")
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]*(?=</code>)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files, with README as the front page."""
    names = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "LICENSE")
    others = [PROJECT / name for name in names]
    others += [PROJECT / "tests" / "golden_extra" / "README.md"]
    others += [PROJECT / "verification" / "README.md"]
    copied = ("engines.py", "nearest_vectors.py", "pipelines.py")
    others += [PROJECT / "examples" / name for name in copied]
    others += sorted((PROJECT / "examples").glob("*.ipynb"))
    for path in others:
        name = path.relative_to(PROJECT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    front = File.generated(config, "index.md", abs_src_path=str(PROJECT / "README.md"))
    files.append(front)
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Convert links to those of the site."""
    is_in_folder = "/" in page.file.src_uri
    markdown = markdown.replace("](../README.md", "](index.md")
    linked = _LINK.sub(lambda link: "](../" if link[1] and is_in_folder else "](", markdown)
    return _SOURCE.sub("", linked)


def on_page_content(html: str, **_: object) -> str:
    """Let long names in tables break after dots and underscores."""

    def breakable(name: re.Match[str]) -> str:
        return re.sub(r"(?<=[._/=])(?=\w)", "<wbr>", name[0])

    return _CELL.sub(lambda cell: _CODE.sub(breakable, cell[0]), html)
