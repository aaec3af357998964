"""Every setting that spark-conf/ recommends is one that Spark knows."""

import re
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "spark-conf" / "spark-defaults.conf"
# A setting may be commented out; a sentence never has a dot inside its first word.
SETTING = re.compile(r"^(?:# )?(spark(?:\.\w+)+)\s+\S+")


def settings() -> list[str]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [found[1] for line in lines if (found := SETTING.match(line))]


def test_file_has_settings():
    assert len(settings()) >= 3


@pytest.mark.spark
@pytest.mark.parametrize("key", settings())
def test_setting_is_known_to_spark(spark, key):
    entry = spark._jvm.org.apache.spark.internal.config.ConfigEntry.findEntry(key)
    assert entry is not None
