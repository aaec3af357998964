"""Short-lived credentials: each process asks for its own, and again before they expire."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from hudi_pyspark.errors import HudiError, InvalidOptionError, StorageAccessError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.imported_function import import_function
from hudi_pyspark.storage.masking import mask
from hudi_pyspark.storage_options import CREDENTIALS_PROVIDER, Value

EXPIRES_AT: Final = "expires_at"
_EARLY = 0.2  # of the time that credentials are valid, by which they are replaced before that
_EARLIEST = 60.0  # seconds; not more than these


class CredentialsProvider(Protocol):
    """Supplies the credentials of locations.

    Implementations are picklable, hashable and without secrets where possible: they travel with
    the tasks, and every process asks its own copy.
    """

    def credentials(self, location: str) -> Mapping[str, object]:
        """Return storage options for a location, and until when they are valid; else HudiError."""


@dataclass(frozen=True, slots=True)
class NamedProvider(CredentialsProvider):
    """A function of the user, ``module:function``.

    It gets a location, for example ``s3://lake/orders``, and returns storage options. Among them
    may be ``expires_at``: seconds since the epoch, text in ISO 8601, or a datetime.
    """

    reference: str

    def credentials(self, location: str) -> Mapping[str, object]:
        supply = import_function(CREDENTIALS_PROVIDER, self.reference)
        try:
            options = supply(location)
        except HudiError:
            raise
        except Exception as error:  # noqa: BLE001  (it is the user's function)
            problem = f"{CREDENTIALS_PROVIDER} {self.reference} raised {type(error).__name__}"
            # Its frames help, and its text may have secrets; a chain of errors would show both.
            refusal = StorageAccessError(location, f"{problem}: {mask(str(error))}")
            raise refusal.with_traceback(error.__traceback__) from None
        if not hasattr(options, "items"):
            raise InvalidOptionError(
                f"{CREDENTIALS_PROVIDER} {self.reference} must return a dict of storage options; "
                f"it returned {type(options).__name__}"
            )
        return dict(options.items())


@dataclass(frozen=True, slots=True)
class Credentials:
    """Storage options that are valid for a while."""

    options: Mapping[str, Value] = field(repr=False)
    renew_at: float  # seconds since the epoch; infinity if it is unknown

    @classmethod
    def of(cls, answer: Mapping[str, object], now: float) -> Credentials:
        """Take apart what a provider returned."""
        options: dict[str, Any] = {k: v for k, v in answer.items() if k != EXPIRES_AT}
        expires = answer.get(EXPIRES_AT)
        if expires is None:
            return cls(options, float("inf"))
        end = _seconds(expires)
        if "access_token" in options:  # GCS, which takes a token only along with its end
            options.setdefault("credential_token_expiration", end)
        return cls(options, end - min(_EARLIEST, _EARLY * max(end - now, 0)))


def _seconds(value: object) -> float:
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        if isinstance(value, datetime):
            return value.timestamp()
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidOptionError(
            f"{EXPIRES_AT} of {CREDENTIALS_PROVIDER}: give seconds since the epoch, "
            "text in ISO 8601 or a datetime"
        ) from None


# Of this process, which may have many tasks, each with a copy of the table's storage.
_known: dict[tuple[CredentialsProvider, str], Credentials] = {}
_locks: dict[tuple[CredentialsProvider, str], ForkSafeLock] = {}


def current_credentials(
    provider: CredentialsProvider, location: str, *, refused: Credentials | None = None
) -> Credentials:
    """Return valid credentials, not the ``refused`` ones, for the URI of a folder.

    The provider is asked where none are known or where they expire, by one thread at a time for
    each URI. The answer is shared by all tables of the process.
    """
    key = provider, location
    with _locks.setdefault(key, ForkSafeLock()):
        known = _known.get(key)
        if known is None or known is refused or known.renew_at <= time.time():
            known = Credentials.of(provider.credentials(location), time.time())
            _known[key] = known
        return known
