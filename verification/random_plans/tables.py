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
_GOLDEN = _DATA["golden"]["cases"]
_SHARED_NAMES = ("one", "two", "three", "four", "plain")
_ALIASES = ("made", "count", "other")


@dataclass(frozen=True)
class Table:
    """A table and its copy.

    Attributes:
        name: of its view.
        scope: its columns.
        place: folder of the table; "" if there are only the Parquet files of the copy.
        copy: file or folder of Parquet files with its rows.
        is_selected: whether a read selects the columns: the copy lacks those of Hudi.
    """

    name: str
    scope: Scope
    place: str
    copy: str
    is_selected: bool = False


@dataclass(frozen=True)
class View:
    """A view over a table or over another view.

    Attributes:
        name: of the view.
        scope: its columns.
        base: what it is made over.
        query: that it stands for; "" for a view of a source whose schema is given.
        spelled: name of the column that has another type in the schema, and the type.
    """

    name: str
    scope: Scope
    base: str
    query: str = ""
    spelled: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Tables:
    """A family of tables.

    Attributes:
        name: one of `FAMILIES`.
        tables: the first ones are asked more often.
        views: over them.
        archives: zip files of the tables, and of copies that are there.
        keys: names of columns by which most joins are.
        aliases: names of columns of results.
        strays: share of literals that other columns of the kind have.
        repeats: how often a query asks the table again that it asked before.
        digests: how often rows are fetched as digests, beside 60 times that they are collected.
        sizes: how often a condition has at most 1, 3, 12, 100 and 1,000 terms.
    """

    name: str
    tables: tuple[Table, ...]
    views: tuple[View, ...]
    archives: tuple[Path, ...]
    keys: tuple[str, ...]
    aliases: tuple[str, ...]
    strays: float
    repeats: float
    digests: int
    sizes: tuple[float, ...]

    def unpack(self, folder: Path) -> None:
        """Put the tables and their copies into a folder."""
        for archive in self.archives:
            unpack(archive, folder)
        if self.name == "golden":
            for name, case in _GOLDEN.items():
                (folder / f"{name}.parquet").write_bytes(_answer(case))


@cache
def load(family: str) -> Tables:
    """Return a family by its name."""
    return {"golden": _golden, "ends": _ends, "names": _names}[family]()


def _golden() -> Tables:
    tables = tuple(
        Table(name, _scope(pq.read_table(io.BytesIO(_answer(case)))), case, f"{name}.parquet")
        for name, case in _GOLDEN.items()
    )
    archives = tuple(golden_folder(case) / "table.zip" for case in _GOLDEN.values())
    return _family("golden", tables, (), archives)


def _family(
    name: str,
    tables: tuple[Table, ...],
    views: tuple[View, ...],
    archives: tuple[Path, ...],
) -> Tables:
    """Return a family with what plans over it prefer."""
    prefers = {"aliases": _aliases(tables), **_DATA[name]["prefers"]}
    return Tables(name, tables, views, archives, **prefers)


def _aliases(tables: tuple[Table, ...]) -> tuple[str, ...]:
    """Return names of columns of the tables, and others."""
    names = {c.name for table in tables for c in table.scope.columns if c.kind != "meta"}
    return (*sorted(names), *_ALIASES)


def _answer(case: str) -> bytes:
    """Return the Parquet file with Apache Hudi's snapshot of a golden table."""
    return read_files(golden_folder(case) / "answers.zip")["snapshot.parquet"]


def _ends() -> Tables:
    rows = pq.read_table(io.BytesIO(read_files(ARCHIVES["ends"])["rows.parquet"]))
    columns = _scope(rows, ("k",)).columns
    # The order of the keys of a map is not one of rows.
    scope = Scope(tuple(c for c in columns if c.name != "m"), columns[:1])
    tables = tuple(
        Table(name, scope, name, "rows.parquet", is_selected=True) for name in ("cow", "mor")
    )
    some = "SELECT * FROM {} WHERE i > 0 OR s < 'b'"
    fewer = "SELECT * EXCEPT (l), i + 0L AS l FROM {}_some WHERE day IS NOT NULL"
    moved = [c for c in scope.columns if c.name != "l"]
    moved += [c for c in scope.columns if c.name == "l"]
    last = Scope(tuple(moved), scope.unique)
    views = []
    for table in tables:
        name = table.name
        for column, spelled in _DATA["ends"]["collated"].items():
            collated = _collated(scope, column)
            views.append(View(f"{name}_{column}", collated, name, spelled=(column, spelled)))
        views.append(View(f"{name}_some", scope, name, some.format(name)))
        views.append(View(f"{name}_fewer", last, name, fewer.format(name)))
    return _family("ends", tables, tuple(views), (ARCHIVES["ends"],))


def _collated(scope: Scope, name: str) -> Scope:
    columns = (replace(c, kind="collated") if c.name == name else c for c in scope.columns)
    return Scope(tuple(columns), scope.unique)


def _names() -> Tables:
    tables = []
    files = read_files(ARCHIVES["names"])
    for name in _SHARED_NAMES:
        (member,) = (each for each in files if re.fullmatch(rf"{name}\.parquet/.*\.parquet", each))
        rows = pq.read_table(io.BytesIO(files[member]))
        place = name if f"{name}/.hoodie/hoodie.properties" in files else ""
        tables.append(Table(name, _scope(rows, ("id",)), place, f"{name}.parquet"))
    known = {table.name: table.scope for table in tables}
    views = tuple(
        _swapped_view(name, known, **view) for name, view in _DATA["names"]["views"].items()
    )
    return _family("names", (*tables, _variants()), views, (ARCHIVES["names"],))


def _swapped_view(name: str, known: Mapping[str, Scope], *, base: str, items: str) -> View:
    return View(name, _swapped(known[base], items), base, f"SELECT {items} FROM {base}")


def _swapped(scope: Scope, items: str) -> Scope:
    known = {column.name: column for column in scope.columns}
    columns: list[Column] = []
    unique: list[Column] = []
    for item in items.split(", "):
        source, _, name = item.rpartition(" AS ")
        cast = re.fullmatch(r"CAST\((\w+) AS string\)", source)
        column = known[cast[1] if cast else source or name]
        columns.append(replace(column, ref=name, name=name))
        if cast:
            columns[-1] = replace(columns[-1], type=pa.string())
        if column in scope.unique and not unique:
            unique = columns[-1:]
    return Scope(tuple(columns), tuple(unique))


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


def _scope(rows: pa.Table, unique: Sequence[str] = ()) -> Scope:
    """Return the columns of a table, and which of them has no value twice."""
    columns = tuple(
        Column.of(name, name, rows.schema.field(name).type, rows[name].to_pylist())
        for name in rows.schema.names
    )
    by_name = {column.name: column for column in columns}
    if not unique:
        flat = [c.name for c in columns if c.kind in FLAT]
        single = (n for n in flat if not rows[n].null_count and len(rows[n].unique()) == len(rows))
        unique = [next(single, "_hoodie_record_key")]
    return Scope(columns, tuple(by_name[name] for name in unique))
