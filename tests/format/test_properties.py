import pytest

from hudi_pyspark.format.properties import parse_properties, table_checksum


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"key=value", {"key": "value"}, id="equals"),
        pytest.param(b"key:value", {"key": "value"}, id="colon"),
        pytest.param(b"key value", {"key": "value"}, id="blank"),
        pytest.param(b"key \t=\f value ", {"key": "value "}, id="blanks-around-separator"),
        pytest.param(b"key==value", {"key": "=value"}, id="only-one-separator-is-removed"),
        pytest.param(b"key = : value", {"key": ": value"}, id="second-separator-after-blank"),
        pytest.param(b"key", {"key": ""}, id="key-alone"),
        pytest.param(b"=value", {"": "value"}, id="empty-key"),
        pytest.param(b"  key=value", {"key": "value"}, id="indented"),
        pytest.param(b"a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}, id="line-ends"),
        pytest.param(b"#a=1\n  !b=2\n\n \t\nc=3", {"c": "3"}, id="comments-and-blank-lines"),
        pytest.param(b"#a=1\\\nb=2", {"b": "2"}, id="comment-is-not-continued"),
        pytest.param(b"a=1,\\\n   2", {"a": "1,2"}, id="continued"),
        pytest.param(b"a=1\\\r\n2", {"a": "12"}, id="continued-over-two-byte-line-end"),
        pytest.param(b"a=1\\\n#2", {"a": "1#2"}, id="no-comment-within-continued-line"),
        pytest.param(b"a=1\\\\\nb=2", {"a": "1\\", "b": "2"}, id="escaped-backslash-ends-line"),
        pytest.param(b"a=1\\\n\nb=2", {"a": "1", "b": "2"}, id="blank-line-ends-continuation"),
        pytest.param(b"a=1\\", {"a": "1"}, id="backslash-at-end-of-text"),
        pytest.param(rb"a\=b\:c\ d=1", {"a=b:c d": "1"}, id="escaped-separators-in-key"),
        pytest.param(rb"a=\t\n\r\f\\\q", {"a": "\t\n\r\f\\q"}, id="escapes"),
        pytest.param(rb"a=\u00e9\u20AC", {"a": "é€"}, id="unicode-escapes"),
        pytest.param(rb"a=\ud83d\ude00", {"a": "😀"}, id="surrogate-pair"),
        pytest.param(b"a=\xe9", {"a": "é"}, id="latin-1"),
        pytest.param(b"a=1\x852", {"a": "1\x852"}, id="next-line-character-ends-no-line"),
        pytest.param(b"a=1\na=2", {"a": "2"}, id="last-wins"),
        pytest.param(b"", {}, id="empty"),
        pytest.param(
            b'hoodie.table.create.schema={"type"\\:"record","name"\\:"r"}',
            {"hoodie.table.create.schema": '{"type":"record","name":"r"}'},
            id="schema-as-hudi-writes-it",
        ),
    ],
)
def test_text_is_read_as_java_reads_it(text, expected):
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", [rb"a=\u12", rb"a=\u12g4", rb"\u=1"])
def test_incomplete_unicode_escape_is_refused(text):
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        parse_properties(text)


@pytest.mark.parametrize(
    ("database", "table", "checksum"),
    [
        pytest.param("", "v9_mor_archived", 4207932384, id="no-database"),
        pytest.param("default_database", "flink_v6_mor_bucket", 1312336356, id="database"),
    ],
)
def test_checksum_is_the_one_that_hudi_wrote(database, table, checksum):
    assert table_checksum(database, table) == checksum


def test_text_that_would_take_long_to_parse_is_refused():
    with pytest.raises(ValueError, match=r"it has 20,000,018 bytes; at most 4,194,304 are read"):
        parse_properties(b"hoodie.table.name=" + b"\\" * 20_000_000)


def test_half_of_a_character_is_replaced():
    assert parse_properties(rb"a=\ud83d\ude00 \ud83d.") == {"a": "\U0001f600 \ufffd."}
