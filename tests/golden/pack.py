"""``python -m tests.golden pack FOLDER``: make cases of this project of what a folder has.

FOLDER is a case of a collection, with ``case.json`` and two files per answer. Or it has zip files
of tables without answers: each becomes a case in a folder of its own. What was packed is compared
with what it was made of, and takes its place.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.format.properties import parse_properties
from tests.golden.case import SPARK_SCHEMA, Answer, Query, answer_of, load_case, write_case
from tests.golden.compare import rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OF_AN_ANSWER = ("expected", "schema", "also")
_OF_A_TABLE = ("case.toml", "table.zip", "answers.zip")


class PackedWronglyError(Exception):
    """What was packed is not what it was made of."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden pack", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--description", default="", help="of tables without answers")
    parser.add_argument("--reference", default="", help="whose rows count for these, and why")
    given = parser.parse_args(arguments)
    for folder in given.folder:
        if (folder / "case.json").exists():
            pack_case(folder)
            print(f"packed {folder}")
        for file in sorted(folder.glob("*.zip")):
            if file.name not in _OF_A_TABLE:
                pack_table(file, given.description, given.reference)
                print(f"packed {file.with_suffix('')}")
    return 0


def pack_case(folder: Path) -> None:
    """Pack a case of a collection in its folder.

    Raises:
        PackedWronglyError: an answer is read otherwise than before.
    """
    collected = load_case(folder)
    answers = Answers()
    facts = {key: value for key, value in collected.facts.items() if value not in ("", [])}
    facts["queries"] = [_packed_entry(query, folder, answers) for query in collected.queries]
    facts.pop("queries_that_fail", None)
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        packed = Path(beside)
        write_case(packed, facts, answers.by_file)
        if load_case(packed).facts != facts:
            raise PackedWronglyError(f"{folder} is described otherwise")
        for before, after in zip(collected.queries, load_case(packed).queries, strict=True):
            _check_query(before, after, folder, packed)
        for file in packed.iterdir():
            file.replace(folder / file.name)
    (folder / "case.json").unlink()
    for expected in folder.glob("expected*/"):
        shutil.rmtree(expected)


def pack_table(file: Path, description: str, reference: str) -> None:
    """Make a case without answers of the zip file of a table, in a folder of its name."""
    name = file.stem
    with zipfile.ZipFile(file) as archive:
        properties = parse_properties(archive.read(f"{name}/.hoodie/hoodie.properties"))
    facts = {
        "name": name,
        "description": description,
        "reference": reference,
        "table_version": int(properties.get("hoodie.table.version", "0")),
        "table_type": properties["hoodie.table.type"],
    }
    folder = file.with_suffix("")
    folder.mkdir()
    write_case(folder, facts, {})
    file.rename(folder / "table.zip")


class Answers:
    """The files of answers of a case; equal files are one."""

    def __init__(self) -> None:
        self.by_file: dict[str, bytes] = {}

    def add(self, name: str, rows: pa.Table, schema: Mapping[str, Any]) -> str:
        """Add the rows of an answer, and return the name of the file that has them.

        Args:
            name: of the file, if no other has the same rows in the same order.
            rows: of the answer.
            schema: of the rows, as Spark writes it in JSON.
        """
        content = parquet_bytes(rows, schema)
        names = {each: known for known, each in self.by_file.items()}
        file = names.get(content, f"{name}.parquet")
        if self.by_file.setdefault(file, content) != content:
            raise PackedWronglyError(f"two answers would be {file}")
        return file


def parquet_bytes(rows: pa.Table, schema: Mapping[str, Any]) -> bytes:
    """Return a Parquet file with Spark's schema in its footer; the zip compresses it."""
    sink = pa.BufferOutputStream()
    described = rows.replace_schema_metadata({SPARK_SCHEMA: json.dumps(schema)})
    pq.write_table(described, sink, compression="none")
    return bytes(sink.getvalue())


def _packed_entry(query: Query, folder: Path, answers: Answers) -> dict[str, Any]:
    """Return what the description says of a query, with the names of files in the archive."""
    facts = _packed_answer(query.facts, query.name, folder, answers)
    also = query.facts.get("also", {})
    if also:
        facts["also"] = {
            release: _packed_answer(entry, f"{query.name}@{release}", folder, answers)
            for release, entry in also.items()
        }
    return facts


def _packed_answer(
    entry: Mapping[str, Any], name: str, folder: Path, answers: Answers
) -> dict[str, Any]:
    kept = {key: value for key, value in entry.items() if value != "" and key not in _OF_AN_ANSWER}
    answer = answer_of(folder, entry)
    if answer is not None:
        kept["answer"] = answers.add(name, answer.rows(), answer.schema())
    return kept


def _check_query(before: Query, after: Query, collected: Path, packed: Path) -> None:
    """Compare a query of a collection with what it became; the folders are those of the cases."""
    described = (before.key, before.options, before.columns, before.error)
    if described != (after.key, after.options, after.columns, after.error):
        raise PackedWronglyError(f"{before.key} is described otherwise")
    _check_answer(before.answer, after.answer, before.key)
    entries = [(before.facts, after.facts)]
    for release, entry in before.facts.get("also", {}).items():
        entries.append((entry, after.facts["also"][release]))
    for known, found in entries:
        _check_answer(answer_of(collected, known), answer_of(packed, found), before.key)


def _check_answer(before: Answer | None, after: Answer | None, what: str) -> None:
    """Compare types, values in their order, and Spark's schemas."""
    if before is None or after is None:
        if before is not after:
            raise PackedWronglyError(f"{what} lost its answer")
        return
    if before.schema() != after.schema():
        raise PackedWronglyError(f"{what} has another schema of Spark")
    known, found = before.rows(), after.rows()
    if known.schema != found.schema or rows_of(known) != rows_of(found):
        raise PackedWronglyError(f"{what} has other rows")
