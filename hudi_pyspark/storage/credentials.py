"""Short-lived credentials: each process asks for its own, and again before they expire."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from hudi_pyspark import thresholds
from hudi_pyspark.errors import HudiError, InvalidOptionError, StorageAccessError
from hudi_pyspark.fork_safe_lock import ForkSafeLock
from hudi_pyspark.imported_function import import_function
from hudi_pyspark.storage.masking import mask
from hudi_pyspark.storage.stores.setting import CREDENTIALS_PROVIDER, Options

EXPIRES_AT: Final = "expires_at"
# Credentials are renewed when a fifth of their lifetime is left, at most a minute before the end.
_RENEWAL_SHARE = 0.2
_LONGEST_LEAD = 60.0  # seconds


class CredentialsProvider(Protocol):
    """Supplies the credentials of locations.

    Implementations are picklable, hashable and without secrets where possible: they travel with
    the tasks, and every process asks its own copy.
    """

    def credentials(self, location: str) -> Mapping[str, object]:
        """Return storage options for the URI of a folder, and when they expire.

        The time is the item ``expires_at`` (see `NamedProvider`); without it they never expire.

        Raises:
            HudiError: there are no credentials for the location.
        """


@dataclass(frozen=True, slots=True)
class NamedProvider(CredentialsProvider):
    """A user's function, ``module:function``.

    It gets a location, for example ``s3://lake/orders``, and returns a dict of storage options. The
    dict may contain ``expires_at``: seconds since the epoch, text in ISO 8601, or a datetime.
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
            # Its frames help, but its text may have secrets; a chain of errors would show both.
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

    options: Options = field(repr=False)
    renew_at: float  # seconds since the epoch; infinity if they do not expire

    @classmethod
    def of(cls, answer: Mapping[str, object], now: float) -> "Credentials":
        """Separate the storage options that a provider returned from the time when they expire.

        Args:
            answer: of `CredentialsProvider.credentials`.
            now: seconds since the epoch.

        Raises:
            InvalidOptionError: ``expires_at`` is not a time.
        """
        options: dict[str, Any] = {k: v for k, v in answer.items() if k != EXPIRES_AT}
        expires_at = answer.get(EXPIRES_AT)
        if expires_at is None:
            return cls(options, float("inf"))
        end = _seconds(expires_at)
        if "access_token" in options:  # GCS takes a token only along with its end
            options.setdefault("credential_token_expiration", end)
        return cls(options, end - min(_LONGEST_LEAD, _RENEWAL_SHARE * max(end - now, 0)))


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


class _Cached:
    """The credentials of a location, and the lock of the thread that asks for them."""

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.credentials: Credentials | None = None


# Of this process, which may have many tasks, each with a copy of the table's storage; oldest first.
_cached_credentials: dict[tuple[CredentialsProvider, str], _Cached] = {}


def current_credentials(
    provider: CredentialsProvider, location: str, *, refused: Credentials | None = None
) -> Credentials:
    """Return valid credentials for a location; all tables of the process share them.

    The provider is asked if none are cached or they are about to expire, by one thread at a time
    for each location.

    Args:
        provider: of the credentials.
        location: the URI of a folder.
        refused: credentials that the storage refused, which are not returned again.

    Raises:
        HudiError: of the provider, or InvalidOptionError if its answer has a wrong ``expires_at``.
    """
    cached = _cached_credentials.setdefault((provider, location), _Cached())
    with cached.lock:
        credentials = cached.credentials
        if credentials is None or credentials is refused or credentials.renew_at <= time.time():
            cached.credentials = None  # not even if the provider fails
            _forget_old_credentials()
            credentials = Credentials.of(provider.credentials(location), time.time())
            cached.credentials = credentials
        return credentials


def _forget_old_credentials() -> None:
    """Forget credentials that are due for renewal, and the oldest if there are too many.

    A thread that asks a provider for forgotten credentials still gets them.
    """
    now = time.time()
    entries = list(_cached_credentials.items())
    surplus = len(entries) - thresholds.MOST_CREDENTIALS
    for number, (key, cached) in enumerate(entries):
        credentials = cached.credentials
        is_due = credentials is not None and credentials.renew_at <= now
        if is_due or number < surplus:
            _cached_credentials.pop(key, None)
