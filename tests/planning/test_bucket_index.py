"""The bucket index: what keys show, what is left out, and what is never left out."""

import random
from datetime import date

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_pyspark import HudiTable, scan_polars, thresholds
from hudi_pyspark.errors import CorruptTableError, InvalidOptionError
from hudi_pyspark.format.bucket_keys import Rule
from hudi_pyspark.planning import bucket_index
from hudi_pyspark.planning.bucket_laws import HashingRing, SimpleBuckets, candidates, find_laws
from hudi_pyspark.table.hashing_rings import Arc
from hudi_pyspark.table.stored_keys import stored_keys
from tests.planning.bucket_tables import add, damaged_elsewhere
from tests.planning.indexed import pruned
from verification.bucket_tables.__main__ import cluster
from verification.bucket_tables.hashing import list_hash, ring_hash
from verification.bucket_tables.tables import KINDS, Keys, Writer

ID = candidates(("id",))


def write(folder, counts, kind="counted", rows=1200, **changes):
    """Write a table, and return its writer."""
    writer = Writer(
        folder / "t", random.Random(3), KINDS[kind], is_old=False, counts=counts, **changes
    )
    add(writer, rows)
    return writer


def a_row(writer, partition=None):
    return next(
        (group, row)
        for group, rows in writer.rows.items()
        for row in rows.values()
        if partition in (None, group[0])
    )


def slices_read(scan):
    return {(t.file_slice.partition_path, t.file_slice.file_id) for t in scan.plan()}


def by_id(table, *ids, **options):
    text = ", ".join(f"'{value}'" for value in ids)
    return table.scan(filter=f"id IN ({text})", **options)


def located(count, keys, places=list_hash):
    return [(f"{places([key]) % count:08}-x-0", key) for key in keys]


KEYS = [f"key-{number * 37}" for number in range(400)]


def test_number_of_buckets_follows_from_keys():
    (law, *others), contradicted = find_laws(SimpleBuckets(24), located(24, KEYS), ID)
    assert (law.layout, contradicted) == (SimpleBuckets(24, (24,)), False)
    assert {other.candidate[1] for other in [law, *others]} == set(Rule)  # keys have no separators


def test_all_divisors_above_the_largest_bucket_may_be_the_number():
    laws, _ = find_laws(SimpleBuckets(5), located(24, KEYS), ID)
    assert laws[0].layout == SimpleBuckets(5, (6, 8, 12, 24))
    may_have = laws[0].layout.may_have(np.array([30]))
    assert [n for n in range(24) if may_have(f"{n:08}-x-0")] == [0, 6]


def test_one_key_in_another_bucket_refutes_the_law():
    keys = located(24, KEYS)
    keys[300] = (f"{(int(keys[300][0][:8]) + 1) % 24:08}-x-0", keys[300][1])
    assert find_laws(SimpleBuckets(24), keys, ID) == ((), True)


@pytest.mark.parametrize(("count", "is_shown"), [(39, False), (40, True)])
def test_forty_keys_show_a_law(count, is_shown):
    laws, contradicted = find_laws(SimpleBuckets(8), located(8, KEYS[:count]), ID)
    assert (bool(laws), contradicted) == (is_shown, False)


def test_equal_hashes_show_nothing():
    # Of a hash field with few values, or of a key that none of the rules can take apart.
    keys = [(f"{list_hash(['x']) % 8:08}-x-0", f"a:x,b:{number}") for number in range(400)]
    laws, _ = find_laws(SimpleBuckets(2), keys, candidates(("a", "b"), ("a",)))
    assert laws == ()


def test_keys_of_one_file_group_show_nothing():
    in_one = [(file_id, key) for file_id, key in located(4, KEYS) if file_id.startswith("00000001")]
    assert len(in_one) > 40
    assert find_laws(SimpleBuckets(2), in_one, ID)[0] == ()


def test_ring_is_believed_only_if_keys_are_on_its_arcs():
    arcs = {"lower-0": (Arc(2**31 - 1, 2**30),), "upper-0": (Arc(2**30, 2**31 - 1),)}
    right = [("lower-0" if ring_hash([key]) <= 2**30 else "upper-0", key) for key in KEYS]
    laws, _ = find_laws(HashingRing(arcs), right, ID)
    assert laws
    assert find_laws(
        HashingRing(arcs), [*right[1:], ("upper-0", "key-0"), ("lower-0", "key-0")], ID
    ) == ((), True)


def test_look_up_reads_one_bucket_of_each_partition(tmp_path):
    writer = write(tmp_path, {"p0": 16, "p1": 16})
    group, row = a_row(writer)
    table = HudiTable(str(tmp_path / "t"))
    scan = by_id(table, row["id"])
    assert len(slices_read(scan)) == 2
    assert group in slices_read(scan)
    assert scan.to_arrow()["ts"].to_pylist() == [row["ts"]]
    assert "30 of 32 file slices by the bucket index (16 buckets, by id" in pruned(scan)
    assert "bucket index" not in pruned(by_id(table, row["id"], data_skipping="column_stats"))


def test_each_partition_shows_its_own_buckets(tmp_path):
    writer = write(tmp_path, {"p0": 8, "p1": 12})
    table = HudiTable(str(tmp_path / "t"))
    for partition in writer.counts:
        group, row = a_row(writer, partition)
        scan = by_id(table, row["id"])
        assert group in slices_read(scan)
        assert len(slices_read(scan)) == 2


def test_rows_of_clustered_groups_are_never_left_out(tmp_path):
    writer = write(tmp_path, {"p0": 16})
    cluster(writer, random.Random(1))
    group = next(group for group in writer.rows if not group[1].startswith("000000"))
    row = next(iter(writer.rows[group].values()))
    scan = by_id(HudiTable(str(tmp_path / "t")), row["id"])
    assert group in slices_read(scan)
    assert "by the bucket index" in pruned(scan)


def test_commit_with_other_buckets_stops_all_pruning(tmp_path):
    writer = write(tmp_path, {"p0": 16})
    writer.counts["p0"] = 15
    add(writer, 20)
    scan = by_id(HudiTable(str(tmp_path / "t")), a_row(writer)[1]["id"])
    assert len(slices_read(scan)) == len(writer.rows)
    assert "nothing by the bucket index of some partitions" in pruned(scan)
    assert "fit no buckets" in pruned(scan)


@pytest.mark.parametrize("as_base", [False, True])
def test_rows_of_a_commit_with_other_buckets_are_looked_at_in_merged_files(tmp_path, as_base):
    # The new rows are a few of those of each base file, and the last ones.
    writer = Writer(
        tmp_path / "t", random.Random(3), KINDS["counted"], is_old=False, counts={"p0": 8}
    )
    add(writer, 20_000, as_base=True)
    writer.counts["p0"] = 7
    add(writer, 60, as_base=as_base)
    writer.compact(list(writer.rows))
    scan = by_id(HudiTable(str(tmp_path / "t")), a_row(writer)[1]["id"])
    assert len(slices_read(scan)) == len(writer.rows)


def test_numbers_that_no_hash_chose_are_no_buckets(tmp_path):
    writer = write(tmp_path, {"p0": 16}, is_scattered=True)
    scan = by_id(HudiTable(str(tmp_path / "t")), a_row(writer)[1]["id"])
    assert len(slices_read(scan)) == len(writer.rows)


def test_overwrite_with_another_number_shows_the_new_one(tmp_path):
    writer = write(tmp_path, {"p0": 16})
    writer.counts["p0"] = 24

    def place(partition, values):
        return writer.file_id(partition, values)[:8] + "-7cf7-49b2-b2d2-957bee7a5629-0"

    writer.replace(list(writer.rows), place, "INSERT_OVERWRITE")
    table = HudiTable(str(tmp_path / "t"))
    group, row = a_row(writer)
    scan = by_id(table, row["id"])
    assert slices_read(scan) == {group}
    assert "(24 buckets, by id" in pruned(scan)
    before = by_id(table, row["id"], as_of=str(writer.instant - 1))
    assert len(slices_read(before)) == 1
    assert "(16 buckets, by id" in pruned(before)


def test_filter_on_some_hash_fields_leaves_out_nothing(tmp_path):
    writer = write(tmp_path, {"p0": 16}, "pairs")
    _, row = a_row(writer)
    table = HudiTable(str(tmp_path / "t"))
    assert len(slices_read(table.scan(filter=f"b = {row['b']}"))) == len(writer.rows)
    assert len(slices_read(table.scan(filter=f"ts = {row['ts']}"))) == len(writer.rows)
    both = [("a", "=", row["a"]), ("b", "=", row["b"])]
    assert len(slices_read(table.scan(filter=both))) == 1


def test_number_may_be_unlisted_where_text_may_not(tmp_path):
    # The text of a number has no comma, which would change what is hashed of the key.
    for kind, listed, count in (("part of pairs", "a", 1), ("number of pairs", "b", 16)):
        folder = tmp_path / listed
        folder.mkdir()
        writer = write(folder, {"p0": 16}, kind)
        _, row = a_row(writer)
        scan = HudiTable(str(folder / "t")).scan(filter=[(listed, "=", row[listed])])
        assert len(slices_read(scan)) == count


def test_look_up_of_whole_keys_and_of_many(tmp_path):
    writer = write(tmp_path, {"p0": 64}, rows=3000)
    table = HudiTable(str(tmp_path / "t"))
    rows = [
        row for of_group in list(writer.rows.values())[:3] for row in list(of_group.values())[:2]
    ]
    ids = [row["id"] for row in rows]
    assert len(slices_read(by_id(table, *ids, "nobody"))) <= 4
    assert sorted(table.lookup(ids)["id"].to_pylist()) == sorted(ids)


def test_told_buckets_are_used_and_refused(tmp_path, monkeypatch):
    writer = write(tmp_path, {"p0": 16})
    path = str(tmp_path / "t")
    _, row = a_row(writer)
    told = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "16"}
    read = []

    def counted_keys(storage, file, key_fields, **how):
        read.append(file.path)
        return stored_keys(storage, file, key_fields, **how)

    monkeypatch.setattr(bucket_index, "keys_or_reason", counted_keys)
    assert len(slices_read(by_id(HudiTable(path), row["id"], **told))) == 1
    assert len(read) == 2
    assert len(slices_read(by_id(HudiTable(path), row["id"], index_type="SIMPLE"))) == 16
    for wrong in ("8", "32", "17"):
        scan = by_id(
            HudiTable(path), row["id"], **told | {"hoodie.bucket.index.num.buckets": wrong}
        )
        with pytest.raises(InvalidOptionError, match=f"num.buckets is {wrong}, but"):
            scan.plan()
    scan = by_id(HudiTable(path), row["id"], **told, hash_field="part")
    with pytest.raises(InvalidOptionError, match=r"hash\.field is 'part', but part is no field"):
        scan.plan()


def test_files_are_looked_at_once(tmp_path, monkeypatch):
    writer = write(tmp_path, {"p0": 16})
    table, (_, row) = HudiTable(str(tmp_path / "t")), a_row(writer)
    by_id(table, row["id"]).plan()
    monkeypatch.setattr(bucket_index, "keys_or_reason", None)
    assert len(slices_read(by_id(table, row["id"], "nobody"))) <= 2


@pytest.mark.parametrize("is_text", [False, True])
def test_key_that_is_not_the_text_of_its_field_is_not_looked_up_by_it(
    tmp_path, monkeypatch, is_text
):
    # Some writers make a number of days of a date. The column is text now.
    class Days(Keys):
        def record_key(self, values):
            return str(date.fromisoformat(values["id"]).toordinal() - 719_163)

    def hashed(_partition, values):
        bucket = list_hash([keys.record_key(values)]) % 16
        return f"{bucket:08}-7cf7-49b2-b2d2-957bee7a5629-0"

    def draw(rng):
        return {"id": str(date.fromordinal(rng.randint(1, 700_000)))}

    keys = Days({"id": "string"}, ["id"], draw)
    writer = Writer(tmp_path / "t", random.Random(3), keys, is_old=False, counts={"p0": 16})
    monkeypatch.setattr(writer, "file_id", hashed)
    add(writer, 1200, as_base=True)
    if not is_text:
        for path in (tmp_path / "t" / "p0").glob("*.parquet"):
            rows = pq.read_table(path, partitioning=None)
            place = rows.schema.get_field_index("id")
            dates = rows.column("id").cast(pa.date32())
            pq.write_table(rows.set_column(place, "id", dates), path, store_schema=False)
    table = HudiTable(str(tmp_path / "t"))
    group, row = a_row(writer)
    by_field = by_id(table, row["id"], on_damage="ignore")  # the sizes are not those of the commit
    assert by_field.to_arrow()["ts"].to_pylist() == [row["ts"]]
    by_key = table.scan(filter=[("_hoodie_record_key", "=", row["_hoodie_record_key"])])
    assert slices_read(by_key) == {group}


def test_damaged_evidence_keeps_all_slices(tmp_path):
    writer = write(tmp_path, {"p0": 16})
    _, row = a_row(writer)
    for path in (tmp_path / "t" / "p0").glob("*0000000*"):
        path.write_bytes(b"x" * path.stat().st_size)
    scan = by_id(HudiTable(str(tmp_path / "t")), row["id"])
    assert "has no keys that can be read" in pruned(scan)
    assert len(slices_read(scan)) == 16


def test_tables_of_other_indexes_are_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(bucket_index, "keys_or_reason", None)
    monkeypatch.setattr(bucket_index, "load_rings", None)
    writer = write(tmp_path, {"p0": 16})
    cluster(writer, random.Random(2))
    writer.replace(
        list(writer.rows),
        lambda _p, values: f"{hash(values['id']) % 7}f5e1b2a-7cf7-49b2-b2d2-957bee7a5629-0",
    )
    scan = by_id(HudiTable(str(tmp_path / "t")), a_row(writer)[1]["id"])
    assert "bucket index" not in pruned(scan)


def test_large_base_file_is_read_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(thresholds, "LOOKED_AT_BYTES", 100)
    writer = write(tmp_path, {"p0": 16})
    writer.compact(list(writer.rows))
    assert len(slices_read(by_id(HudiTable(str(tmp_path / "t")), a_row(writer)[1]["id"]))) == 1


def test_engines_read_only_the_bucket_of_a_key(tmp_path):
    path, row = damaged_elsewhere(tmp_path)
    scan = HudiTable(path).scan(["id", "ts"])
    text = f"SELECT ts FROM t WHERE id = '{row['id']}'"
    assert scan.to_duckdb("t").sql(text).fetchall() == [(row["ts"],)]
    frame = scan_polars(path, ["id", "ts"]).filter(polars.col("id") == row["id"])
    assert frame.collect()["ts"].to_list() == [row["ts"]]
    with pytest.raises(CorruptTableError):
        scan.to_arrow()


@pytest.mark.parametrize("has_meta", [True, False])
@pytest.mark.parametrize("as_base", [True, False])
def test_files_spell_key_fields_in_any_case(tmp_path, monkeypatch, has_meta, as_base):
    keys = Keys({"ID": "string"}, ["ID"], lambda rng: {"ID": f"key-{rng.randrange(10**6):06}"})
    writer = Writer(
        tmp_path / "t", random.Random(3), keys, is_old=False, counts={"p0": 16}, has_meta=has_meta
    )
    monkeypatch.setattr(
        writer.rng, "random", lambda: 1
    )  # no group begins with a base file by chance
    add(writer, 1200, as_base=as_base)
    timeline = tmp_path / "t" / ".hoodie"
    for path in (timeline / "hoodie.properties", *timeline.glob("*.deltacommit")):
        text = path.read_text().replace("fields=ID", "fields=id")
        path.write_text(text.replace(r"\"ID\"", r"\"id\""))
    group, row = a_row(writer)
    scan = by_id(HudiTable(str(tmp_path / "t")), row["ID"])
    assert slices_read(scan) == {group}
    assert scan.to_arrow()["ts"].to_pylist() == [row["ts"]]


@pytest.mark.parametrize(("has_meta", "lost"), [(True, "_hoodie_record_key"), (False, "id")])
def test_file_without_keys_is_no_evidence(tmp_path, has_meta, lost):
    writer = Writer(
        tmp_path / "t",
        random.Random(3),
        KINDS["counted"],
        is_old=False,
        counts={"p0": 16},
        has_meta=has_meta,
    )
    add(writer, 1200, as_base=True)
    for path in (tmp_path / "t" / "p0").glob("*.parquet"):
        rows = pq.read_table(path, partitioning=None)
        pq.write_table(rows.drop_columns([lost]), path, store_schema=False)
    _, row = a_row(writer)
    scan = by_id(HudiTable(str(tmp_path / "t")), row["id"], on_damage="ignore")
    assert f"has no column {lost}" in pruned(scan)
    assert len(slices_read(scan)) == 16
