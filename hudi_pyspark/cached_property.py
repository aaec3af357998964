"""Cached properties without a lock, and objects that are pickled without their cache.

Before Python 3.12, all instances of a class share the lock of ``functools.cached_property``. A
thread that waits for the storage of one table then blocks threads that read other tables, and a
process that is forked in the meantime waits forever. Here, as from Python 3.12 on, threads that
need the same value of the same object at the same time may each compute it.
"""

import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414  (for importers)
else:

    class cached_property(functools.cached_property):  # noqa: N801  (named as what it replaces)
        """A property that is computed once per instance, and cached in its ``__dict__``."""

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            cache = instance.__dict__
            if self.attrname not in cache:
                cache[self.attrname] = self.func(instance)
            return cache[self.attrname]


class PickledWithoutCache:
    """Base of classes that are pickled without cached properties; a copy computes them again."""

    def __getstate__(self) -> dict[str, object]:
        properties = functools.cached_property
        return {
            name: value
            for name, value in self.__dict__.copy().items()  # threads may add to it
            if not isinstance(getattr(type(self), name, None), properties)
        }
