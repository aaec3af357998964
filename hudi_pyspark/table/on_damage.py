"""What a read does about files that have lost records of completed commits."""

import enum

from hudi_pyspark.errors import CorruptLogBlockError, CorruptTableError
from hudi_pyspark.messages import logger

# Advice about damage after which reading on was tried, and works.
READ_ON = (
    "Restore the file from a copy, or read what is left with the option on_damage=warn "
    "(on_damage=ignore does so silently, as Apache Hudi does)"
)
_log = logger(__name__)


class OnDamage(enum.Enum):
    """Option ``on_damage``: how to treat a log file that has lost records of completed commits."""

    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"

    def report(self, problem: str, path: str, offset: int) -> None:
        """Do what the option says about damage.

        Args:
            problem: what is wrong.
            path: of the log file.
            offset: of the damage in it, in bytes.

        Raises:
            CorruptLogBlockError: the option is ``fail``. Else a warning is logged, or nothing is
                done.
        """
        self.handle(CorruptLogBlockError(problem, path, offset))

    def handle(self, error: CorruptTableError) -> None:
        """Raise an error, log it as a warning, or do nothing, as the option says.

        Raises:
            CorruptTableError: the option is ``fail``.
        """
        if self is OnDamage.FAIL:
            error.is_skippable = True
            raise error
        error.advice = ""  # reading goes on
        if self is OnDamage.WARN:
            _log.warning("%s", error.reason())
