"""Values of partition columns: from the path, or from the data files if it cannot hold them.

A global index may leave a row whose partition value changed in its old folder. Apache Hudi 1.x
shows the folder's value for such a row, so that pruning by the path and the rows agree.
"""

import re
import struct
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.columns.arrays import Mask, any_of, is_number, repeat
from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.filter.predicate import Predicate, columns_of, conjunction, conjuncts, parse_date
from hudi_pyspark.format.avro.schema import counts_milliseconds
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.tasks import PartitionValues

NULL_PARTITION_VALUE = "__HIVE_DEFAULT_PARTITION__"
_OFFSETS = struct.Struct("=ii")
_DATE_FOLDERS = re.compile(r"(\d{4})/(\d{2})/(\d{2})")


def resolve_partition_values(
    partition_path: str,
    config: TableConfig,
    schema: pa.Schema,
    *,
    always_from_path: bool,
    read_for_merge: Collection[str] = (),
) -> PartitionValues:
    """Decide, for the slices of one partition, which partition columns come from its path.

    Of ``read_for_merge`` the merge needs the stored values.
    """
    names = (name for name in config.partition_fields if name in schema.names)
    types = {name: path_type(schema.field(name)) for name in names}
    try:
        values = partition_scalars(partition_path, config, types)
    except CorruptTableError:
        if always_from_path:
            raise
        return PartitionValues(columns=config.partition_fields)
    if always_from_path:
        # A merge may have rewritten files of such a table with the columns, as nulls.
        given = tuple(values)
        return PartitionValues(config.partition_fields, tuple(values.items()), given, (), given)
    certain = decided_by_path(partition_path, config, schema)
    ambiguous = tuple(n for n in certain if not values[n].is_valid and pa.types.is_string(types[n]))
    from_path = tuple(n for n in certain if n not in ambiguous)
    return PartitionValues(
        columns=config.partition_fields,
        path_values=tuple(values.items()),
        from_path=from_path,
        null_or_empty=ambiguous,
        never_read=tuple(n for n in from_path if n not in read_for_merge),
    )


def keep_undecided(predicate: Predicate | None, partition: PartitionValues) -> Predicate | None:
    """Return what is left to evaluate of a filter that the path of a partition has passed."""
    parts = conjuncts(predicate)
    return conjunction([p for p in parts if not columns_of(p) <= set(partition.from_path)])


def decided_by_path(partition_path: str, config: TableConfig, schema: pa.Schema) -> list[str]:
    """Return the columns whose value the text of their folder gives without loss."""
    folders = partition_folders(partition_path, config)
    unclear: set[str] = set()
    if not config.url_encode_partitions:  # a value itself may hold what looks like an escape
        of_fields = zip(config.partition_fields, folders, strict=False)
        unclear = {name for name, folder in of_fields if unquote(folder) != folder}
    return [
        name
        for name in config.partition_fields
        if name in schema.names
        and name not in unclear
        and name not in config.timestamp_partition_fields
        # Stored values order records, so these are shown, too.
        and name not in config.ordering_fields
        and _is_exact(schema.field(name).type)
    ]


# Whether the text of a value in a path is the whole value.
_is_exact = any_of(pa.types.is_string, pa.types.is_boolean, pa.types.is_date, is_number)


def path_type(field: pa.Field) -> pa.DataType:
    """Return the type of the number that a partition path shows."""
    if pa.types.is_timestamp(field.type) and counts_milliseconds(field):
        return pa.timestamp("ms", field.type.tz)
    return field.type


def partition_texts(partition_path: str, config: TableConfig) -> dict[str, str | None]:
    """Return the text of each partition column in a path; None where the value is null.

    One column may span several folders (a value with slashes); otherwise folders and columns must
    agree in number. A table without partition columns has no texts.

    Raises:
        CorruptTableError: the path has another number of folders than the table has columns.
    """
    names = config.partition_fields
    if not names:
        return {}
    folders = partition_folders(partition_path, config)
    if len(folders) != len(names):
        raise CorruptTableError(
            f"partition path {partition_path!r} has {len(folders)} folders, but "
            f"hoodie.table.partition.fields names {len(names)} columns: {', '.join(names)}"
        )
    return {
        name: _folder_value(name, folder, config)
        for name, folder in zip(names, folders, strict=True)
    }


def partition_folders(partition_path: str, config: TableConfig) -> list[str]:
    """Split a path into the folders of its columns; the value of a single one may have slashes."""
    is_single = len(config.partition_fields) == 1
    return [partition_path] if is_single else partition_path.split("/")


def folder_values(
    name: str, folders: Sequence[str], data_type: pa.DataType, config: TableConfig
) -> tuple[pa.Array, Mask]:
    """Return the values of one column, each by its folder, and which folders have one.

    The value is null where the folder says so, and where it is not a value of the type.
    """
    texts = [_folder_value(name, folder, config) for folder in folders]
    if pa.types.is_string(data_type) or pa.types.is_integer(data_type):
        with suppress(pa.ArrowInvalid):  # some are not numbers
            return pa.array(texts, pa.string()).cast(data_type), np.ones(len(texts), np.bool_)
    values = [pa.nulls(1, data_type)] * len(texts)
    is_known = np.zeros(len(texts), np.bool_)
    for place, (folder, text) in enumerate(zip(folders, texts, strict=True)):
        with suppress(CorruptTableError):
            values[place] = repeat(_cast(name, text, data_type, folder), 1)
            is_known[place] = True
    return pa.concat_arrays(values), is_known


def _folder_value(name: str, folder: str, config: TableConfig) -> str | None:
    # The schema may spell the column in another way than the table's properties and folders.
    start = len(name) + 1
    is_hive_style = folder[:start].lower() == f"{name}=".lower()
    text = folder[start:] if is_hive_style else folder
    if text == NULL_PARTITION_VALUE:
        return None
    if config.url_encode_partitions or is_hive_style:
        text = unquote(text)
    if config.slash_separated_dates and (match := _DATE_FOLDERS.fullmatch(text)):
        return "-".join(match.groups())
    return text


def partition_scalars(
    partition_path: str, config: TableConfig, types: Mapping[str, pa.DataType]
) -> dict[str, pa.Scalar]:
    """Return the typed values of those partition columns of a path that ``types`` names."""
    return {
        name: _cast(name, text, types[name], partition_path)
        for name, text in partition_texts(partition_path, config).items()
        if name in types
    }


def _cast(name: str, text: str | None, target: pa.DataType, partition_path: str) -> pa.Scalar:
    if text is None:
        return pa.nulls(1, target)[0]
    try:
        if pa.types.is_timestamp(target) and text.lstrip("-").isdigit():
            # Key generators print a timestamp as its microseconds since the epoch.
            return pa.scalar(int(text), target)
        if pa.types.is_date32(target) and text.lstrip("-").isdigit():
            return pa.scalar(int(text), pa.int32()).cast(target)
        if pa.types.is_date32(target):
            return parse_date(text)
        return pc.cast(_text_scalar(text), target)
    except (ValueError, OverflowError, pa.ArrowNotImplementedError) as error:
        raise CorruptTableError(
            f"partition path {partition_path!r}: {text!r} is not a value of type {target} for "
            f"partition column {name!r}"
        ) from error


def _text_scalar(text: str) -> pa.Scalar:
    """Do as `pa.scalar`, which would import pandas for it: a third of the time to plan."""
    data = text.encode()
    buffers = [None, pa.py_buffer(_OFFSETS.pack(0, len(data))), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), 1, buffers)[0]
