"""What all classic sessions of a process share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def make_active(session: SparkSession) -> None:
    """Make a session the active one of the JVM's thread."""
    jvm: Any = session._jvm
    jvm.SparkSession.setActiveSession(session._jsparkSession)


def drop_global_views_and_caches(session: SparkSession) -> None:
    """Drop what sessions leave to each other, since no session of a test has an end of its own."""
    shared = session._jsparkSession.sharedState()
    shared.globalTempViewManager().clear()
    shared.cacheManager().clearCache()


def state_that_sessions_share(session: SparkSession) -> dict[str, object]:
    """Return, by name, what a test itself has to give back."""
    jvm: Any = session._jvm
    shared = session._jsparkSession.sharedState()
    catalog = shared.externalCatalog()
    return {
        "the databases": catalog.listDatabases().mkString(", "),
        "the tables": catalog.listTables("default").mkString(", "),
        "the number of running streams": shared.activeStreamingQueries().size(),
        "the zone of the JVM": jvm.java.util.TimeZone.getDefault().getID(),
    }
