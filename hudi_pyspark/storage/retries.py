"""Retries of requests that fail, and of reads that find damage, on another machine.

A request is repeated with growing pauses; what the storage answered decides whether another attempt
is worth making. A read that finds damage is repeated once.
"""

import errno
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeVar

from hudi_pyspark import errors, thresholds
from hudi_pyspark.messages import logger
from hudi_pyspark.storage.masking import mask, masked_error
from hudi_pyspark.storage.protocol import Storage
from hudi_pyspark.storage.stores import STORES

_T = TypeVar("_T")
_log = logger(__name__)

_DEFAULT_ATTEMPTS: Final = 5
_THROTTLED_SECONDS: Final = 65.0  # for which a store may throttle, unless a setting says otherwise
_LONGEST_PAUSE = 5.0  # seconds; a pause is random, at least half of its bound

# Of all stores, since a file system that is passed as an object does not say which one it is of.
_ANSWERS = tuple(store.answer for store in STORES if store.answer is not None)
_URL = re.compile(r"\w+://\S+")
_PATH = re.compile(r"\S*[/\\]\S*")
_REFUSED = re.compile(
    r"(?<!\d)40[013](?!\d)|access.?denied|expired.?token|invalid.?access.?key|"
    r"signature.?does.?not.?match|unauthori[sz]ed|unauthenticated|forbidden|permission.?denied|"
    r"authentication.?failed|authorization.?failure",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"RESOURCE_NOT_FOUND|NO_?SUCH_?KEY|BlobNotFound|PathNotFound|HTTP status 404|"
    r"\b404 (Client Error: )?Not Found\b",
    re.IGNORECASE,
)
_THROTTLED = re.compile(
    r"slow.?down|throttl|too.?many.?requests|limit.?exceeded|server.?busy|service.?unavailable|"
    r"(?<!\d)(429|503)(?!\d)",
    re.IGNORECASE,
)
# Answers with the status 400 that are worth another attempt.
_TRANSIENT = re.compile(r"request.?timeout|RequestTimeTooSkewed", re.IGNORECASE)
_NOT_REPEATED = (IsADirectoryError, NotADirectoryError, NotImplementedError, ImportError)


class _Kind(Enum):
    """What a failure says about another attempt."""

    GONE = auto()
    REFUSED = auto()
    THROTTLED = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request to a storage is made, and what its errors may show."""

    max_attempts: int = 0  # 0: five, but while a store throttles as many as fit into 65 seconds
    secrets: Sequence[str] = ()  # texts that are cut out of messages
    advice: str = ""  # ends the message if the store throttled until the last attempt

    def run(
        self, request: Callable[[], _T], place: str, renew: Callable[[], bool] | None = None
    ) -> _T:
        """Make a request until it succeeds or another attempt would be useless.

        Args:
            request: called once per attempt.
            place: the file or folder that is requested, for messages.
            renew: called after a refusal, to get new credentials; returns whether there are any.

        Raises:
            FileNotFoundError: the storage has nothing at ``place``.
            StorageAccessError: the storage refuses the request.
            StorageError: the last attempt failed.

        Errors that name a mistake (a wrong kind of path, a missing package, a `HudiError`) are
        raised at once. No message contains a secret.
        """
        started = time.monotonic()
        attempt = 0
        counted_attempts = 0
        while True:
            attempt += 1
            try:
                return request()
            except (errors.HudiError, *_NOT_REPEATED) as error:
                raise masked_error(error, self.secrets, place) from None
            except FileNotFoundError as error:
                missing = masked_error(error, self.secrets, place)
                if place in str(missing):
                    raise missing from None
                raise FileNotFoundError(errno.ENOENT, str(missing), place) from None
            # The implementations of fsspec raise errors of their SDKs, without a common base.
            except Exception as error:  # noqa: BLE001
                problem = mask(str(error), self.secrets, place) or type(error).__name__
                kind = _kind_of(error, place)
                if kind is _Kind.GONE:
                    raise FileNotFoundError(errno.ENOENT, problem, place) from None
                if kind is _Kind.THROTTLED and not self.max_attempts:
                    is_last = time.monotonic() - started >= _THROTTLED_SECONDS
                else:
                    counted_attempts += 1
                    is_last = counted_attempts >= (self.max_attempts or _DEFAULT_ATTEMPTS)
                if kind is _Kind.REFUSED and (is_last or renew is None or not renew()):
                    raise errors.StorageAccessError(place, problem) from None
                if is_last:
                    advice = self.advice if kind is _Kind.THROTTLED else ""
                    raise errors.StorageError(place, problem.strip() + advice, attempt) from None
            longest = min(_LONGEST_PAUSE, thresholds.FIRST_PAUSE * 2 ** min(attempt, 20))
            pause = random.uniform(longest / 2, longest)
            _log.debug("%s: attempt %d failed, next in %.1f s: %s", place, attempt, pause, problem)
            time.sleep(pause)


def _kind_of(error: Exception, place: str) -> _Kind:
    answer = _answer_of(error, place)
    if _GONE.search(answer):
        return _Kind.GONE
    if _THROTTLED.search(answer):
        return _Kind.THROTTLED
    is_refusal = _REFUSED.search(answer) and not _TRANSIENT.search(answer)
    return _Kind.REFUSED if is_refusal or isinstance(error, PermissionError) else _Kind.OTHER


def _answer_of(error: Exception, place: str) -> str:
    """Return code and status of an answer, or else the client's text without paths.

    Paths are cut out because they say nothing about the answer, but may contain 403 or
    ``forbidden``.
    """
    text = str(error)
    for answer in _ANSWERS:
        *_, last = [None, *answer.finditer(text)]
        if last is not None:
            return " ".join(filter(None, last.groups()))
    if isinstance(error, ConnectionError | TimeoutError):
        return ""  # no answer came
    text = _URL.sub(" ", text)
    parts = place.rstrip("/").split("/")
    for begin in range(len(parts)):  # with or without scheme, host and bucket
        text = text.replace("/".join(parts[begin:]), " ")
    return _PATH.sub(" ", text)


def is_worth_retrying(error: errors.CorruptTableError, storage: Storage) -> bool:
    """Return whether reading again may succeed, and log that it is tried.

    The bytes may have been damaged on their way from another machine: gateways answer with pages
    of their own, and compress or shorten what they pass on. A missing file stays missing.
    """
    is_about_content = not isinstance(error, errors.MissingFileError | errors.PathOutsideTableError)
    if storage.is_local or not is_about_content:
        return False
    _log.warning("read once more, as bytes may be damaged on their way: %s", error.reason())
    return True


def retry_on_corruption(storage: Storage, read: Callable[[], _T]) -> _T:
    """Read from a storage, and once more if that finds damage; the error names the table.

    Raises:
        CorruptTableError: the second read finds damage as well, or `is_worth_retrying` says no.
        UnsupportedTableError: of ``read``.
    """
    try:
        try:
            return read()
        except errors.CorruptTableError as error:
            if not is_worth_retrying(error, storage):
                raise
        return read()
    except (errors.CorruptTableError, errors.UnsupportedTableError) as error:
        error.name_table(storage.describe(""))
        raise
