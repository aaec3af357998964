"""Cached properties without a lock, and objects that are pickled without them.

Before Python 3.12, instances of a class share the lock of ``functools.cached_property``: a thread
that waits for the storage of one table holds up the threads that read others, and a process that
is forked meanwhile waits for ever. Here, threads that need the same value of the same object at the
same time may each compute it, as they do from Python 3.12 on.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414  (for importers)
else:

    class cached_property(functools.cached_property):  # noqa: N801  (named as what it replaces)
        """A property that is computed once for each instance, and kept in its ``__dict__``."""

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept[self.attrname] = self.func(instance)
            return kept[self.attrname]


class PickledWithoutCache:
    """Base of classes whose cached properties do not travel; a copy computes them when asked."""

    def __getstate__(self) -> dict[str, object]:
        properties = functools.cached_property
        return {
            name: value
            for name, value in self.__dict__.copy().items()  # threads may add to it
            if not isinstance(getattr(type(self), name, None), properties)
        }
