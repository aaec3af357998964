"""What the scans of a DataFrame read, in sessions of both kinds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, MapType, StructType

from hudi_pyspark.short_name import SHORT_NAME
from hudi_pyspark.spark.hints import OPTION, ClientHints, read_hints
from hudi_pyspark.spark.session import is_classic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

_NOTHING = f"no scan of {SHORT_NAME} is known: a view of another session reads what it was made of"


@dataclass(frozen=True)
class _Scan:
    """One scan of a table."""

    path: str
    columns: StructType
    filters: tuple[str, ...]
    limit: int | None

    def __str__(self) -> str:
        fields = [
            f"{field.name} {field.dataType.simpleString()}"
            if isinstance(field.dataType, StructType | ArrayType | MapType)
            else field.name
            for field in self.columns
        ]
        lines = [f"{SHORT_NAME} {self.path}", f"  columns: {', '.join(fields) or 'none'}"]
        lines += [f"  condition: {text}" for text in self.filters]
        lines += [f"  limit: {self.limit}"] if self.limit is not None else []
        return "\n".join(lines)


def explain(df: DataFrame) -> str:
    """Say in text what each scan of a DataFrame reads."""
    scans = _classic(df) if is_classic(df.sparkSession) else _connect(df)
    return "\n".join(map(str, scans)) or _NOTHING


def _classic(df: DataFrame) -> Iterator[_Scan]:
    execution: Any = df._jdf.queryExecution()  # noqa: SLF001  (the only way to the plan)
    leaves = execution.optimizedPlan().collectLeaves()
    for leaf in (leaves.apply(place) for place in range(leaves.size())):
        if leaf.getClass().getSimpleName() != "DataSourceV2ScanRelation":
            continue
        if leaf.relation().name() != SHORT_NAME:
            continue
        schema = StructType.fromJson(json.loads(leaf.scan().readSchema().json()))
        hints = read_hints(schema)
        yield _Scan(
            leaf.relation().options().get("path"), hints.columns, hints.filters, hints.limit
        )


def _connect(df: DataFrame) -> Iterator[_Scan]:
    from hudi_pyspark.spark.connect.session import reads_of, schema_of  # noqa: PLC0415  (needs grpc)

    client: Any = df.sparkSession.client
    for source in reads_of(client, df._plan.to_proto(client)):  # type: ignore[operator]  # noqa: SLF001
        hints = ClientHints.from_option(source.options.get(OPTION, ""))
        path = ", ".join(source.paths) or source.options["path"]
        columns = hints.without_placeholder(schema_of(client, source))
        yield _Scan(path, columns, hints.filters, hints.limit)
