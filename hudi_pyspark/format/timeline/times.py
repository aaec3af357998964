"""The times of instants."""

from typing import Final

FIRST_OFFSET: Final = "00000000000000"
"""Before every commit, bootstraps included. Apache Hudi has the same constant."""
LAST_OFFSET: Final = "99999999999999999"
"""After every commit: a range that begins here is empty."""
