"""Values of an HFile, Avro records → Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.format.avro.decoder import decode_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.format.avro.schema import AvroRecord
    from hudi_pyspark.format.hfile.entries import HFile

# Hudi blanks a field of that name in HFile values, since the HFile's key repeats it.
_KEY_FIELD = "key"


def decode_hfile_records(
    hfile: HFile, schema: AvroRecord, columns: Sequence[str] | None
) -> pa.Table:
    """Decode every record of an HFile, in file order.

    Args:
        hfile: as read.
        schema: of the values.
        columns: top-level names to decode; those that the schema lacks are skipped. None for all.

    Raises:
        CorruptAvroError: a value that does not fit the schema.
        UnsupportedTypeError: a column of a type that has no Arrow counterpart.
    """
    table = decode_records(schema, hfile.values_data, hfile.value_starts, hfile.value_ends, columns)
    return _restore_keys(table, hfile.keys)


def _restore_keys(table: pa.Table, keys: pa.BinaryArray) -> pa.Table:
    """Fill the blanks of the field that Hudi leaves to the HFile's keys, as the metadata table has.

    Other tables may have a column of that name too: what is not blank stays.
    """
    position = table.schema.get_field_index(_KEY_FIELD)
    if position < 0 or not pa.types.is_string(table.schema.field(position).type):
        return table
    column = table.column(position)
    blank = pc.equal(pc.coalesce(column, pa.scalar("")), "")
    restored = pc.if_else(blank, keys.cast(pa.string()), column)
    return table.set_column(position, table.schema.field(position), restored)
