"""Types of columns under the names that Spark has for them."""

from __future__ import annotations

import pyarrow as pa

from hudi_pyspark.format.avro.schema import VARIANT

_SPARK_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    VARIANT: "variant",
}


def type_text(kind: pa.DataType) -> str:
    """Return the name that Spark has for the type of a column, e.g. ``array<bigint>``."""
    if pa.types.is_struct(kind) and kind != VARIANT:
        return f"struct<{','.join(f'{field.name}:{type_text(field.type)}' for field in kind)}>"
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)},{type_text(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"array<{type_text(kind.value_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    name = "binary" if pa.types.is_fixed_size_binary(kind) else str(kind)
    if pa.types.is_timestamp(kind):
        name = "timestamp_ntz" if kind.tz is None else "timestamp"
    return _SPARK_NAMES.get(kind, name)
