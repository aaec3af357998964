"""Each test has a session of its own, and leaves what all sessions share as it was."""

import pytest

from hudi_pyspark.spark.optimizer import ENABLED
from tests.process_state import changes
from tests.spark.shared_state import state_that_sessions_share

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("number", range(2))
def test_session_has_nothing_of_another_test(spark, number):
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get(ENABLED) == "false"
    assert spark.catalog.listTables() == []
    assert spark.catalog.listTables("global_temp") == []
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    spark.conf.set(ENABLED, "true")
    spark.range(number).createOrReplaceTempView("numbers")
    spark.range(number).createGlobalTempView("numbers")
    spark.range(7).cache().count()


def test_session_is_the_active_one_although_the_test_before_made_another(spark):
    active = spark._jvm.SparkSession.getActiveSession().get()
    assert active.sessionUUID() == spark._jsparkSession.sessionUUID()
    other = spark.newSession()
    other.createDataFrame([(1,)], "id int")
    active = spark._jvm.SparkSession.getActiveSession().get()
    assert active.sessionUUID() == other._jsparkSession.sessionUUID()


@pytest.mark.parametrize(
    ("made", "undone", "noticed"),
    [
        ("CREATE DATABASE left_behind", "DROP DATABASE left_behind", "the databases"),
        ("CREATE TABLE left_behind (id INT)", "DROP TABLE left_behind", "the tables"),
    ],
)
def test_what_is_left_for_all_sessions_is_noticed(spark, made, undone, noticed):
    before = state_that_sessions_share(spark)
    spark.sql(made)
    (text,) = changes(before, state_that_sessions_share(spark))
    spark.sql(undone)
    assert text.startswith(noticed)
    assert changes(before, state_that_sessions_share(spark)) == []
