import pyarrow as pa
import pytest

from hudi_pyspark import InvalidOptionError
from hudi_pyspark.filter.requested_keys import RequestedKeys, has_record_key
from hudi_pyspark.filter.sql_text import parse_filter
from hudi_pyspark.table.config import TableConfig

SCHEMA = pa.schema(
    {
        "_hoodie_record_key": pa.string(),
        "id": pa.int32(),
        "name": pa.string(),
        "fare": pa.float64(),
    }
)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [([], "there is no record key to look up. Give one or several"), (1.5, "is of type float")],
)
def test_lookup_without_a_key_or_with_a_fraction_says_what_to_give(keys, problem):
    config = TableConfig.parse({"hoodie.table.name": "t", "hoodie.table.version": "9"})
    with pytest.raises(InvalidOptionError, match=problem):
        has_record_key(keys, config)


def keys(text, fields="id", generator="SIMPLE"):
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": "9",
        "hoodie.table.recordkey.fields": fields,
        "hoodie.table.keygenerator.type": generator,
    }
    config = TableConfig.parse(properties)
    found = RequestedKeys.of(parse_filter(text, SCHEMA), config, SCHEMA).whole_keys
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("_hoodie_record_key = 'a'", "id", {"a"}),
        ("_hoodie_record_key IN ('a', 'b') AND fare > 1", "id", {"a", "b"}),
        # One field: with its name before it, or without, as the generator has it.
        ("id = 7", "id", {"7", "id:7"}),
        ("id IN (7, 8) AND id IN (7)", "id", {"7", "id:7"}),
        ("id = 7 AND name = 'x'", "id,name", {"id:7,name:x"}),
        ("id = 7 AND name IN ('x', '')", "id,name", {"id:7,name:x", "id:7,name:__empty__"}),
        ("id = 7", "id,name", None),
        ("id = 7 OR fare > 1", "id", None),
        ("id > 7", "id", None),
        ("id NOT IN (7)", "id", None),
        ("fare = 1", "fare", None),
        ("name = 'x'", "", None),
    ],
)
def test_record_keys_that_a_filter_leaves(text, fields, expected):
    assert keys(text, fields) == expected


@pytest.mark.parametrize("generator", ["USER_PROVIDED", ""])
def test_own_key_generator_may_make_any_key(generator):
    assert keys("id = 7", generator=generator) is None


def test_more_keys_than_can_be_looked_for_are_none():
    listed = ", ".join(map(str, range(200)))
    texts = ", ".join(f"'{i}'" for i in range(200))
    assert keys(f"id IN ({listed}) AND name IN ({texts})", "id,name") is None
