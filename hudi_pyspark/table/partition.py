"""Partition path to typed partition values."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from hudi_pyspark.errors import CorruptTableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_pyspark.table.config import TableConfig

NULL_PARTITION_VALUE = "__HIVE_DEFAULT_PARTITION__"
_OFFSETS = struct.Struct("=ii")
_DATE_FOLDERS = re.compile(r"(\d{4})/(\d{2})/(\d{2})")


def partition_texts(partition_path: str, config: TableConfig) -> dict[str, str | None]:
    """Return the text of each partition column in a path; None where the value is null."""
    # One column may span several folders (a value with slashes); otherwise folders and columns must
    # agree in number.
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


def partition_scalar(
    name: str, folder: str, data_type: pa.DataType, config: TableConfig
) -> pa.Scalar:
    """Return the typed value of one partition column, which has its own folder level."""
    return _cast(name, _folder_value(name, folder, config), data_type, folder)


def _folder_value(name: str, folder: str, config: TableConfig) -> str | None:
    prefix = f"{name}="
    is_hive_style = folder.startswith(prefix)
    text = folder[len(prefix) :] if is_hive_style else folder
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
