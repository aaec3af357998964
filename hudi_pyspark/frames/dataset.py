"""A table as a dataset of pyarrow: DuckDB, polars, DataFusion and others plan on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from hudi_pyspark.columns.arrays import first_rows
from hudi_pyspark.frames.expression import columns_of, parse_expression, pruning
from hudi_pyspark.reading.read_task import read_task
from hudi_pyspark.tasks import ReadTask, ScanTask

if TYPE_CHECKING:
    from typing_extensions import Self

    from hudi_pyspark.filter.predicate import Predicate
    from hudi_pyspark.storage import Storage

    Columns: TypeAlias = Sequence[str] | Mapping[str, pc.Expression] | None

_BATCH_ROWS = 131_072
# Arguments of pyarrow that decide how its own files are read; they have no effect here.
_HINTS = {"batch_readahead", "cache_metadata", "fragment_readahead", "fragment_scan_options"}
_HINTS |= {"memory_pool", "use_threads"}
# What pyarrow would look for, and reports as missing, where it reads without `scanner`.
_INSTEAD = "files of Hudi: give pyarrow a reader of the rows, scanner().to_reader(), or to_table()"


class Source(Protocol):
    """A scan, or a part of one."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def storage(self) -> Storage: ...

    def select(self, columns: Sequence[str]) -> Self:
        """Return the same rows of some columns, in that order."""

    def where(self, predicate: Predicate) -> Self:
        """Return the rows; those for which the predicate is not true may be left out."""

    def plan_groups(self) -> list[tuple[ReadTask, ...]]:
        """Return the tasks in groups of about equal cost."""

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Stream the rows, of as many file slices at a time; the reader raises HudiError."""


@dataclass(frozen=True)
class Split:
    """The rows of one group of tasks; picklable."""

    tasks: tuple[ReadTask, ...]
    storage: Storage
    schema: pa.Schema

    def select(self, columns: Sequence[str]) -> Split:
        wanted = pa.schema([self.schema.field(name) for name in columns])
        tasks = (t.narrowed(wanted) if isinstance(t, ScanTask) else t for t in self.tasks)
        return replace(self, tasks=tuple(tasks), schema=wanted)

    def where(self, predicate: Predicate) -> Split:  # noqa: ARG002  (it is planned already)
        return self

    def plan_groups(self) -> list[tuple[ReadTask, ...]]:
        return [self.tasks]

    def to_batches(self, threads: int | None = None) -> pa.RecordBatchReader:  # noqa: ARG002
        tables = (table for task in self.tasks for table in read_task(task, self.storage))
        batches = (b for table in tables for b in table.select(self.schema.names).to_batches())
        return pa.RecordBatchReader.from_batches(self.schema, batches)


@dataclass(frozen=True, eq=False)
class HudiScanner:
    """Rows of a dataset or fragment, with the methods of `pyarrow.dataset.Scanner`.

    `HudiDataset.scanner` says what the fields mean, and which errors they raise.
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
        return self.source.schema

    @property
    def projected_schema(self) -> pa.Schema:
        return self._of(self.source.schema.empty_table()).projected_schema

    def to_reader(self) -> pa.RecordBatchReader:
        """Stream the rows; reading begins with the first batch, and stops with the reader.

        Raises:
            HudiError: the table cannot be read; raised by the reader.
        """
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._batches())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; see `to_reader`."""
        return iter(self.to_reader())

    def to_table(self) -> pa.Table:
        """Return all rows in memory; see `to_reader`."""
        return self.to_reader().read_all()

    def head(self, num_rows: int) -> pa.Table:
        """Return some rows, whichever come first; see `to_reader`."""
        limit = num_rows if self.limit is None else min(num_rows, self.limit)
        return replace(self, limit=limit).to_table()

    def take(self, indices: object) -> pa.Table:
        """Return the rows at some places; a table promises no order."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """Count the rows; only the columns of the filter are decoded."""
        return sum(batch.num_rows for batch in replace(self, columns=[]).to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _of(self, rows: pa.RecordBatch | pa.Table) -> ds.Scanner:
        columns: Columns = self.columns
        if columns is not None:  # of the very classes that pyarrow takes
            columns = dict(columns) if isinstance(columns, Mapping) else list(columns)
        return ds.InMemoryDataset(rows).scanner(
            columns, self.filter, self.batch_size, use_threads=False
        )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.limit == 0:
            return
        read = self.narrowed().to_batches(None if self.limit is None else 1)
        batches = (batch for part in read for batch in self._of(part).to_batches())
        yield from first_rows(batches, self.limit)

    def narrowed(self) -> Source:
        """Return what is read, without the columns and rows that nobody needs."""
        source, columns, schema = self.source, self.columns, self.source.schema
        parsed = parse_expression(self.filter) if self.filter is not None else None
        needed = columns_of(parsed, schema) if self.filter is not None else set()
        if isinstance(columns, Mapping):
            values = map(parse_expression, columns.values())
            needed = needed.union(*(columns_of(value, schema) for value in values))
        else:  # the name of a nested field begins with that of its column
            names = schema.names if columns is None else columns
            needed |= {n if n in schema.names else n.partition(".")[0] for n in names}
        source = source.select([name for name in schema.names if name in needed])
        predicate = pruning(parsed, schema) if parsed is not None else None
        return source if predicate is None else source.where(predicate)


class HudiDataset(ds.UnionDataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows of a table as of one instant, for engines that plan on a dataset of pyarrow.

    Engines hand columns and a filter to `scanner`, and do not filter again. What the reader
    understands of a filter leaves out partitions, files, row groups and pages; pyarrow applies all
    of it to every batch.
    """

    def __init__(self, source: Source, condition: pc.Expression | None = None) -> None:
        # pyarrow's C++ code (joins, unions) does not call `scanner`: it finds nothing, and fails.
        parquet, local = ds.ParquetFileFormat(), LocalFileSystem()
        missing = parquet.make_fragment(_INSTEAD, local)
        child = ds.FileSystemDataset([missing], source.schema, parquet, local)
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
        """Choose columns and rows; nothing is read yet.

        Args:
            columns: names, or expressions by name; all by default.
            filter: only rows for which it is true, with pyarrow's meaning.
            batch_size: most rows of a batch.
            limit: most rows; nothing is read past it.
            hints: further arguments of pyarrow, which have no effect.

        Raises:
            TypeError: an argument that pyarrow does not have.
            pyarrow.ArrowInvalid: a column that does not exist, or a filter that does not fit them.
        """
        if unknown := hints.keys() - _HINTS:
            raise TypeError(f"scanner() has no argument {', '.join(map(repr, sorted(unknown)))}")
        chosen = HudiScanner(self._source, columns, self._also(filter), batch_size, limit)
        if hints.keys() == {"use_threads"}:  # of write_dataset, whose C++ code needs pyarrow's own
            return ds.Scanner.from_batches(chosen.to_reader())
        return chosen

    def filter(self, expression: pc.Expression) -> HudiDataset:
        """Return the dataset of the rows for which an expression is true, too."""
        return HudiDataset(self._source, self._also(expression))

    def get_fragments(
        self,
        filter: pc.Expression | None = None,  # noqa: A002  (pyarrow's name)
        columns: Sequence[str] | None = None,
        *,
        is_exact: bool = True,
    ) -> Iterator[HudiFragment]:
        """Plan the read, and yield its parts, of about equal cost (option ``task_bytes``).

        Args:
            filter: only rows for which it is true; parts without any may be left out.
            columns: names of those that are needed, besides those of the filter; all by default.
            is_exact: false if the engine filters again: parts then have more rows, perhaps.

        Raises:
            HudiError: the table cannot be read.
        """
        condition = self._also(filter)
        source = HudiScanner(self._source, columns, condition).narrowed()
        for tasks in source.plan_groups():
            split = Split(tasks, source.storage, source.schema)
            yield HudiFragment(split, condition if is_exact else self._condition)

    def _also(self, condition: pc.Expression | None) -> pc.Expression | None:
        if isinstance(condition, pa.Scalar):  # as DataFusion writes one that is always true
            condition = pc.scalar(condition.as_py())
        if self._condition is None or condition is None:
            return self._condition if condition is None else condition
        return self._condition & condition


class HudiFragment(HudiDataset):
    """A part of a dataset, with the methods of `pyarrow.dataset.Fragment`; picklable."""

    @property
    def physical_schema(self) -> pa.Schema:
        return self.schema

    def scanner(  # type: ignore[override]  # as in pyarrow
        self,
        schema: pa.Schema | None = None,
        columns: Columns = None,
        **options: Any,  # noqa: ANN401  (of `HudiDataset.scanner`)
    ) -> HudiScanner | ds.Scanner:
        names = schema.names if schema is not None and columns is None else columns
        return super().scanner(names, **options)
