"""More golden tables, written and read back by Apache Hudi: rules that are easy to get wrong.

    export HUDI_GENERATOR=path/of/the/fixture/generator      # the folder that holds hudigen.py
    export HUDI_FIXTURE_ROOT=/data/hudi                      # where the tables are written (a neutral path)
    python -m verification.generate.golden_extra --version 1.2.0 --case all --out tests/golden_extra
    python -m verification.generate.golden_extra --version 0.15.0 --case et_fuzz,composite3 --out tests/golden_extra

Every case names its targets (bundle version and table version); a case directory is
``x_v<table version>[w<bundle>]_<cow|mor>_<name>``, without ``w`` when it is the table version
that bundle writes by itself. Contents and fields are those of hudigen.py.
``compare.py --version 1.2.0`` of the generator adds 1.2.0's answers to the tables of older bundles.
Random data is seeded by the name of the case.
"""
import argparse
import os

from verification.generate.golden_extra import (  # noqa: F401  (they register their cases)
    event_time,
    payloads,
    evolution,
    slices,
    older_releases,
    ranges,
    types,
    indexes,
)
from verification.generate.golden_extra.library import H, TARGETS


def shrink(root):
    """Writes the expected files again without Spark's footer, statistics and white space; same rows and schema."""
    import glob
    import json

    import pyarrow.parquet as pq
    for f in glob.glob(os.path.join(root, "*", "expected", "*.parquet")):
        old = pq.read_table(f).replace_schema_metadata(None)
        pq.write_table(old, f + "_", compression="zstd", compression_level=19, write_statistics=False, store_schema=False,
                       use_dictionary=old.num_rows > 50)
        new = pq.read_table(f + "_").replace_schema_metadata(None)
        assert new.schema.equals(old.schema) and repr(new.to_pylist()) == repr(old.to_pylist()), f
        if os.path.getsize(f + "_") < os.path.getsize(f):
            os.replace(f + "_", f)
        else:
            os.remove(f + "_")
    for f in glob.glob(os.path.join(root, "*", "expected", "*.schema.json")):
        text = json.dumps(json.load(open(f)), separators=(",", ":"))
        with open(f, "w") as h:
            h.write(text + "\n")


def prefix(version, tv):
    return f"x_v{tv}_" if H.TABLE_VERSION[version] == tv else f"x_v{tv}w{version.replace('.', '')}_"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--version")
    ap.add_argument("--case")
    ap.add_argument("--out", required=True)
    ap.add_argument("--table-version", type=int)
    ap.add_argument("--missing", action="store_true", help="only cases that have no directory yet")
    ap.add_argument("--shrink", action="store_true", help="only make the expected files under --out smaller")
    a = ap.parse_args()
    if a.shrink:
        return shrink(a.out)
    names = list(TARGETS) if a.case == "all" else a.case.split(",")
    conf = {"spark.driver.memory": os.environ.get("HUDI_FIXTURE_MEMORY", "1800m")}
    if a.version.startswith("0.12"):        # it has no registrator, and does not pass on an option that Spark 3.3.4 reads
        conf["spark.kryo.registrator"] = ""
        conf["spark.hadoop.spark.sql.legacy.parquet.nanosAsLong"] = "false"
    spark = H.session(a.version, conf)
    try:
        for n in sorted(names, key=lambda x: (x.startswith("mi_"), x.startswith("sor_"))):   # the ones that may harm the JVM last
            for tgt in TARGETS[n]:
                v, tv = tgt.split(":")
                if v != a.version or a.table_version not in (None, int(tv)):
                    continue
                pre = prefix(v, int(tv)) + H.CASES[n]["ttype"].lower() + "_"
                if a.missing and os.path.exists(os.path.join(a.out, pre + n)):
                    continue
                H.run(spark, v, [n], a.out, int(tv), pre)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
