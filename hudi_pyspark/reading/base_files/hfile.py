"""HFile base files to Arrow tables: their values are Avro records, in order of the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptAvroError, CorruptBaseFileError
from hudi_pyspark.format.avro.schema import parse_schema
from hudi_pyspark.format.hfile.block import HFileError
from hudi_pyspark.format.hfile.reader import SCHEMA_INFO, read_hfile
from hudi_pyspark.format.log.data_block import decode_hfile_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from hudi_pyspark.storage import Storage


def read_hfile_file(
    storage: Storage, path: str, columns: Sequence[str], batch_rows: int
) -> Iterator[pa.Table]:
    """Read a whole HFile and decode some columns; see `read_base_file`."""
    # The blocks of an HFile are compressed rows, so it cannot be read in part.
    place = storage.describe(path)
    try:
        hfile = read_hfile(storage.read_bytes(path), path=path)
        schema_text = hfile.file_info.get(SCHEMA_INFO)
        if schema_text is None:
            raise CorruptBaseFileError(place, "expected an Avro schema in its file info")
        schema = parse_schema(str(schema_text, "utf-8"))
        table = decode_hfile_records(hfile, schema, columns)
    except (HFileError, CorruptAvroError, UnicodeDecodeError) as error:
        reason = error.reason() if isinstance(error, CorruptAvroError) else error
        raise CorruptBaseFileError(place, f"not readable as HFile: {reason}") from error
    for start in range(0, table.num_rows, batch_rows):
        # Arrow does not bound the length of a slice without columns by itself.
        yield table.slice(start, min(batch_rows, table.num_rows - start))
