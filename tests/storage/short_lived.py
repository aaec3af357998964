"""Tokens that expire soon, and a provider of them that any process may import."""

from __future__ import annotations

import os
import time
from pathlib import Path

SECRET = "secret-of-the-provider"
PROVIDER = f"{__name__}:issue"
LIFETIME = "TEST_TOKEN_LIFETIME"
CALLS = "TEST_TOKEN_CALLS"  # variables of the environment


def issue(location: str) -> dict[str, object]:
    """Return credentials for a location, with a token that says when it expires."""
    with Path(os.environ[CALLS]).open("a", encoding="utf-8") as calls:
        calls.write(f"{os.getpid()} {location}\n")
    expires = time.time() + float(os.environ[LIFETIME])
    return {
        "access_key": "AKID",
        "secret_key": SECRET,
        "session_token": f"token-{expires}",
        "expires_at": expires,
    }


def issue_without_end(location: str) -> dict[str, object]:
    """Do the same without saying when the token expires."""
    return {name: value for name, value in issue(location).items() if name != "expires_at"}


def issue_nothing(location: str) -> dict[str, object]:
    """Fail as a service for credentials does."""
    raise ConnectionError(f"no credentials for {location} today")


def is_valid(token: str) -> bool:
    """Return whether a store accepts a token now."""
    return token.startswith("token-") and time.time() < float(token.removeprefix("token-"))
