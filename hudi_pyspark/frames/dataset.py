"""A table as a dataset of pyarrow, on which DuckDB, polars, DataFusion and other engines plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import FSSpecHandler, PyFileSystem

from hudi_pyspark.columns.arrays import first_rows
from hudi_pyspark.engine_stream import engine_stream
from hudi_pyspark.errors import UnsupportedQueryError
from hudi_pyspark.frames.expression import columns_of, parse_expression, pruning
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.tasks import ReadTask, ScanTask

if TYPE_CHECKING:
    from typing_extensions import Self

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.storage import Storage

    Columns: TypeAlias = Sequence[str] | Mapping[str, pc.Expression] | None

_BATCH_ROWS = 131_072
# Arguments that say how pyarrow reads its own files. They have no effect here.
_HINTS = {"batch_readahead", "cache_metadata", "fragment_readahead", "fragment_scan_options"}
_HINTS |= {"memory_pool", "use_threads"}


class _UnreadableFiles(FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
    """The files that pyarrow's C++ code finds in a dataset, which reads without `scanner`."""

    def open_input_file(self, path: str) -> NoReturn:
        """Refuse what would read the table's files without a merge.

        Raises:
            UnsupportedQueryError: always.
        """
        raise UnsupportedQueryError(
            f"pyarrow would read the {path} itself, without the merge of their log files",
            advice="Give it rows: those of sort_by(), scanner().to_reader() or to_table()",
        )


class Source(Protocol):
    """A scan, or a part of one."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    def storage(self) -> Storage:
        """The storage from which tasks read; picklable."""

    def select(self, columns: Sequence[str]) -> Self:
        """Return the source with some of its columns, in this order."""

    def _where(self, predicate: Predicate) -> Self:
        """Return the source, perhaps without rows for which the predicate is not true."""

    def _plan_groups(self) -> list[tuple[ReadTask, ...]]:
        """Return the tasks in groups of about equal cost."""

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the rows of that many file slices at a time; the reader raises HudiError."""


@dataclass(frozen=True)
class Split:
    """The rows of one group of tasks; picklable."""

    tasks: tuple[ReadTask, ...]
    storage: Storage
    schema: pa.Schema

    def select(self, columns: Sequence[str]) -> Split:
        schema = pa.schema([self.schema.field(name) for name in columns])
        tasks = (t.narrowed(schema) if isinstance(t, ScanTask) else t for t in self.tasks)
        return replace(self, tasks=tuple(tasks), schema=schema)

    def _where(self, predicate: Predicate) -> Split:  # noqa: ARG002  (already planned)
        return self

    def _plan_groups(self) -> list[tuple[ReadTask, ...]]:
        return [self.tasks]

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:  # noqa: ARG002
        tables = (table for task in self.tasks for table in read_task(task, self.storage))
        batches = (b for table in tables for b in table.select(self.schema.names).to_batches())
        return pa.RecordBatchReader.from_batches(self.schema, batches)


@dataclass(frozen=True, eq=False)
class HudiScanner:
    """Rows of a dataset or fragment, with the methods of `pyarrow.dataset.Scanner`.

    The fields are the arguments of `HudiDataset.scanner`, with the same errors.
    """

    source: Source
    columns: Columns = None
    filter: pc.Expression | None = None
    batch_size: int = _BATCH_ROWS
    limit: int | None = None

    def __post_init__(self) -> None:
        assert self.projected_schema is not None  # pyarrow refuses bad columns and filters

    @property
    def dataset_schema(self) -> pa.Schema:
        """All columns of the dataset."""
        return self.source.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns of the rows that this reads."""
        return self._apply(self.source.schema.empty_table()).projected_schema

    def to_reader(self) -> pa.RecordBatchReader:
        """Stream the rows to an engine. Reading begins with the first batch.

        Reading stops when the reader is closed.

        Raises:
            HudiError: the table cannot be read. The reader raises it, without a traceback; DuckDB
                raises an error of its own with this text in it.
            KeyboardInterrupt: the user stopped the read. DuckDB does likewise.
        """
        return engine_stream(self.projected_schema, self._batches())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; raises HudiError."""
        return self._batches()

    def to_table(self) -> pa.Table:
        """Return all rows in memory; raises HudiError."""
        return pa.Table.from_batches(self._batches(), self.projected_schema)

    def head(self, num_rows: int) -> pa.Table:
        """Return the first rows in any order; see `to_reader`."""
        limit = num_rows if self.limit is None else min(num_rows, self.limit)
        return replace(self, limit=limit).to_table()

    def take(self, indices: object) -> pa.Table:
        """Return rows by number, from 0; in the next read the same number may be another row."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """Count the rows. Only the columns of the filter are decoded."""
        return sum(batch.num_rows for batch in replace(self, columns=[]).to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _apply(self, rows: pa.RecordBatch | pa.Table) -> ds.Scanner:
        columns: Columns = self.columns
        if columns is not None:  # pyarrow takes no other mappings and sequences
            columns = dict(columns) if isinstance(columns, Mapping) else list(columns)
        return ds.InMemoryDataset(rows).scanner(
            columns, self.filter, self.batch_size, use_threads=False
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.limit == 0:
            return
        source_batches = self.narrowed().to_batches(None if self.limit is None else 1)
        batches = (batch for rows in source_batches for batch in self._apply(rows).to_batches())
        yield from first_rows(batches, self.limit)

    def narrowed(self) -> Source:
        """Return the source without columns and rows that are not needed."""
        source = self.source
        columns = self.columns
        schema = self.source.schema
        parsed = parse_expression(self.filter) if self.filter is not None else None
        needed = columns_of(parsed, schema) if self.filter is not None else set()
        if isinstance(columns, Mapping):
            values = map(parse_expression, columns.values())
            needed = needed.union(*(columns_of(value, schema) for value in values))
        else:  # the name of a nested field begins with that of its column
            names = schema.names if columns is None else columns
            schema_names = dict.fromkeys(schema.names)
            needed |= {n if n in schema_names else n.partition(".")[0] for n in names}
        source = source.select([name for name in schema.names if name in needed])
        predicate = pruning(parsed, schema) if parsed is not None else None
        return source if predicate is None else source._where(predicate)


class HudiDataset(ds.UnionDataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows of a table as of one instant, for engines that plan on a dataset of pyarrow.

    Engines pass columns and a filter to `scanner`, and do not filter again. The parts of a filter
    that the reader understands leave out partitions, files, row groups and pages. Then pyarrow
    applies the whole filter to every batch.
    """

    def __init__(self, source: Source, condition: pc.Expression | None = None) -> None:
        # The C++ code of pyarrow (e.g. unions) does not call `scanner`, so it must read no file.
        parquet = ds.ParquetFileFormat()
        files = PyFileSystem(_UnreadableFiles(None))
        unreadable = parquet.make_fragment("files of a Hudi table", files)
        child = ds.FileSystemDataset([unreadable], source.schema, parquet, files)
        super().__init__(source.schema, [child])
        self._source = source
        self._condition = condition  # only rows for which it is true; None for all

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._source, self._condition)

    def scanner(
        self,
        columns: Columns = None,
        filter: pc.Expression | None = None,  # noqa: A002  (pyarrow's name)
        batch_size: int = _BATCH_ROWS,
        limit: int | None = None,
        **hints: object,
    ) -> HudiScanner | ds.Scanner:
        """Choose columns and rows. Nothing is read yet.

        Args:
            columns: names of columns, or expressions by name; all columns by default.
            filter: condition for which pyarrow must find a row true; all rows by default.
            batch_size: maximum number of rows per batch.
            limit: maximum number of rows. Reading stops there.
            hints: other arguments of pyarrow's scanner, which have no effect.

        Raises:
            TypeError: pyarrow's scanner has no such argument.
            pyarrow.ArrowInvalid: a column does not exist, or the filter does not fit the columns.
        """
        if unknown := hints.keys() - _HINTS:
            raise TypeError(f"scanner() has no argument {', '.join(map(repr, sorted(unknown)))}")
        scanner = HudiScanner(self._source, columns, self._and(filter), batch_size, limit)
        if hints.keys() == {"use_threads"}:  # of write_dataset, whose C++ code needs pyarrow's own
            return ds.Scanner.from_batches(scanner.to_reader())
        return scanner

    def filter(self, expression: pc.Expression) -> HudiDataset:
        """Return the dataset of the rows for which an expression is also true."""
        return HudiDataset(self._source, self._and(expression))

    def get_fragments(
        self,
        filter: pc.Expression | None = None,  # noqa: A002  (pyarrow's name)
        columns: Sequence[str] | None = None,
        *,
        is_exact: bool = True,
    ) -> Iterator[HudiFragment]:
        """Plan the read, and yield its parts, of about equal cost (option ``task_bytes``).

        Args:
            filter: condition for the rows; parts without such rows may be left out.
            columns: names of the columns that are needed besides those of the filter; all by
                default.
            is_exact: whether parts have only such rows; False if the engine filters again.

        Raises:
            HudiError: the table cannot be read.
        """
        condition = self._and(filter)
        source = HudiScanner(self._source, columns, condition).narrowed()
        for tasks in source._plan_groups():
            split = Split(tasks, source.storage, source.schema)
            yield HudiFragment(split, condition if is_exact else self._condition)

    def sort_by(self, *arguments: Any, **options: Any) -> ds.InMemoryDataset:  # noqa: ANN401  (pyarrow's)
        """Read the rows, and sort them; see `pyarrow.dataset.Dataset.sort_by`."""
        return _in_memory(self).sort_by(*arguments, **options)

    def join(
        self,
        right_dataset: ds.Dataset,
        *arguments: Any,  # noqa: ANN401  (pyarrow's)
        **options: Any,  # noqa: ANN401
    ) -> ds.InMemoryDataset:
        """Read the rows, and join them; see `pyarrow.dataset.Dataset.join`."""
        return _in_memory(self).join(_in_memory(right_dataset), *arguments, **options)

    def _and(self, condition: pc.Expression | None) -> pc.Expression | None:
        if isinstance(condition, pa.Scalar):  # DataFusion writes so what is always true
            condition = pc.scalar(condition.as_py())
        if self._condition is None or condition is None:
            return self._condition if condition is None else condition
        return self._condition & condition


class HudiFragment(HudiDataset):
    """A part of a dataset, with the methods of `pyarrow.dataset.Fragment`; picklable."""

    @property
    def physical_schema(self) -> pa.Schema:
        """All columns of the fragment."""
        return self.schema

    def scanner(  # type: ignore[override]  # as in pyarrow
        self,
        schema: pa.Schema | None = None,
        columns: Columns = None,
        **options: Any,  # noqa: ANN401  (of `HudiDataset.scanner`)
    ) -> HudiScanner | ds.Scanner:
        names = schema.names if schema is not None and columns is None else columns
        return super().scanner(names, **options)


def _in_memory(dataset: ds.Dataset) -> ds.Dataset:
    """Return a dataset that the C++ code of pyarrow can read: the rows of one of this package."""
    return ds.InMemoryDataset(dataset.to_table()) if isinstance(dataset, HudiDataset) else dataset
