"""Two small tables that come with the package, so that examples run anywhere.

Apache Hudi 1.2.0 wrote them: `orders`, six commits of orders in four regions, and `orders_cdc`,
seven commits of a table that logs its changes.
"""

import io
import lzma
import os
import tempfile
import zipfile
from importlib import resources
from pathlib import Path

DEMO_TABLES = ("orders", "orders_cdc")
_ARCHIVE = "demo_tables.zip.xz"  # not compressed inside, so that xz sees all files at once


def unpack_demo(folder: str | os.PathLike[str]) -> None:
    """Unpack the tables `orders` and `orders_cdc` of the examples into a folder.

    Both are MERGE_ON_READ tables that Apache Hudi 1.2.0 wrote. A table that is already there
    stays as it is.

    Args:
        folder: created if it does not exist.

    Example:
        >>> hudi_pyspark.unpack_demo("build")
        >>> hudi_pyspark.HudiTable("build/orders").scan().count()
        47
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    content = (resources.files("hudi_pyspark") / _ARCHIVE).read_bytes()
    with tempfile.TemporaryDirectory(dir=target) as unpacked:
        with zipfile.ZipFile(io.BytesIO(lzma.decompress(content))) as archive:
            archive.extractall(unpacked)
        for name in DEMO_TABLES:
            if not (target / name).exists():
                Path(unpacked, name).rename(target / name)
