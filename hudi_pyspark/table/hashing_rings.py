"""The rings of a consistent hashing bucket index, which each partition has in a file.

A ring has a node for each file group. A node has the hashes above the value of the node before it
up to its own value; the first node also has those above the last value. A resize writes a new ring
and gives each new node a new file id. No file group ever gets hashes that its node did not have
from the begin: a split puts two new nodes in the place of one, a merge puts one in the place of
neighbours, and values of other nodes stay. So any ring that names a file group says which hashes
its records can have, whether the resize that wrote the ring has completed, failed or is pending.

Source: Hudi's HoodieConsistentHashingMetadata and ConsistentBucketIdentifier.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from hudi_pyspark.errors import CorruptTableError
from hudi_pyspark.format.avro.schema import parse_json
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.table.config import METADATA_FOLDER

_FOLDER = f"{METADATA_FOLDER}/.bucket_index/consistent_hashing_metadata"
_SUFFIX = ".hashing_meta"


class Arc(NamedTuple):
    """A range of hashes: above ``after`` up to ``last``; if it wraps, the two are exchanged."""

    after: int
    last: int

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The range as one or two ranges that do not wrap, each above its first number."""
        if self.after < self.last:
            return ((self.after, self.last),)
        return ((-1, self.last), (self.after, 2**31 - 1))


Rings: TypeAlias = Mapping[str, tuple[Arc, ...]]
"""By file id: the arcs that the rings of a partition give to the file group."""


def load_rings(storage: Storage, partition_path: str) -> Rings:
    """Load all rings of a partition; {} if there is none.

    Raises:
        CorruptTableError: a ring cannot be parsed.
    """
    folder = f"{_FOLDER}/{partition_path}".rstrip("/")
    arcs: dict[str, tuple[Arc, ...]] = {}
    for name in sorted(storage.list_file_names(folder)):
        if not name.endswith(_SUFFIX):  # a marker of a commit, or half a file of a failed writer
            continue
        for file_id, arc in _parse_ring(storage.read_bytes(f"{folder}/{name}"), name):
            arcs[file_id] = (*arcs.get(file_id, ()), arc)
    return arcs


def _parse_ring(content: bytes, name: str) -> Sequence[tuple[str, Arc]]:
    try:
        nodes = parse_json(content)["nodes"]
        places = sorted((int(node["value"]), str(node["fileIdPrefix"])) for node in nodes)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptTableError(f"{name} is not a ring of a bucket index: {error}") from error
    return [
        # A bucket has one file group, whose number is 0. Of a single node, the arc is the ring.
        (f"{prefix}-0", Arc(places[number - 1][0], value))
        for number, (value, prefix) in enumerate(places)
    ]
