"""Requests to a storage on another machine: repeated with growing pauses, failures by name."""

from __future__ import annotations

import errno
import logging
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from hudi_pyspark.errors import HudiError, StorageAccessError, StorageError
from hudi_pyspark.storage.masking import mask, masked_error

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

DEFAULT_ATTEMPTS: Final = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds, each the upper bound of a random one

# pyarrow has one class for all failures, so only the text says what the storage answered. An answer
# to a HEAD request has no body: S3 refuses an expired token with a bare 400 there.
_REFUSED = re.compile(
    r"(?<!\d)40[013](?!\d)|access.?denied|expired.?token|invalid.?access.?key|"
    r"signature.?does.?not.?match|unauthori[sz]ed|unauthenticated|forbidden|permission.?denied|"
    r"authentication.?failed|authorization.?failure",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"RESOURCE_NOT_FOUND|NO_SUCH_KEY|BlobNotFound|PathNotFound|HTTP status 404|"
    r"\b404 (Client Error: )?Not Found\b"
)
# Named by the storage although their status is 400: worth another attempt.
_TRANSIENT = re.compile(r"request.?timeout|RequestTimeTooSkewed|slow.?down", re.IGNORECASE)
_NOT_REPEATED = (IsADirectoryError, NotADirectoryError, NotImplementedError, ImportError, HudiError)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often a request is made, and what its errors must not show."""

    most: int = DEFAULT_ATTEMPTS
    secrets: Sequence[str] = ()  # texts that are cut out of messages

    def run(
        self, request: Callable[[], _T], place: str, renew: Callable[[], bool] | None = None
    ) -> _T:
        """Make a request, on the file or folder ``place``, until it succeeds.

        ``renew`` gets new credentials after a refusal, and returns whether there were any.
        """
        for attempt in range(1, self.most + 1):
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
                if _GONE.search(problem):
                    raise FileNotFoundError(errno.ENOENT, problem, place) from None
                is_refused = isinstance(error, PermissionError) or (
                    _REFUSED.search(problem) is not None and _TRANSIENT.search(problem) is None
                )
                if is_refused and not (attempt < self.most and renew is not None and renew()):
                    raise StorageAccessError(place, problem) from None
                if attempt == self.most:
                    raise StorageError(place, problem, attempt) from None
            pause = random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt))
            _log.debug("%s: attempt %d failed, next in %.1f s: %s", place, attempt, pause, problem)
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")
