"""Definitions of secondary and expression indexes, which say what an index is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.messages import logger
from hudi_pyspark.options.option import Index

if TYPE_CHECKING:
    from hudi_pyspark.table.view import TableView

FILE = ".hoodie/.index_defs/index.json"
IDENTITY = "identity"
_PATH = "hoodie.table.index.defs.path"
_VERSIONS = {"V1": 1, "V2": 2}
_KINDS = {
    Index.SECONDARY_INDEX: {Index.SECONDARY_INDEX.value},
    Index.EXPRESSION_INDEX: {Index.COLUMN_STATS.value, Index.BLOOM_FILTERS.value},
}
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """What ``CREATE INDEX`` says of an index."""

    partition: str  # of the metadata table, such as ``secondary_index_by_city``
    kind: str  # of its records: ``secondary_index``, ``column_stats`` or ``bloom_filters``
    function: str  # of the column; `IDENTITY` for its values as they are
    column: str
    options: Mapping[str, str]  # of the function
    version: int  # of its layout

    @classmethod
    def parse(cls, name: str, values: object) -> IndexDefinition:
        """Parse one entry of the file.

        Raises:
            ValueError: the entry contradicts itself, or has an unknown layout.
        """
        if not isinstance(values, dict) or values.get("indexName") != name:
            raise ValueError("it does not have the name under which it stands")
        fields = values.get("sourceFields")
        options = values.get("indexOptions") or {}
        if not (isinstance(fields, list) and len(fields) == 1 and isinstance(fields[0], str)):
            raise ValueError(f"it has the columns {fields}, and not one")
        function = values.get("indexFunction") or IDENTITY
        expression = options.get("expr", function) if isinstance(options, dict) else options
        if expression != function:
            raise ValueError(f"its function is {function}, and its expression {expression}")
        version = _VERSIONS.get(str(values.get("version") or "V1"))
        if version is None:
            raise ValueError(f"its version is {values['version']}")
        kind = str(values.get("indexType"))
        if not any(index.matches(name) and kind in kinds for index, kinds in _KINDS.items()):
            raise ValueError(f"its kind is {kind}")
        return cls(name, kind, str(function), fields[0], options, version)


def load_definitions(table: TableView) -> list[IndexDefinition]:
    """Load the definitions of the secondary and expression indexes that a table has, by name.

    A definition that contradicts itself is left out, and logged; so are all if the file is missing
    or cannot be parsed.
    """
    try:
        content = json.loads(table.storage.read_bytes(table.config.properties.get(_PATH) or FILE))
        entries = dict(content["indexDefinitions"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        _log.warning("the definitions of indexes cannot be read: %s", error)
        return []
    found = []
    for name in sorted(table.config.metadata_partitions):
        if not any(index.matches(name) for index in _KINDS):
            continue
        try:
            found.append(IndexDefinition.parse(name, entries.get(name)))
        except ValueError as error:
            _log.warning("index %s is not used: %s", name, error)
    return found
