"""Tables that random plans ask: three families, each with what plans over them prefer.

``golden`` has golden tables of the project. ``ends`` has tables whose values are the ends of their
types. The tables of ``names`` share the names of their columns, with equal types and with others:
texts of numbers and of days convert to the types that other tables have for the column, so that
queries which compare them have rows. `verification/generate/random_plans.py` makes both again. Each
table has a copy, Parquet files with the rows that Apache Hudi read or was given; its columns, types
and literals come from there, so that plans are drawn without Spark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from verification.common.archives import golden_folder, read_files, unpack
from verification.common.data import load_data
from verification.random_plans.columns import FLAT, Column, Scope

_DATA = load_data(__file__, "families.toml")
FAMILIES = tuple(_DATA)
ARCHIVES = {
    "ends": Path(__file__).with_name("extremes.zip"),
    "names": Path(__file__).with_name("shared_names.zip"),
}
_CASES = tuple(_DATA["golden"]["cases"].values())
_ALIASES = ("made", "count", "other")


@dataclass(frozen=True)
class Table:
    """A table and its copy."""

    name: str  # of its view
    scope: Scope
    place: str  # folder of the table; "" if there are only the Parquet files of the copy
    copy: str  # file or folder of Parquet files with its rows
    is_selected: bool = False  # whether a read selects the columns: the copy lacks those of Hudi


@dataclass(frozen=True)
class View:
    """A view over a table or over another view."""

    name: str
    scope: Scope
    base: str  # what it is made over
    query: str  # that it stands for
    # Name of a column that gets another type by a schema, and the type; such a view is one of the
    # source of the base.
    spelled: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Tables:
    """A family of tables."""

    name: str  # one of `FAMILIES`
    tables: tuple[Table, ...]  # the first ones are asked more often
    views: tuple[View, ...]
    archives: tuple[Path, ...]  # zip files of the tables, and of copies that are there
    keys: tuple[str, ...]  # names of columns by which most joins are
    aliases: tuple[str, ...]  # names of columns of results
    strays: float  # share of literals that other columns of the kind have
    repeats: float  # how often a query asks the table again that it asked before
    digests: int  # how often rows are fetched as digests, beside 60 times that they are collected
    sizes: tuple[float, ...]  # how often a condition has at most 1, 3, 12, 100 and 1,000 terms

    def unpack(self, folder: Path) -> None:
        """Put the tables and their copies into a folder."""
        for archive in self.archives:
            unpack(archive, folder)
        for table in self.tables:
            if table.place in _CASES:
                (folder / table.copy).write_bytes(_copy_of_case(table.place))


@cache
def load(family: str) -> Tables:
    """Return a family by its name."""
    described = _DATA[family]
    archives = [golden_folder(case) / "table.zip" for case in described.get("cases", {}).values()]
    if family in ARCHIVES:
        archives = [ARCHIVES[family]]
        files = read_files(ARCHIVES[family])
        tables = [_table(files, name, **each) for name, each in described["tables"].items()]
    else:
        tables = [
            Table(name, _scope(_copy_of_case(case)), case, f"{name}.parquet")
            for name, case in described["cases"].items()
        ]
    if family == "names":
        tables.append(_variants())
    known = {table.name: table.scope for table in tables}
    views = []
    for name, view in described.get("views", {}).items():
        views.append(_view(name, known[view["base"]], **view))
        known[name] = views[-1].scope
    prefers = {"aliases": _aliases(tables), **described["prefers"]}
    return Tables(family, tuple(tables), tuple(views), tuple(archives), **prefers)


def _copy_of_case(case: str) -> bytes:
    """Return the Parquet file with Apache Hudi's snapshot of a golden table."""
    return read_files(golden_folder(case) / "answers.zip")["snapshot.parquet"]


def _table(
    files: Mapping[str, bytes], name: str, *, key: str, copy: str = "", left_out: str = ""
) -> Table:
    """Return a table of an archive.

    Args:
        files: of the archive.
        name: of the table.
        key: column of the record key.
        copy: file of the copy; by default a folder with one file, which has the columns of Hudi.
        left_out: column that plans do not ask for.
    """
    place = name if f"{name}/.hoodie/hoodie.properties" in files else ""
    found = copy or f"{name}.parquet"
    (rows,) = (f for f in files if f.startswith(found) and f.endswith(".parquet"))
    scope = _scope(files[rows], key)
    columns = tuple(column for column in scope.columns if column.name != left_out)
    return Table(name, replace(scope, columns=columns), place, found, is_selected=bool(copy))


def _view(
    name: str,
    scope: Scope,
    *,
    base: str,
    items: str = "*",
    where: str = "",
    spelled: Sequence[str] = ("", ""),
) -> View:
    """Return a view of the columns that are in scope in its base; see `View`."""
    known = {column.name: column for column in scope.columns}
    columns: list[Column] = []
    unique: list[Column] = []
    for item in items.split(", "):
        source, _, made = item.rpartition(" AS ")
        if made.startswith("*"):
            columns += [column for column in scope.columns if f"({column.name})" not in made]
            unique += scope.unique
            continue
        cast = re.fullmatch(r"CAST\((\w+) AS string\)", source)
        column = known.get(cast[1] if cast else source) or known[made]
        data_type = pa.string() if cast else column.type
        columns.append(replace(column, ref=made, name=made, type=data_type))
        if column in scope.unique and not unique:
            unique = columns[-1:]
    # Spark takes texts of another collation for equal that are not.
    columns = [replace(c, kind="collated") if c.name == spelled[0] else c for c in columns]
    query = f"SELECT {items} FROM {base}{where and f' WHERE {where}'}"
    return View(name, Scope(tuple(columns), tuple(unique)), base, query, (spelled[0], spelled[1]))


def _aliases(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return names of columns of the tables, and others."""
    names = {c.name for table in tables for c in table.scope.columns if c.kind != "meta"}
    return (*sorted(names), *_ALIASES)


def _variants() -> Table:
    """Return the table that `variants` writes."""
    columns = (
        Column("id", "id", "num", pa.int32(), tuple(range(5))),
        Column("n", "n", "num", pa.string(), ("0", "3")),
        Column("v", "v", "variant"),
        Column("st", "st", "variant"),
        Column("name", "name", "text", pa.string(), ("ab",)),
    )
    return Table("variants", Scope(columns, columns[:1]), "variants", "variants.parquet")


def _scope(content: bytes, key: str = "") -> Scope:
    """Return the columns of a Parquet file, and a column that has no value twice.

    That is the key, if it is known.
    """
    rows = pq.read_table(io.BytesIO(content))
    columns = tuple(
        Column.of(name, name, rows.schema.field(name).type, rows[name].to_pylist())
        for name in rows.schema.names
    )
    flat = [c.name for c in columns if c.kind in FLAT]
    single = (n for n in flat if not rows[n].null_count and len(rows[n].unique()) == len(rows))
    unique = key or next(single, "_hoodie_record_key")
    return Scope(columns, tuple(column for column in columns if column.name == unique))
