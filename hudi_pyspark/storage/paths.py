"""Texts of paths and URIs, whatever the storage."""

import re
from urllib.parse import unquote

_SEPARATOR = re.compile(r"[/\\]")
_SECRETS = re.compile(r"(?<=://)[^/@]*:[^/@]*@|\?.*", re.DOTALL)


def rises(path: str) -> bool:
    """Return whether a path contains ``..`` on any file system.

    Some file systems take a backslash for a separator, and some decode percent signs.
    """
    texts = path, unquote(path)
    return any(".." in text and ".." in _SEPARATOR.split(text) for text in texts)


def trim(path: str) -> str:
    """Remove the slashes at the end of a path; ``/`` stays."""
    return path.rstrip("/") or "/"


def without_secrets(uri: str) -> str:
    """Remove user, password and query from a URI, where people put credentials."""
    return _SECRETS.sub("", uri) if "://" in uri else uri
