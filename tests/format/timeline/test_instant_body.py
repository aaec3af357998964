import json
import subprocess
import sys

import pytest

from hudi_pyspark.format.timeline.instant_body import load_schema, read_container
from tests.conftest import PROJECT
from tests.format.timeline.avro_bodies import container, record


def test_records_of_a_container_are_read():
    body = container(
        record("int", {"type": "map", "values": "string"}), [{"f0": 1, "f1": {"a": "b"}}]
    )
    assert list(read_container(body)) == [{"f0": 1, "f1": {"a": "b"}}]


def test_compressed_container_is_refused():
    with pytest.raises(ValueError, match="without compression, found deflate"):
        read_container(container(record("int"), [{"f0": 1}], codec="deflate"))


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        pytest.param(record(["null", "r"]), "has r in itself", id="in-a-union"),
        pytest.param(record({"type": "map", "values": "r"}), "has r in itself", id="in-a-map"),
        pytest.param(record({"type": "array", "items": "null"}), "take no bytes", id="nulls"),
    ],
)
def test_schema_whose_values_have_no_bound_is_refused(schema, problem):
    with pytest.raises(ValueError, match=problem):
        load_schema(json.dumps(schema))


def test_type_that_two_fields_share_is_not_inside_itself():
    shared = {**record("int"), "name": "shared"}
    schema = record(shared, "shared")
    assert load_schema(json.dumps(schema)) == schema


def test_commit_that_is_nested_a_million_deep_does_not_end_the_process():
    """In a separate process, which fastavro by itself would end."""
    code = (
        "from hudi_pyspark.errors import CorruptTimelineError\n"
        "from hudi_pyspark.format.timeline.instant_metadata import parse_commit_metadata\n"
        "from tests.format.timeline.avro_bodies import nested_commit\n"
        "try:\n"
        "    parse_commit_metadata(nested_commit(), path='c')\n"
        "except CorruptTimelineError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert "c: ValueError: the Avro schema has r in itself" in run.stdout
