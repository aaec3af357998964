"""The Avro schema in the header of a data block."""

import re

from hudi_pyspark.errors import CorruptAvroError
from hudi_pyspark.format.avro.schema import AvroRecord, parse_schema
from hudi_pyspark.format.log.log_block import LogBlock

_DAMAGED_NAME = re.compile('"name" *: *"[^"]*\ufffd')


def block_schema(block: LogBlock) -> AvroRecord:
    """Return the parsed SCHEMA header of a data block.

    Raises:
        CorruptLogBlockError: the block has none, or one that is not an Avro schema.
        UnsupportedTypeError: the schema is not of a record, or nested too deep.
    """
    if block.schema_text is None:
        raise block.corrupt("expected a SCHEMA header, found none")
    if _DAMAGED_NAME.search(block.schema_text):  # Apache Hudi refuses it, too
        raise block.corrupt("the SCHEMA header has a name that is not UTF-8")
    try:
        return parse_schema(block.schema_text)
    except CorruptAvroError as error:
        raise block.corrupt(f"SCHEMA header cannot be parsed: {error.reason()}") from error
