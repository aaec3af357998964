"""Find pages of a Parquet file, and build files of only some pages.

A column chunk is a sequence of pages, each compressed separately. The offset index in the footer
lists where they are and which rows they have. pyarrow reads whole column chunks, so for a few rows
it gets a file that has only the pages with these rows, and a footer.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hudi_pyspark.format.bytes_source import BytesSource
from hudi_pyspark.format.parquet.thrift_compact import (
    ThriftList,
    ThriftStruct,
    ThriftType,
    ThriftValue,
    parse_struct,
    struct_bytes,
)

RowNumbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MAGIC = b"PAR1"
_LENGTH = struct.Struct("<I")
# Of FileMetaData
_SCHEMA = 2
_FILE_ROWS = 3
_ROW_GROUPS = 4
_COPIED = (1, 6)  # version and writer
# Of SchemaElement
_NAME, _CHILDREN = 4, 5
# Of RowGroup
_COLUMNS, _BYTES, _ROWS = 1, 2, 3
# Of ColumnChunk
_FILE_PATH, _CHUNK_OFFSET, _META_DATA, _INDEX_OFFSET, _INDEX_SIZE = 1, 2, 3, 4, 5
# Of ColumnMetaData; the first four and the uncompressed size are copied
_TYPE, _ENCODINGS, _PATH, _CODEC, _VALUES, _UNCOMPRESSED = 1, 2, 3, 4, 5, 6
_COMPRESSED, _DATA_PAGE, _DICTIONARY_PAGE = 7, 9, 11
# Of OffsetIndex and PageLocation
_LOCATIONS, _PAGE_OFFSET, _PAGE_SIZE, _FIRST_ROW = 1, 1, 2, 3
# Of PageHeader
_PAGE_BYTES, _HEADER_V1, _HEADER_V2, _PAGE_VALUES = 3, 5, 8, 1


class ParquetPagesError(ValueError):
    """The places of pages are unknown or wrong; pyarrow may still read the file."""


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """The pages of one leaf column in one row group; the arrays have one entry per page."""

    first_rows: RowNumbers
    row_counts: RowNumbers
    offsets: RowNumbers  # bytes from the start of the file
    sizes: RowNumbers  # bytes, with the header of the page
    begin: int  # offset of the chunk; a dictionary may precede the first page

    def holding(self, rows: RowNumbers) -> Mask:
        """Return a mask of the pages that have one of these rows of the row group."""
        chosen = np.zeros(len(self.first_rows), np.bool_)
        chosen[self._pages_of(rows)] = True
        return chosen

    def places(self, rows: RowNumbers, chosen: Mask) -> RowNumbers:
        """Return the positions of rows among the rows of the chosen pages."""
        pages = self._pages_of(rows)
        counts = np.where(chosen, self.row_counts, 0)
        return (np.cumsum(counts) - counts)[pages] + rows - self.first_rows[pages]

    def _pages_of(self, rows: RowNumbers) -> RowNumbers:
        return np.searchsorted(self.first_rows, rows, side="right") - 1

    def spans(self, pages: Mask) -> list[tuple[int, int]]:
        """Return the begin and end offset of each chosen page, after those of a dictionary.

        Args:
            pages: one flag for each page, in file order; see `holding`.
        """
        dictionary = [(self.begin, int(self.offsets[0]))] if self.begin < self.offsets[0] else []
        chosen = zip(self.offsets[pages].tolist(), self.sizes[pages].tolist(), strict=True)
        return dictionary + [(offset, offset + size) for offset, size in chosen]


@dataclass(frozen=True, slots=True)
class ParquetPages:
    """The footer of a Parquet file.

    Methods raise ParquetPagesError or ThriftError if the footer is not as expected.
    """

    footer: ThriftStruct

    @classmethod
    def load(cls, file: BytesSource) -> "ParquetPages":
        """Parse the metadata at the end of a file.

        Raises:
            ParquetPagesError: the metadata is encrypted.
            ThriftError: it is not the metadata of a Parquet file.
        """
        end = max(0, len(file) - _LENGTH.size - len(_MAGIC))
        if file[end + _LENGTH.size : len(file)] != _MAGIC:  # encrypted footers end in other letters
            raise ParquetPagesError("there is no readable footer")
        (size,) = _LENGTH.unpack(file[end : end + _LENGTH.size])
        return cls(parse_struct(bytes(file[max(0, end - size) : end]))[0])

    def leaves(self, group: int, column: str) -> list[int]:
        """Return the ordinals of a top-level column's leaf columns in a row group.

        Raises:
            ParquetPagesError: there is no such column.
            ThriftError: the footer lacks a field, or the field has another type.
        """
        chunks = self.footer.structs(_ROW_GROUPS)[group].structs(_COLUMNS)
        paths = [chunk.struct(_META_DATA).list(_PATH) for chunk in chunks]
        places = [i for i, path in enumerate(paths) if path.items[:1] == (column.encode(),)]
        if not places:
            raise ParquetPagesError(f"there is no column {column!r}")
        return places

    def index_span(self, group: int, leaf: int) -> tuple[int, int]:
        """Return the begin and end offset of a leaf column's offset index.

        Raises:
            ParquetPagesError: the writer wrote none, or the column is in another file.
            ThriftError: the footer lacks a field, or the field has another type.
        """
        chunk = self.footer.structs(_ROW_GROUPS)[group].structs(_COLUMNS)[leaf]
        if not {_INDEX_OFFSET, _INDEX_SIZE} <= chunk.keys() or _FILE_PATH in chunk:
            raise ParquetPagesError("there is no offset index")
        begin = chunk.integer(_INDEX_OFFSET)
        return begin, begin + chunk.integer(_INDEX_SIZE)

    def pages(self, group: int, leaf: int, index: memoryview) -> ColumnPages:
        """Parse the offset index of a leaf column; ``index`` has the bytes of `index_span`.

        Raises:
            ParquetPagesError: the pages overlap, or do not fit the row group.
            ThriftError: the bytes are not an offset index.
        """
        row_group = self.footer.structs(_ROW_GROUPS)[group]
        chunk = row_group.structs(_COLUMNS)[leaf]
        locations = parse_struct(index)[0].structs(_LOCATIONS)
        try:
            first_rows, offsets, sizes = (
                np.array([location.integer(field) for location in locations], np.int64)
                for field in (_FIRST_ROW, _PAGE_OFFSET, _PAGE_SIZE)
            )
        except OverflowError as error:
            raise ParquetPagesError("the offset index has too large numbers") from error
        row_counts = np.diff(first_rows, append=row_group.integer(_ROWS))
        meta = chunk.struct(_META_DATA)
        starts = [meta.integer(f) for f in (_DATA_PAGE, _DICTIONARY_PAGE) if f in meta]
        begin = min((start for start in starts if start > 0), default=0)
        ends = np.append(offsets[1:], begin + meta.integer(_COMPRESSED))
        if (
            not len(offsets)
            or first_rows[0]
            or row_counts.min() <= 0
            or not 0 < begin <= offsets[0]
            or (sizes <= 0).any()
            or (offsets + sizes > ends).any()
        ):
            raise ParquetPagesError("the offset index does not fit the row group")
        return ColumnPages(first_rows, row_counts, offsets, sizes, begin)

    def file_of(
        self,
        group: int,
        column: str,
        chunks: Mapping[int, tuple[ColumnPages, Mask]],
        data: Callable[[int, int], memoryview],
    ) -> bytes:
        """Build a Parquet file of one column and one row group from some of its pages.

        Args:
            group: ordinal of the row group.
            column: a top-level column.
            chunks: by the ordinals of its leaf columns, the pages to copy; they have the same rows.
            data: returns the bytes of the file between two offsets.

        Raises:
            ParquetPagesError: the pages of the leaf columns have different rows, or another number
                of values than the offset index says.
            ThriftError: the header of a page cannot be parsed.
            ThriftError: the footer lacks a field, or the field has another type.
        """
        out = bytearray(_MAGIC)
        originals = self.footer.structs(_ROW_GROUPS)[group].structs(_COLUMNS)
        written = []
        for leaf, (pages, chosen) in chunks.items():
            meta = originals[leaf].struct(_META_DATA)
            begin = data_page = len(out)
            values = 0
            for start, end in pages.spans(chosen):
                page = data(start, end)
                if start < pages.offsets[0]:
                    data_page += len(page)
                else:
                    values += _values(page)
                out += page
            if len(chunks) == 1 and len(meta.list(_PATH).items) == 1:
                row_count = int(pages.row_counts[chosen].sum())
                if values != row_count:
                    raise ParquetPagesError(f"pages of {row_count} rows have {values} values")
            written.append(_chunk(meta, begin, data_page, len(out), values))
        counts = {int(pages.row_counts[chosen].sum()) for pages, chosen in chunks.values()}
        if len(counts) != 1:
            raise ParquetPagesError("the leaf columns' pages have different rows")
        rows = ThriftType.I64, counts.pop()
        row_group = {_COLUMNS: _list_of(written), _BYTES: (ThriftType.I64, len(out)), _ROWS: rows}
        fields = {field: self.footer[field] for field in _COPIED if field in self.footer}
        fields |= {_SCHEMA: _list_of(self._schema_of(column)), _FILE_ROWS: rows}
        fields[_ROW_GROUPS] = _list_of([ThriftStruct(row_group)])
        footer = struct_bytes(ThriftStruct(fields))
        return bytes(out) + footer + _LENGTH.pack(len(footer)) + _MAGIC

    def _schema_of(self, column: str) -> list[ThriftStruct]:
        """Return the schema's root with one column, and the elements of that column."""
        elements = self.footer.structs(_SCHEMA)
        position = 1
        while position < len(elements):
            end = _subtree_end(elements, position)
            if elements[position].get(_NAME) == (ThriftType.BINARY, column.encode()):
                root = ThriftStruct({**elements[0], _CHILDREN: (ThriftType.I32, 1)})
                return [root, *elements[position:end]]
            position = end
        raise ParquetPagesError(f"there is no column {column!r}")


def _subtree_end(elements: Sequence[ThriftStruct], position: int) -> int:
    """Return where an element with all its children ends; elements are in depth-first order."""
    open_elements = 1
    while open_elements:
        if position >= len(elements):
            raise ParquetPagesError("the schema is cut off")
        element = elements[position]
        open_elements += (element.integer(_CHILDREN) if _CHILDREN in element else 0) - 1
        position += 1
    return position


def _chunk(
    original: ThriftStruct, begin: int, data_page: int, end: int, values: int
) -> ThriftStruct:
    copied = (_TYPE, _ENCODINGS, _PATH, _CODEC, _UNCOMPRESSED)
    meta = {field: original[field] for field in copied if field in original}
    meta[_VALUES] = ThriftType.I64, values
    meta[_COMPRESSED] = ThriftType.I64, end - begin
    meta[_DATA_PAGE] = ThriftType.I64, data_page
    if data_page > begin:
        meta[_DICTIONARY_PAGE] = ThriftType.I64, begin
    meta_data = ThriftType.STRUCT, ThriftStruct(meta)
    return ThriftStruct({_CHUNK_OFFSET: (ThriftType.I64, begin), _META_DATA: meta_data})


def _values(page: memoryview) -> int:
    """Return the number of values of a data page, and check the size of the page."""
    header, payload = parse_struct(page)
    if payload + header.integer(_PAGE_BYTES) != len(page):
        raise ParquetPagesError("a page has another size than the offset index says")
    version = _HEADER_V1 if _HEADER_V1 in header else _HEADER_V2
    return header.struct(version).integer(_PAGE_VALUES)


def _list_of(structs: Sequence[ThriftStruct]) -> tuple[ThriftType, ThriftValue]:
    return ThriftType.LIST, ThriftList(ThriftType.STRUCT, tuple(structs))
