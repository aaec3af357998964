"""Random schemas and options that carry this package's own words: the rows are those without."""

import random
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from hudi_pyspark.spark.datasource import HudiDataSource
from hudi_pyspark.spark.hints import OPTION, REQUEST, ClientHints
from tests.spark.hints_of_others import OPTIONS, harmful_words, marked

TABLES = ["v9_mor_compaction_inline", "v10_mor_all_types"]
SECRET = "of the session"
_texts = st.text(max_size=20)
_paths = st.none() | st.frozensets(st.tuples(_texts), max_size=2)
_filters = st.lists(st.sampled_from(["false", "1 = 0", "id = 'x'", "id IS NULL"]), max_size=2)
_limits = st.none() | st.integers(0, 2)


@st.composite
def sources_of_others(draw):
    """Make the source of a session, with hints of a client that does not know its secret."""
    hints = ClientHints(draw(_paths), tuple(draw(_filters)), draw(_limits))
    forged = hints.to_option("r", draw(_texts.filter(lambda text: text != SECRET)))
    option = draw(st.sampled_from([forged, forged.partition(" ")[2], *_unsigned()]) | _texts)
    words = draw(st.fixed_dictionaries({}, optional={OPTION: st.just(option), REQUEST: _texts}))
    secret = draw(st.sampled_from(["", SECRET]))
    kind = type("Session", (HudiDataSource,), {"client_secret": secret})
    return lambda path: kind({"path": path, **words})


def _unsigned():
    return [options[OPTION] for options in OPTIONS]


def rows(source, schema):
    reader = source.reader(schema)
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    # As text, in which NaN equals NaN.
    return repr(pa.Table.from_batches(batches, reader.schema).to_pylist())


@pytest.fixture(scope="module")
def tables(golden_table):
    """The path, the schema and the rows of each table."""

    @cache
    def known(name):
        path = str(golden_table(name))
        source = HudiDataSource({"path": path})
        schema = source.schema()
        return path, schema, rows(source, schema)

    return known


@given(st.sampled_from(TABLES), sources_of_others(), st.randoms())
def test_rows_are_those_without_the_words_of_others(
    tables, tmp_path_factory, name, make_source, rng
):
    path, schema, expected = tables(name)
    mark = tmp_path_factory.getbasetemp() / "mark-of-others"
    words = harmful_words(mark)
    chosen = {word: words[word] for word in words if rng.random() < 0.7} or words
    source = make_source(path)
    assert source.schema() == schema
    hinted = marked(StructType(schema.fields), chosen, random.Random(rng.random()))
    assert rows(source, hinted) == expected
    assert not mark.exists()
