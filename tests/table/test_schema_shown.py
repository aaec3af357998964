import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_pyspark.columns.schema_evolution import conform
from hudi_pyspark.format.avro.schema import arrow_schema, parse_schema
from hudi_pyspark.table.schema import as_shown

DECLARED = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "tip", "type": "double"},
        {
            "name": "s",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "e",
                    "fields": [{"name": "n", "type": "int"}, {"name": "at", "type": "string"}],
                },
            },
        },
    ],
}


def test_columns_declared_without_nulls_can_be_written_with_nulls():
    schema = pa.schema([as_shown(f) for f in arrow_schema(parse_schema(json.dumps(DECLARED)))])
    older = pa.table({"s": [[{"n": 1}], None]})  # of before `tip` and `at` were added
    rows = conform(older, schema, {}, source="f")
    octets = io.BytesIO()
    pq.write_table(rows, octets)
    assert pq.read_table(octets).to_pylist() == [
        {"tip": None, "s": [{"n": 1, "at": None}]},
        {"tip": None, "s": None},
    ]
