"""Sessions of tests that need Spark."""

import pytest

from hudi_pyspark.spark.optimizer import ENABLED, install_optimizer


@pytest.fixture
def ruled(spark):
    """A separate session with the optimizer's rule; the shared one stays without."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set(ENABLED, "true")
    assert install_optimizer(session) == ""
    return session
