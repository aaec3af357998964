"""Sessions of Spark 4 in which random plans are asked: classic ones, or those of Spark Connect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.spark.deployment import connect_server

_QUIET = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
_CLASSIC = {
    "spark.ui.enabled": "false",
    "spark.python.daemon.module": "hudi_pyspark.spark.daemon",
}
# Small queries, and one zone in which both sides see times.
_OF_A_SESSION = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}


class Sessions:
    """Makes separate sessions of one mode, which all belong to one JVM."""

    def __init__(
        self,
        mode: str,
        folder: Path,
        stack: ExitStack,
        *,
        port: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start what the sessions need.

        Args:
            mode: ``connect``; another one for classic sessions.
            folder: for tables and checkpoints of Spark.
            stack: ends the server, or the JVM.
            port: of a Connect server that runs already; "" to start one.
            settings: further ones of classic sessions.
        """
        self._stack = stack
        self._url = ""
        if mode == "connect":
            _hand_on(_settings(folder))
            self._url = f"sc://127.0.0.1:{port or stack.enter_context(connect_server())}"
            return
        given = {**_settings(folder), **_CLASSIC, **(settings or {})}
        self._first = SparkSession.builder.master("local[2]").config(map=given).getOrCreate()
        stack.callback(self._first.stop)

    def new(self) -> SparkSession:
        """Make a session."""
        session: SparkSession
        if self._url:
            session = SparkSession.builder.remote(self._url).create()
            self._stack.callback(session.stop)
        else:
            session = self._first.newSession()
        for name, value in _OF_A_SESSION.items():
            session.conf.set(name, value)
        return session


def read_as_written(session: SparkSession) -> None:
    """Let Spark's own reader look at all rows: Parquet's statistics do not have NaN."""
    session.conf.set("spark.sql.parquet.filterPushdown", "false")


def _settings(folder: Path) -> dict[str, Any]:
    places = {"spark.sql.warehouse.dir": "warehouse", "spark.checkpoint.dir": "checkpoints"}
    return {**_QUIET, **{name: str(folder / place) for name, place in places.items()}}


def _hand_on(settings: Mapping[str, str]) -> None:
    """Set what a Connect server that starts in a child process takes over."""
    given = " ".join(f"-D{name}={value}" for name, value in settings.items())
    os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {given}"
