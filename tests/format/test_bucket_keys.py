"""Hashes of record keys, against those of Apache Hudi and against a slow twin."""

import random

import pytest

from hudi_pyspark.format.bucket_keys import (
    Rule,
    bucket_hashes,
    bucket_of,
    ring_hashes,
    values_in_key,
)
from hudi_pyspark.format.hashes import xxhash32
from verification.bucket_tables import hashing

# Record key and hash fields, then what Apache Hudi 0.15.0 and 1.2.0 return of
# ``BucketIdentifier.getBucketId(key, fields, 2147483647)`` (None: 1.2.0 never returns), and of
# ``HashID.getXXHash32(key, 0)``.
BY_HUDI = [
    ("k1", "id", 3397, 3397, 113350462),
    ("12345", "id", 46792786, 46792786, -1290971468),
    ("id:7", "id", 86, 3226039, -327088024),
    ("12:30:00", "id", 1, 485465539, 187738969),
    ("a,b", "id", 94710, 94710, 402491539),
    ("a,,", "id", 94656, 94656, -650077720),
    (",", "id", 75, 75, -168278317),
    (":", "id", 1, 89, -916072428),
    ("x:", "id", 1, 3809, -1882131223),
    ("😀éß中", "id", 1277077427, 1277077427, 1822113763),
    ("a:b,c", "id", 130, 91405087, 1102445118),
    ("2024-01-01 10:00:00,5", "id", 84, None, -1371080600),
    ("a:1,b:2", "a;b", 2530, 2530, 2145133634),
    ("a:1,b:2", "a", 80, 80, 2145133634),
    ("a:1,b:2", "b", 81, 81, 2145133634),
    ("a:__null__,b:__empty__", "a;b", 961, 961, -2129683397),
    ("a:1,2,b:3", "a;b", 78481, 1504605, -1477022151),
    ("a:1,2,b:3", "a", 2530, 48534, -1477022151),
    ("a:1,2,b:3", "b", 2562, 82, -1477022151),
    ("a:x:y,b:12:30:00", "a;b", 489100878, 489100878, 1780577734),
    ("a:x:y,b:12:30:00", "a", 117270, None, 1780577734),
    ("a:x:y,b:12:30:00", "b", 485465539, 485465539, 1780577734),
    ("a:1,b:2024-10-22 13:50:42,c:v,w", "a;b;c", 899604341, 1068239245, -887884727),
    ("a:1,b:2024-10-22 13:50:42,c:v,w", "b", 1068048564, 1489200163, -887884727),
    ("a:1,b:2024-10-22 13:50:42,c:v,w", "a;c", 80657, 117361, -887884727),
    ("a:1,b:2024-10-22 13:50:42,c:v,w", "c", 4738, 114912, -887884727),
    ("a:,b:", "a;b", 961, 961, 130563569),
    ("a:1,b:2,a:3", "b", 81, 81, 1536481819),
    ("a:1,b:2", "z", 1, 1895661285, 2145133634),
    ("a:1,b:2,", "a;b", 2530, 4074, 1173661183),
    (
        "a very long key that has more than sixteen bytes 0123456789",
        "id",
        197264278,
        197264278,
        -1365311155,
    ),
    ("id:a,b", "id", 4066, 94710, -1253149667),
    ("id:a,b:c", "id", 128, 128, 1413192051),
]
MOST = 2**31 - 1


@pytest.mark.parametrize(("key", "fields", "old", "new", "ring"), BY_HUDI, ids=str)
def test_hashes_are_those_of_apache_hudi(key, fields, old, new, ring):
    def hash_by(rule):
        values = values_in_key(key, fields.split(";"), rule)
        return None if values is None else int(bucket_hashes([values])[0]) % MOST

    assert hash_by(Rule.FIRST_COLON) == old
    assert new in (None, hash_by(Rule.LAST_COMMA))
    assert int(ring_hashes([(key,)])[0]) == ring & MOST


@pytest.mark.parametrize(
    ("key", "fields", "values"),
    [
        ("a:1,b:2", ["b", "a"], ("2", "1")),
        ("a:1:2,b:3", ["a"], ("1",)),
        ("a:__null__,b:2", ["a", "b"], ("__null__", "2")),
        ("plain,text", ["id"], ("plain,text",)),
        ("12:30", ["id"], (None,)),
        ("a:1,b", ["a"], None),
        ("a:1,a:2", ["a"], None),
    ],
    ids=str,
)
def test_first_releases_make_pairs(key, fields, values):
    assert values_in_key(key, fields, Rule.PAIRS) == values


def test_each_part_is_hashed_without_a_colon_as_well():
    assert values_in_key("x,y", ["id"], Rule.EACH_PART) == ("x", "y")
    assert values_in_key("x,y", ["id"], Rule.FIRST_COLON) == ("x,y",)


def test_hashes_agree_with_the_slow_twin():
    rng = random.Random(5)
    texts = ["".join(rng.choices("aé中😀\uffff,:", k=rng.randint(0, 40))) for _ in range(500)]
    rows = [tuple(rng.choices([*texts, None], k=rng.randint(0, 4))) for _ in range(500)]
    assert bucket_hashes(rows).tolist() == [hashing.list_hash(row) for row in rows]
    assert ring_hashes(rows).tolist() == [hashing.ring_hash(row) for row in rows]
    octets = [text.encode() for text in texts]
    assert xxhash32(octets).tolist() == [hashing.xxhash32(text) for text in octets]


@pytest.mark.parametrize(
    ("file_id", "bucket"),
    [
        ("00000007-7cf7-49b2-b2d2-957bee7a5629-0", 7),
        ("00000000-0000-0000-0000-000000000000-0", 0),
        ("12345678-7cf7-49b2-b2d2-957bee7a5629-0", None),  # a UUID without letters
        ("0000000a-7cf7-49b2-b2d2-957bee7a5629-0", None),
        ("000000071-7cf7-49b2-b2d2-957bee7a5629-0", None),
        ("7", None),
    ],
)
def test_bucket_is_eight_digits_of_a_file_id(file_id, bucket):
    assert bucket_of(file_id) == bucket
