"""Avro schemas of many or deep fields."""

META = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")


def fields(**types):
    meta = [{"name": f"_hoodie_{name}", "type": ["null", "string"]} for name in META]
    return meta + [{"name": name, "type": kind} for name, kind in types.items()]
