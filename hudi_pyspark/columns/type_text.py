"""Spark's names of Arrow types."""

import pyarrow as pa

from hudi_pyspark.format.nested_types import is_variant

_SPARK_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
}


def type_text(data_type: pa.DataType) -> str:
    """Return Spark's name of a column type, such as ``array<bigint>``."""
    if is_variant(data_type):
        return "variant"
    if pa.types.is_struct(data_type):
        return f"struct<{','.join(f'{field.name}:{type_text(field.type)}' for field in data_type)}>"
    if pa.types.is_map(data_type):
        return f"map<{type_text(data_type.key_type)},{type_text(data_type.item_type)}>"
    if pa.types.is_list(data_type) or pa.types.is_fixed_size_list(data_type):
        return f"array<{type_text(data_type.value_type)}>"
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    name = "binary" if pa.types.is_fixed_size_binary(data_type) else str(data_type)
    if pa.types.is_timestamp(data_type):
        name = "timestamp_ntz" if data_type.tz is None else "timestamp"
    return _SPARK_NAMES.get(data_type, name)
