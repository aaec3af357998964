"""Variants that Spark shreds, read by Spark and rebuilt here.

``python -m verification.shredded_variants --count 50`` lets Spark write random variants in random
shredding schemas, and compares what Spark reads with what is rebuilt, value by value and type by
type. ``--keep FOLDER`` keeps the files with Spark's answers: those of `tests/columns/variants` were
made so. Needs PySpark 4.1 or later, and Java 17.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.format.nested_types import VARIANT
from hudi_pyspark.format.parquet.checked_file import open_parquet
from tests.columns.variant_oracle import decoded_in
from verification.common.runs import Outcome, Run, parser_of, seeds_of

ROWS = 60
_BINARIES = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
_NAMES = ["a", "b", "c", "Z", "é", "名", "😀", "x y", "a.b", "long" * 20]
_LEAVES: dict[str, Callable[[Random], object]] = {
    "boolean": lambda r: r.random() < 0.5,
    "tinyint": lambda r: r.randrange(-128, 128),
    "smallint": lambda r: r.choice([-(2**15), 2**15 - 1, 128, 0]),
    "int": lambda r: r.choice([-(2**31), 2**31 - 1, 2**15, r.randrange(1000)]),
    "bigint": lambda r: r.choice([-(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 7]),
    "float": lambda r: r.choice([0.5, -1.25, 3e30]),
    "double": lambda r: r.choice([0.1, -1e300, 2.0]),
    "decimal(5,2)": lambda r: r.choice([999.99, -0.01, 0, 12.5]),
    "decimal(18,4)": lambda r: r.choice([99999999999999.9999, -100000.0001, 1]),
    "decimal(38,10)": lambda r: r.choice([10**27, -1, 0.0000000001, 1234567.5]),
    "date": lambda r: r.choice(["0001-01-01", "1582-10-04", "2024-02-29", "9999-12-31"]),
    "timestamp": lambda r: r.choice(["1899-12-31T23:59:59.999999Z", "2024-05-06T07:08:09Z"]),
    "timestamp_ntz": lambda r: r.choice(["1800-01-01T00:00:00.000001", "2024-05-06T07:08:09"]),
    "string": lambda r: r.choice(["", "x", "é😀", "s" * 63, "t" * 64, "u" * 300]),
    "binary": lambda r: base64.b64encode(r.randbytes(r.choice([0, 3, 70]))).decode(),
}


def main() -> int:
    parser = parser_of(__doc__, seed=1, count=50)
    parser.add_argument("--keep", type=Path, help="folder for the files and Spark's answers")
    given = parser.parse_args()
    builder = SparkSession.builder.master("local[1]").config(
        "spark.ui.showConsoleProgress", "false"
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    run = Run()
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds_of(given):
            path = write_shredded(spark, Path(folder) / str(seed), seed)
            answers = answers_of_spark(spark, path)
            if given.keep is not None:
                shutil.copy(path, given.keep / f"{seed}.parquet")
                pq.write_table(answers, given.keep / f"{seed}.answers.parquet", compression="zstd")
            problems = differences(path, answers)
            verdict = "other variants" if problems else "Spark's variants"
            text = f"seed {seed}: {'; '.join(problems)}"
            run.add(Outcome("files", verdict, text=text, is_finding=bool(problems)))
    return run.finish()


def write_shredded(spark: SparkSession, folder: Path, seed: int) -> Path:
    """Let Spark write variants, shredded in a random way, and return the file."""
    random = Random(seed)
    typed = random_type(random, depth=3, at_top=True)
    # Half of the schemas fit many of the values.
    shredding = typed if random.random() < 0.4 else random_type(random, depth=3, at_top=True)
    spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    is_inferred = random.random() < 0.25  # by Spark, from the first rows
    spark.conf.set("spark.sql.variant.inferShreddingSchema", str(is_inferred))
    spark.conf.unset("spark.sql.variant.forceShreddingSchemaForTest")
    if not is_inferred:
        spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", _ddl(shredding))
    rows = []
    for number in range(ROWS):
        kind = random.choice(["json", "typed", "typed", "null"] if number else ["typed"])
        value = random_value(random, typed) if kind == "typed" else random_json(random, 3)
        rows.append((number, kind, json.dumps({"r": value})))
    frame = spark.createDataFrame(rows, "id int, kind string, j string")
    of_type = f"from_json(j, 'r {_ddl(typed)}', map('timeZone', 'UTC')).r"
    as_variant = (
        f"to_variant_object({of_type})"
        if isinstance(typed, dict | list)
        else f"cast({of_type} as variant)"
    )
    frame = frame.selectExpr(
        "id",
        f"case kind when 'json' then variant_get(parse_json(j), '$.r') when 'typed' then "
        f"{as_variant} end v",
    )
    frame.coalesce(1).write.parquet(str(folder))
    (path,) = folder.glob("*.parquet")
    return path


def answers_of_spark(spark: SparkSession, path: Path) -> pa.Table:
    """Return the variants of a file as Spark's own reader gives them."""
    spark.conf.set("spark.sql.variant.allowReadingShredded", "true")
    rows = spark.read.parquet(str(path)).select("id", "v").collect()
    variants = [v and {"value": v.value, "metadata": v.metadata} for _, v in rows]
    return pa.table({"id": [row.id for row in rows], "v": pa.array(variants, _BINARIES)})


def differences(path: Path, answers: pa.Table) -> list[str]:
    """Compare the variants of a file, rebuilt in several shapes, with Spark's answers."""
    with path.open("rb") as source:
        stored = open_parquet(source).read().combine_chunks()
    expected = dict(zip(answers["id"].to_pylist(), answers["v"].to_pylist(), strict=True))
    known = [expected[number] for number in stored["id"].to_pylist()]
    array = stored.column("v").chunk(0)
    in_slices = pa.concat_arrays([array.slice(0, 7), array.slice(7)]).slice(1)
    shapes = {
        "as it is": array,
        "without columns of nulls": without_empty_values(array),
        "in slices": pa.concat_arrays([array.slice(0, 1), in_slices]),
    }
    problems = []
    for what, shape in shapes.items():
        table = conform(_nested(shape), _nested(pa.nulls(0, VARIANT)).schema, {}, source=what)
        table.validate(full=True)
        for row, theirs in zip(table.to_pylist(), known, strict=True):
            mine = row["v"]
            told = [_told(v) for v in (mine, row["s"]["v"], *row["l"], row["m"][0][1])]
            if told != [_told(theirs)] * 5:
                problems.append(f"{what}: {told} is not {_told(theirs)}")
            elif "{" not in str(told) and mine and mine["value"] != theirs["value"]:
                # Only the ids of names, in objects, may differ: Spark makes new dictionaries.
                problems.append(f"{what}: {mine['value']!r} is not {theirs['value']!r}")
    return problems


def _nested(variants: pa.Array) -> pa.Table:
    """Return columns of variants, and of structs, lists and maps with the same variants."""
    count = len(variants)
    once, twice = (pa.array(range(0, n * count + 1, n), pa.int32()) for n in (1, 2))
    doubled = variants.take(pa.array([place for place in range(count) for _ in "ab"], pa.int64()))
    return pa.table(
        {
            "v": variants,
            "s": pa.StructArray.from_arrays([variants], ["v"]),
            "l": pa.ListArray.from_arrays(twice, doubled),
            "m": pa.MapArray.from_arrays(once, pa.array(["k"] * count, pa.string()), variants),
        }
    )


def _told(variant: object) -> object:
    try:
        return decoded_in(variant)
    except (AssertionError, IndexError) as error:
        return f"malformed: {error}"


def without_empty_values(group: pa.Array) -> pa.Array:
    """Leave out each column `value` that has only nulls, beside a `typed_value`."""
    data_type = group.type
    if pa.types.is_list(data_type):
        items = without_empty_values(group.values)
        return pa.ListArray.from_arrays(group.offsets, items, mask=pc.is_null(group))
    if not pa.types.is_struct(data_type):
        return group
    children = {
        field.name: without_empty_values(pc.struct_field(group, [place]))
        for place, field in enumerate(data_type)
    }
    if "typed_value" in children and children["value"].null_count == len(group):
        del children["value"]
    return pa.StructArray.from_arrays(
        list(children.values()), names=list(children), mask=pc.is_null(group)
    )


def random_type(random: Random, depth: int, *, at_top: bool = False) -> Any:
    """Return a dict of fields, a list of one item, or the name of a type."""
    draw = random.random() * (0.75 if at_top else 1)
    if depth and draw < 0.5:
        names = random.sample(_NAMES, random.randrange(1, 6))
        return {name: random_type(random, depth - 1) for name in names}
    if depth and draw < 0.7:
        return [random_type(random, depth - 1)]
    return random.choice(list(_LEAVES))


def _ddl(kind: Any) -> str:
    if isinstance(kind, dict):
        return f"struct<{', '.join(f'`{name}`: {_ddl(part)}' for name, part in kind.items())}>"
    return f"array<{_ddl(kind[0])}>" if isinstance(kind, list) else str(kind)


def random_value(random: Random, kind: Any) -> Any:
    """Return a value of a type; nulls and missing fields among its parts."""
    if isinstance(kind, dict):
        return {
            name: None if random.random() < 0.1 else random_value(random, part)
            for name, part in kind.items()
            if random.random() < 0.85
        }
    if isinstance(kind, list):
        many = [300] if isinstance(kind[0], str) else []
        length = random.choice([0, 0, 1, 1, 1, 3, 3, 3, *many])
        return [random_value(random, kind[0]) for _ in range(length)]
    return _LEAVES[kind](random)


def random_json(random: Random, depth: int) -> Any:
    draw = random.random()
    if depth and draw < 0.55:
        names = random.sample(_NAMES, random.randrange(len(_NAMES)))
        return {name: random_json(random, depth - 1) for name in names}
    if depth and draw < 0.7:
        return [random_json(random, depth - 1) for _ in range(random.randrange(4))]
    return random.choice([None, True, 1, -300, 70_000, 2**40, 0.5, "text", "l" * 70])


if __name__ == "__main__":
    sys.exit(main())
