"""Reports of log files that have lost records of completed commits."""

from __future__ import annotations

import enum
import logging

from hudi_pyspark.errors import CorruptLogBlockError

_log = logging.getLogger(__name__)


class OnDamage(enum.Enum):
    """Option ``on_damage``: how to treat a log file that has lost records of completed commits."""

    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"

    def report(self, problem: str, path: str, offset: int) -> None:
        """Raise, log a warning, or do nothing.

        Args:
            problem: what is wrong.
            path: of the log file, as shown to users.
            offset: bytes from the start of the file.

        Raises:
            CorruptLogBlockError: for FAIL.
        """
        if self is OnDamage.FAIL:
            raise CorruptLogBlockError(
                f"{problem}. Restore the file from a copy, or accept what is left of it with the "
                "option on_damage=warn (Apache Hudi skips it silently: on_damage=ignore)",
                path,
                offset,
            )
        if self is OnDamage.WARN:
            _log.warning("%s at byte %d: %s", path, offset, problem)
