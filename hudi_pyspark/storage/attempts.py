"""Requests to a storage on another machine: repeated with growing pauses, failures by name."""

import errno
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeVar

from hudi_pyspark.errors import HudiError, StorageAccessError, StorageError
from hudi_pyspark.messages import logger
from hudi_pyspark.storage.masking import mask, masked_error

_T = TypeVar("_T")
_log = logger(__name__)

_MOST: Final = 5  # attempts, where no setting says how many
_THROTTLED_FOR: Final = 65.0  # seconds, likewise, that a store may ask for fewer requests
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds; a pause is random, half of its bound at least

# pyarrow has one class for all failures, so only the text says what the storage answered. An answer
# to a HEAD request has no body: S3 refuses an expired token with a bare 400 there.
_ANSWERS = (
    re.compile(
        r"AWS Error (\w+(?: \(HTTP status \d+\))?|\[code \d+\]) during \w+ operation: "
        r"(?:Unable to parse ExceptionName: (\w+))?"
    ),
    re.compile(
        r"google::cloud::Status\((\w+):(?:.*(?:http_status_code=|HTTP status code: )(\d+))?",
        re.DOTALL,
    ),
    re.compile(r"Azure Error: \[(\w*)\] (\d{3} [\w ]+)?"),
)
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
# Named by the storage although their status is 400: worth another attempt.
_TRANSIENT = re.compile(r"request.?timeout|RequestTimeTooSkewed", re.IGNORECASE)
_NOT_REPEATED = (IsADirectoryError, NotADirectoryError, NotImplementedError, ImportError, HudiError)


class _Kind(Enum):
    """What a failure says about another attempt."""

    GONE = auto()
    REFUSED = auto()
    THROTTLED = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often a request is made, and what its errors must not show."""

    given: int = 0  # by a setting; 0: five, and as many as a minute has where a store throttles
    secrets: Sequence[str] = ()  # texts that are cut out of messages
    advice: str = ""  # for a read that a store throttles

    def run(
        self, request: Callable[[], _T], place: str, renew: Callable[[], bool] | None = None
    ) -> _T:
        """Make a request, on the file or folder ``place``, until it succeeds.

        ``renew`` gets new credentials after a refusal, and returns whether there were any.
        """
        started, attempt, counted = time.monotonic(), 0, 0
        while True:
            attempt += 1
            try:
                return request()
            except _NOT_REPEATED as error:
                raise masked_error(error, self.secrets, place) from None
            except FileNotFoundError as error:
                known = masked_error(error, self.secrets, place)
                if place in str(known):
                    raise known from None
                raise FileNotFoundError(errno.ENOENT, str(known), place) from None
            # The implementations of fsspec raise errors of their SDKs, without a common base.
            except Exception as error:  # noqa: BLE001
                problem = mask(str(error), self.secrets, place) or type(error).__name__
                kind = _kind_of(error, place)
                if kind is _Kind.GONE:
                    raise FileNotFoundError(errno.ENOENT, problem, place) from None
                if kind is _Kind.THROTTLED and not self.given:
                    is_last = time.monotonic() - started >= _THROTTLED_FOR
                else:
                    counted += 1
                    is_last = counted >= (self.given or _MOST)
                if kind is _Kind.REFUSED and (is_last or renew is None or not renew()):
                    raise StorageAccessError(place, problem) from None
                if is_last:
                    advice = self.advice if kind is _Kind.THROTTLED else ""
                    raise StorageError(place, problem.strip() + advice, attempt) from None
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt, 20))
            pause = random.uniform(longest / 2, longest)
            _log.debug("%s: attempt %d failed, next in %.1f s: %s", place, attempt, pause, problem)
            time.sleep(pause)


def _kind_of(error: Exception, place: str) -> _Kind:
    answer = _answer_of(error, place)
    if _GONE.search(answer):
        return _Kind.GONE
    if _THROTTLED.search(answer):
        return _Kind.THROTTLED
    is_said = _REFUSED.search(answer) and not _TRANSIENT.search(answer)
    is_refused = is_said or isinstance(error, PermissionError)
    return _Kind.REFUSED if is_refused else _Kind.OTHER


def _answer_of(error: Exception, place: str) -> str:
    """Return code and status of an answer, or what else a client said, but no path of it.

    A path, which may contain 403 or ``forbidden``, says nothing about the answer.
    """
    text = str(error)
    for answer in _ANSWERS:
        *_, last = [None, *answer.finditer(text)]
        if last is not None:
            return " ".join(filter(None, last.groups()))
    if isinstance(error, ConnectionError | TimeoutError):
        return ""  # none came
    text = _URL.sub(" ", text)
    parts = place.rstrip("/").split("/")
    for begin in range(len(parts)):  # with a scheme, host and bucket, or without
        text = text.replace("/".join(parts[begin:]), " ")
    return _PATH.sub(" ", text)
