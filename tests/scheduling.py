"""Which tests a worker of pytest-xdist gets together."""

from xdist.scheduler import LoadScopeScheduling

from tests.conftest import OF_CONNECT


class OneServer(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests go to workers one by one, but those that share the Connect server go to one.

    A scheduler sees ids of tests alone: the folder, the name or a parameter says "connect". The
    tests are not collected if one that has the fixture of the server does not say so.

    Marks `xdist_group` would say the same: xdist 3.8 appends them to names of tests, which
    pytest 9.2 does not let it do.
    """

    def _split_scope(self, nodeid: str) -> str:
        return OF_CONNECT if OF_CONNECT in nodeid else nodeid
