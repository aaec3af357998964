"""The code blocks of README and docs, and a process that runs those of a page as printed.

    python .../tests/project/page_blocks.py .../docs/quickstart.md    (in an empty folder)

A block of Python, SQL, shell or of a console runs, unless a comment above it says why not, or which
Spark it needs:

    <!-- not run: it needs a bucket -->
    <!-- needs Spark 4.2 -->
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"(?:^<!-- (?:not run: ([^\n]+)|needs Spark ([\d.]+)) -->\n)?^```(\w*)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CODE = ("python", "sql", "sh", "console")  # other blocks show text


@dataclass(frozen=True, slots=True)
class Block:
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    reason: str  # why it cannot run; empty if it runs
    spark: str  # the oldest Spark that can run it; empty for all

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page=page.name,
            line=text[: found.start(3)].count("\n") + 1,
            language=found[3],
            text=found[4],
            reason=found[1] or "",
            spark=found[2] or "",
        )
        for found in _BLOCK.finditer(text)
        if found[3] in CODE
    ]


def has_spark(oldest: str) -> bool:
    """Return whether PySpark is as new as a release."""
    installed = [int(number) for number in version("pyspark").split(".")[:2]]
    return installed >= [int(number) for number in oldest.split(".")]


def run(blocks: list[Block]) -> None:
    """Run blocks one after the other; those of Python share their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if block.reason or (block.spark and not has_spark(block.spark)):
            continue
        sys.stdout.write(f"--- {block.name}\n")
        sys.stdout.flush()
        match block.language:
            case "python":
                # As many lines above it as on the page, so that a traceback names its line.
                code = "\n" * block.line + block.text
                exec(compile(code, block.page, "exec"), names)
            case "sql":
                for statement in filter(str.strip, block.text.split(";\n")):
                    names["spark"].sql(statement).show()
            case "sh":
                subprocess.run(["bash", "-eu", "-c", block.text], check=True)
            case _:
                for line in block.text.splitlines():
                    subprocess.run(["bash", "-eu", "-c", line.removeprefix("$ ")], check=True)


if __name__ == "__main__":
    sys.path[0] = ""  # as of a session in this folder
    run(blocks_of(Path(sys.argv[1])))
