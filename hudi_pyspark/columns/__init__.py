"""Columns: their types, names, values and texts, as queries need them."""
