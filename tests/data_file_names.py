"""Names of data files as Apache Hudi writes them: what `parse_data_file_name` reads."""

import re

from hudi_pyspark.format.data_files import BaseFileName, LogFileName, LogKind

# Hudi escapes these in a folder name, as Hive does.
_ESCAPED_IN_FOLDERS = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{}\[\]^]")


def name_of(file: BaseFileName | LogFileName) -> str:
    """Return the name that is parsed into a value."""
    return _base_name(file) if isinstance(file, BaseFileName) else _log_name(file)


def _base_name(file: BaseFileName) -> str:
    if file.write_token is not None:
        return f"{file.file_id}_{file.write_token}_{file.instant}.{file.extension}"
    folder, _, name = file.file_id.rpartition("/")
    escaped = _ESCAPED_IN_FOLDERS.sub(lambda match: f"%{ord(match[0]):02X}", folder)
    mark = f"_fg%3D{escaped}" if folder else ""
    return f"{name}_{file.instant}{mark}_hudiext"


def _log_name(file: LogFileName) -> str:
    if file.native_extension:
        stem = f"{file.file_id}_{file.write_token}_{file.instant}_{file.version}"
        return f"{stem}.{file.kind.value}.{file.native_extension}"
    extension = LogKind.LOG if file.kind is LogKind.CDC else file.kind
    token = "" if file.write_token is None else f"_{file.write_token}"
    suffix = ".cdc" if file.kind is LogKind.CDC else ""
    return f".{file.file_id}_{file.instant}.{extension.value}.{file.version}{token}{suffix}"
