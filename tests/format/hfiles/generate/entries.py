"""Write the entries of the HFiles: a key, a tab and a value per line, in the writer's order.

``python entries.py FOLDER`` writes ``entries.tsv``, in order of the keys' bytes, with a key
that occurs many times; and ``java_order.tsv``, in order of Java's strings, which differs from the
former where characters lie above U+FFFF.
"""

import sys
from pathlib import Path


def as_java_string(key: str) -> bytes:
    return key.encode("utf-16-be")


def main(folder: Path) -> None:
    keys = [f"k{number:04}" for number in range(0, 600, 2)]
    keys += ["k0100"] * 60 + ["k0300", "k0598", "k", "é", "ключ"]
    lines = [f"{key}\tvalue {place} of {key}\n" for place, key in enumerate(sorted(keys))]
    (folder / "entries.tsv").write_text("".join(lines), "utf-8")
    wide = [f"{lead}{number:03}" for lead in "a\ue000\ufffd\U0001f600" for number in range(80)]
    wide += [f"m\ue000{number}" for number in range(9)]
    wide += [f"m\U0001f600{number}" for number in range(9)]
    lines = [f"{key}\tvalue of {key}\n" for key in sorted(wide, key=as_java_string)]
    (folder / "java_order.tsv").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
