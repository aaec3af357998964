"""Avro: schemas to Arrow types, and records to columns."""
