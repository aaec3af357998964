"""Values of a column to the record keys that have them, by a secondary index."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.options.indexes import Index
from hudi_pyspark.planning.metadata_table.records import merged_values
from hudi_pyspark.table.config import METADATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_pyspark.planning.metadata_table.table import MetadataTable
    from hudi_pyspark.table.view import TableView

_DEFINITIONS = f"{METADATA_FOLDER}/.index_defs/index.json"
_SPECIAL = re.compile(r"([\\$\0])")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_KEY = re.compile(r"(?:[^\\$]|\\.)*\$(.*)", re.DOTALL)  # secondary key, dollar sign, record key


def secondary_indexes(table: TableView) -> dict[str, str]:
    """Return the table's secondary indexes: name of the metadata partition by that of the column.

    Raises:
        CorruptTableError: the definitions cannot be read.
    """
    names = table.config.metadata_partitions
    if not any(name.startswith(Index.SECONDARY_INDEX.value) for name in names):
        return {}
    path = table.storage.describe(_DEFINITIONS)
    try:
        definitions = json.loads(table.storage.read_bytes(_DEFINITIONS))["indexDefinitions"]
        return {
            definition["sourceFields"][0]: name
            for name, definition in definitions.items()
            if name in names
            and definition["indexType"] == Index.SECONDARY_INDEX.value
            and len(definition["sourceFields"]) == 1
        }
    except FileNotFoundError as error:
        raise CorruptTableError(f"{path} is missing: it defines the secondary indexes") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{path}: expected definitions of indexes: {error!r}") from error


def record_keys_with(metadata: MetadataTable, index: str, values: Sequence[str]) -> list[str]:
    """Return the record keys of the rows that have one of some values.

    Args:
        metadata: has the index.
        index: name of its partition.
        values: of the column, as text.

    Raises:
        CorruptTableError: the index cannot be read.
    """
    prefixes = [_SPECIAL.sub(r"\\\1", value) + "$" for value in values]
    return [
        _record_key(key)
        for entries in metadata.find_prefixes(index, prefixes)
        for key, _, _ in merged_values(entries)
    ]


def _record_key(key: str) -> str:
    found = _KEY.fullmatch(key)
    if found is None:
        raise CorruptTableError(f"expected a secondary key, $ and a record key, found {key!r}")
    return _ESCAPED.sub(r"\1", found[1])
