"""Avro bodies of instants."""

import io

import fastavro


def record(*types):
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": "r", "fields": fields}


def container(schema, records, codec="null") -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, schema, records, codec=codec)
    return out.getvalue()


def nested_commit() -> bytes:
    """A container with one record that has itself in itself, a million times."""
    whole = container(record(["null", "r"]), [{"f0": None}])
    head = whole[: -16 - 3]  # without the record, its size and the record count
    mark = whole[-16:]
    deep = b"\2" * 1_000_000 + b"\0"
    return head + b"\2" + b"\x82\x89\x7a" + deep + mark
