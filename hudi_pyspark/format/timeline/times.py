"""The times of instants: texts of digits, mostly 17 (yyyyMMddHHmmssSSS), which sort by time.

Names of files, log blocks and records have requested times, and callers give them as text.
"""

from typing import Final, NewType, TypeAlias

RequestedTime = NewType("RequestedTime", str)
"""When an instant was requested, which identifies it."""
CompletionTime = NewType("CompletionTime", str)
"""When an instant completed, as far as timelines have it: from table version 8 on."""
ComparedTime: TypeAlias = RequestedTime | CompletionTime
"""What a range of commits compares: the one for all commits, or the other."""

FIRST_OFFSET: Final = "00000000000000"
"""Before every commit, bootstraps included. Apache Hudi has the same constant."""
LAST_OFFSET: Final = "99999999999999999"
"""After every commit: a range that begins here is empty."""
