"""What Spark 4.0 does differently, without that Spark: its signatures, and what it refuses."""

import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.connect.proto import base_pb2

import hudi_pyspark
from hudi_pyspark import UnsupportedQueryError
from hudi_pyspark.spark.connect.plan import sources_of
from hudi_pyspark.spark.connect.session import NarrowPlans
from hudi_pyspark.spark.hints import ClientHints
from tests.emptied_state import empty

pytestmark = pytest.mark.spark

# Conversions of schemas have other arguments and other defaults there, and its streams no limits.
AS_IN_4_0 = """
import sys
import pyspark.sql.datasource
import pyspark.sql.pandas.types as types
sys.modules["pyspark.sql.streaming.datasource"] = None
new_to, new_from = types.to_arrow_schema, types.from_arrow_schema
def to_arrow_schema(schema, timestamp_utc=True):
    import inspect
    takes_zone = "timezone" in inspect.signature(new_to).parameters
    return new_to(schema, timezone="UTC") if takes_zone else new_to(schema)
def from_arrow_schema(arrow_schema, prefer_timestamp_ntz=False):
    return new_from(arrow_schema, prefer_timestamp_ntz)
types.to_arrow_schema, types.from_arrow_schema = to_arrow_schema, from_arrow_schema
from hudi_pyspark.spark.datasource import HudiDataSource
"""


def run_as_in_4_0(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", AS_IN_4_0 + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.usefixtures("spark_environment")
def test_batch_reads_with_the_schema_conversions_of_4_0(golden_table):
    code = f"""
source = HudiDataSource({{"path": {str(golden_table("v9_mor_timestamp_ntz"))!r}}})
reader = source.reader(source.schema())
print(source.schema()["at"].dataType.simpleString())
print(sum(b.num_rows for part in reader.partitions() for b in reader.read(part)))
"""
    assert run_as_in_4_0(code).split() == ["timestamp_ntz", "6"]


@pytest.mark.usefixtures("spark_environment")
def test_stream_reads_where_spark_has_no_read_limits(golden_table):
    code = f"""
path = {str(golden_table("v9_cow_incr_options"))!r}
source = HudiDataSource({{"path": path, "maxCommitsPerTrigger": "1"}})
reader = source.streamReader(source.schema())
end, begin = reader.latestOffset(), reader.initialOffset()
print(end["offsetCommitTime"])
print(sum(b.num_rows for part in reader.partitions(begin, end) for b in reader.read(part)))
"""
    assert run_as_in_4_0(code).split() == ["20261121064532792", "9"]


def session(condition: str = "DATA_SOURCE_ALREADY_EXISTS") -> Any:
    """A session that refuses to register; 4.0 does so for a name that it has found by itself."""

    def refuse(source: Any) -> None:
        raise AnalysisException(f"[{condition}] Data source {source.name()!r}")

    settings: dict[str, str] = {}  # any key may be set, also one that this Spark does not know
    return SimpleNamespace(
        dataSource=SimpleNamespace(register=refuse),
        conf=SimpleNamespace(set=settings.__setitem__),
    )


def test_source_that_spark_has_found_by_itself_needs_no_registration(monkeypatch):
    # Other tests of this process may have registered mergers.
    empty(monkeypatch, "mergers")
    hudi_pyspark.register(session())


def test_client_reads_a_source_of_another_name_where_spark_keeps_the_one_that_it_found(monkeypatch):
    empty(monkeypatch, "mergers")
    registered = []

    def register(source):
        if source.name() == "hudi-py":
            raise AnalysisException("[DATA_SOURCE_ALREADY_EXISTS] Data source 'hudi-py'")
        registered.append(source)

    hook = NarrowPlans(SimpleNamespace(_session_id="s"))
    spark: Any = SimpleNamespace(
        dataSource=SimpleNamespace(register=register),
        client=SimpleNamespace(_hudi_pyspark_hook=hook),
        conf=SimpleNamespace(get=lambda *_: "true"),
        version="4.0.0",
    )
    hudi_pyspark.register(spark)
    (source,) = registered
    assert source.name() == hook.format == "hudi-py-signed"
    assert source.client_secret == hook.secret
    plan = base_pb2.Plan()
    plan.root.read.data_source.format = "hudi-py"
    (read,) = sources_of(hook.narrowed(plan, "r")[0])
    assert read.format == "hudi-py-signed"
    assert ClientHints.of_read(read.options, hook.secret).is_given


def test_mergers_that_spark_would_not_see_are_refused(monkeypatch):
    registered = import_module("hudi_pyspark.custom_mergers")._registered
    monkeypatch.setitem(registered, "org.example.Payload", len)
    with pytest.raises(UnsupportedQueryError, match="give each read the option payload_merger"):
        hudi_pyspark.register(session())


def test_other_refusals_of_a_registration_are_raised():
    with pytest.raises(AnalysisException, match="DATA_SOURCE_TYPE_MISMATCH"):
        hudi_pyspark.register(session("DATA_SOURCE_TYPE_MISMATCH"))
