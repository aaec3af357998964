"""Which tests a worker of pytest-xdist gets together."""

from xdist.scheduler import LoadScopeScheduling


class OneServer(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Tests go to workers one by one, but those that share the Connect server go to one.

    Marks `xdist_group` would say the same: xdist 3.8 appends them to names of tests, which
    pytest 9.2 does not let it do.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return "connect" if file in _OF_CONNECT or "connect" in test else nodeid


# Files whose every test asks that server; tests of other files say "connect" in their names.
_OF_CONNECT = {
    "tests/spark/connect/test_session.py",
    "tests/spark/connect/test_session_on_a_server.py",
    "tests/verification/test_random_plans.py",
}
