"""JSON of schemas and timeline files to Python values."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401  (any JSON)
    """Parse JSON; ValueError also for halves of characters, which no other text can have."""
    value = json.loads(text)
    if b"\\u" in text if isinstance(text, bytes) else "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value
