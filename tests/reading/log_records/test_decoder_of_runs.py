"""Small neighbouring Avro blocks are decoded together: the records and errors stay the same."""

import json
import random
import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest

from hudi_pyspark import CorruptLogBlockError, HudiError, thresholds
from hudi_pyspark.columns.schema_evolution import SchemaOnRead
from hudi_pyspark.format.log.log_block import HeaderKey, LogBlock, LogBlockType
from hudi_pyspark.format.timeline.internal_schema import InternalField, InternalSchema, StructPart
from hudi_pyspark.options.read_options import ReadOptions
from hudi_pyspark.reading.log_records.decoder import LogDecoder
from hudi_pyspark.reading.log_records.marks import ranks
from hudi_pyspark.reading.log_records.records import LogRecords
from hudi_pyspark.scan import choose_scan
from tests.format.log.log_writer import avro_content, avro_records, write_block
from tests.reading.log_records.log_files import (
    BASE_INSTANT,
    KEY,
    avro_record,
    data_block,
    delete_block,
    framed,
    log_records,
    nullable,
    rollback_block,
    rule_of,
)
from tests.table.tiny_table import TinyTable, log

SCHEMA = pa.schema([(KEY, pa.string()), ("ts", pa.int64()), ("v", pa.string())])
NARROW = avro_record(ts=nullable("int"))
WIDE = avro_record(ts=nullable("long"), v=nullable("string"))
RULE = rule_of(delete_field="v", delete_marker="gone")


def decoder_of(**options) -> LogDecoder:
    return LogDecoder(
        SCHEMA, {}, RULE, **{"positions_of": BASE_INSTANT, "columns": SCHEMA.names, **options}
    )


def apart(decoder: LogDecoder, blocks: Sequence[LogBlock]) -> LogRecords:
    """The records of blocks that are decoded one by one."""
    return decoder.concatenate([part for block in blocks for part in decoder.decode([block])])


def contents_of(records: LogRecords) -> dict[str, object]:
    marks = records.marks
    return {
        "rows": records.rows.to_pylist(),
        "row": records.row.tolist(),
        "keys": records.keys.to_pylist(),
        "positions": None if records.positions is None else records.positions.tolist(),
        "is_delete": marks.is_delete.tolist(),
        "has_default_ordering": marks.has_default_ordering.tolist(),
        "has_other_class": marks.has_other_class.tolist(),
        "columns": [records.column_sets.lacking(name, marks.columns).tolist() for name in "v"],
        "ranks": ranks(marks.ordering, len(records)).tolist(),
    }


def random_block(chance: random.Random, first_position: int | None) -> bytes:
    keys = [f"k{chance.randrange(9)}" for _ in range(chance.randrange(5))]
    positions = None if first_position is None else [*range(first_position, first_position + 9)]
    positions = positions and positions[: len(keys)]
    instant = f"00{chance.randrange(2, 5)}"
    if chance.random() < 0.2:
        deletes = [(key, None) for key in keys]
        return delete_block(deletes, instant=instant, positions=positions)
    schema = chance.choice([NARROW, WIDE, WIDE, WIDE])
    more: dict[HeaderKey | int, str] = {}
    if chance.random() < 0.2:
        more = {HeaderKey.IS_PARTIAL: "true"}
    rows = [
        {KEY: key, "ts": chance.choice([None, 0, 7]), "v": chance.choice([None, "gone", "x"])}
        for key in keys
    ]
    return data_block(schema, rows, instant=instant, positions=positions, more=more)


@pytest.mark.parametrize("wanted", [None, ["k1"], ["k1", "k2", "k3"], ["none"]], ids=str)
@pytest.mark.parametrize("seed", range(40))
def test_blocks_have_the_same_records_together_and_apart(seed, wanted):
    chance = random.Random(seed)
    has_positions = seed % 2 == 0 and wanted is None
    blocks = framed(
        *(
            b"".join(
                random_block(chance, 9 * (5 * file + place) if has_positions else None)
                for place in range(chance.randrange(5))
            )
            for file in range(4)
        )
    )
    keys = None if wanted is None else pa.array(wanted)
    together, one_by_one = decoder_of(wanted_keys=keys), decoder_of(wanted_keys=keys)
    joined = together.concatenate([*together.decode(blocks)])
    assert contents_of(joined) == contents_of(apart(one_by_one, blocks))
    data = [b for b in blocks if b.block_type is LogBlockType.AVRO_DATA_BLOCK]
    values = [row for table in decoder_of().values(data) for row in table.to_pylist()]
    tables = (table for block in data for table in decoder_of().values([block]))
    assert values == [row for table in tables for row in table.to_pylist()]


def rows(*keys: str | None, schema: dict[str, object] = WIDE, **options) -> bytes:
    written = [{KEY: key, "ts": 1, "v": f"of {key}"} for key in keys]
    return data_block(schema, written, **options)


def count_parts(*files: bytes, **options) -> int:
    return len([*decoder_of(**options).decode(framed(*files))])


def test_neighbours_of_one_schema_are_one_part():
    blocks = [rows(f"k{number}", instant=f"00{number}") for number in range(2, 9)]
    assert count_parts(*blocks) == 1
    assert count_parts(b"".join(blocks)) == 1


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(delete_block([("a", None)]), id="delete"),
        pytest.param(rows("b", schema=NARROW), id="other-schema"),
        pytest.param(rows("b", more={HeaderKey.IS_PARTIAL: "true"}), id="partial-update"),
    ],
)
def test_another_kind_of_block_ends_a_part(between):
    assert count_parts(rows("a") + rows("b"), between, rows("c") + rows("d")) == 3


def test_large_blocks_and_many_blocks_are_several_parts(monkeypatch):
    block = rows("a")
    content_length = framed(block)[0].content_length
    monkeypatch.setattr(thresholds, "LARGEST_RUN", 3 * content_length)
    assert count_parts(*[block] * 7) == 3
    monkeypatch.setattr(thresholds, "SMALL_BLOCK", content_length)
    assert count_parts(*[block] * 7) == 7


def test_records_of_a_rolled_back_block_between_neighbours_do_not_count():
    blocks = [rows("a", instant="002"), rows("b", instant="003"), rows("c", instant="004")]
    file = b"".join([*blocks, rollback_block("003"), rows("d", instant="003")])
    records = log_records(file, schema=SCHEMA, rule=RULE)
    assert records.keys.to_pylist() == ["a", "c", "d"]


def content_of(keys: Sequence[str | None]) -> bytes:
    return avro_content(avro_records(WIDE, [{KEY: key, "ts": 1, "v": "x"} for key in keys]))


GOOD = content_of(["a", "b"])
DAMAGED = {
    "empty": b"",
    "cut-in-the-head": GOOD[:6],
    "cut-in-a-length": GOOD[:10],
    "cut-in-a-record": GOOD[:-2],
    "bytes-behind": GOOD + b"\0",
    "more-records-than-counted": struct.pack(">ii", 3, 1) + GOOD[8:],
    "fewer-records-than-counted": struct.pack(">ii", 3, 3) + GOOD[8:],
    "negative-count": struct.pack(">ii", 3, -1) + GOOD[8:],
    "unknown-version": struct.pack(">ii", 9, 2) + GOOD[8:],
    "negative-length": GOOD[:8] + struct.pack(">i", -5) + GOOD[12:],
    "length-up-to-the-next-block": GOOD[:8] + struct.pack(">i", len(GOOD) - 12) + GOOD[12:],
    "unknown-branch": GOOD[:12] + b"\x08" + GOOD[13:],
    "text-longer-than-its-record": GOOD[:13] + b"\x7e" + GOOD[14:],
    "no-utf-8": GOOD[:14] + b"\xff" + GOOD[15:],
    "no-key": content_of(["a", None]),
}


def block_of(content: bytes) -> bytes:
    header: dict[HeaderKey | int, str] = {
        HeaderKey.INSTANT_TIME: "002",
        HeaderKey.SCHEMA: json.dumps(WIDE),
    }
    return write_block(LogBlockType.AVRO_DATA_BLOCK, header, content)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_block_among_neighbours_is_named_as_if_it_were_alone(content, place):
    files = [block_of(GOOD) for _ in range(4)]
    files[place] = block_of(content)
    blocks = framed(*files)
    with pytest.raises(HudiError) as alone:
        apart(decoder_of(), [blocks[place]])
    with pytest.raises(type(alone.value)) as among:
        list(decoder_of().decode(blocks))
    assert str(among.value) == str(alone.value)
    assert f"f{place + 1}.log" in str(among.value)


def test_first_of_two_damaged_blocks_is_named():
    files = [GOOD, DAMAGED["unknown-branch"], GOOD, DAMAGED["empty"]]
    with pytest.raises(CorruptLogBlockError, match=r"f2\.log"):
        list(decoder_of().decode(framed(*map(block_of, files))))


def test_damaged_positions_among_neighbours_are_named():
    more: dict[HeaderKey | int, str] = {
        HeaderKey.RECORD_POSITIONS: "AAAA",
        HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: BASE_INSTANT,
    }
    files = [rows("a", positions=[1]), rows("b", more=more), rows("c", positions=[2])]
    with pytest.raises(CorruptLogBlockError, match=r"f2\.log.*positions cannot be decoded"):
        list(decoder_of().decode(framed(*files)))


def test_on_damage_reads_the_neighbours_of_a_block_that_is_cut():
    blocks = [rows(key, instant="020") for key in "abcd"]
    content = b"".join([blocks[0], blocks[1][:-8] + bytes(8), *blocks[2:]])
    table = TinyTable(record__merge__mode="COMMIT_TIME_ORDERING")
    table.data(log("f", "020"), content=content)
    table.write("020", "deltacommit", log("f", "020"), extra={"schema": json.dumps(WIDE)})

    def read(on_damage: str) -> pa.Table:
        options = ReadOptions.parse({"on_damage": on_damage, "columns": KEY})
        return choose_scan(table.open(), options, {}).to_arrow()

    assert read("ignore").column(KEY).to_pylist() == ["a", "c", "d"]
    with pytest.raises(CorruptLogBlockError, match=f"at byte {len(blocks[0])}"):
        read("fail")


def test_columns_of_each_instant_are_matched_by_id():
    def version(number: int, *names: str) -> InternalSchema:
        fields = (InternalField(i, name, None) for i, name in enumerate(names))
        return InternalSchema(number, StructPart(tuple(fields)))

    # Column v was renamed to w at instant 4, and a new column v was added.
    before = version(0, KEY, "ts", "v")
    after = version(4, KEY, "ts", "w", "v")
    schema = SCHEMA.append(pa.field("w", pa.string()))
    decoder = LogDecoder(
        schema,
        {},
        rule_of(),
        positions_of=None,
        columns=schema.names,
        schema_on_read=SchemaOnRead(after, (before, after)),
    )
    blocks = [rows(f"k{time}", instant=f"00{time}") for time in (2, 3, 4, 5)]
    parts = [*decoder.decode(framed(*blocks))]
    assert [len(part) for part in parts] == [2, 2]
    values = decoder.concatenate(parts).rows.select(["v", "w"]).to_pylist()
    assert values == [
        {"v": None, "w": "of k2"},
        {"v": None, "w": "of k3"},
        {"v": "of k4", "w": None},
        {"v": "of k5", "w": None},
    ]
