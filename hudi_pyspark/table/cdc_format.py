"""How a CDC query shows changes: what the planner and the reader of changes both follow."""

import enum


class CdcFormat(enum.Enum):
    """Option ``cdc_format``: how a CDC query shows the images of a row."""

    JSON = "json"
    STRUCT = "struct"
    CHANGELOG = "changelog"  # a row for each image, with the table's columns
