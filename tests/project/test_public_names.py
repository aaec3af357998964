import hudi_pyspark
from tests.project.errors_page import error_classes

PUBLIC_NAMES = {
    "CorruptAvroError",
    "CorruptBaseFileError",
    "CorruptLogBlockError",
    "CorruptTableError",
    "CorruptTimelineError",
    "FutureInstantError",
    "HudiError",
    "HudiTable",
    "IncrementalRangeError",
    "InvalidInstantError",
    "InvalidOptionError",
    "MissingFileError",
    "MissingModuleError",
    "PathInsideTableError",
    "PathNotFoundError",
    "PathOutsideTableError",
    "Scan",
    "SchemaEvolutionError",
    "SpillError",
    "StreamSchemaChangedError",
    "TableNotFoundError",
    "TimeTravelError",
    "UnknownQueryTypeError",
    "UnsupportedMergeError",
    "UnsupportedQueryError",
    "UnsupportedTableError",
    "UnsupportedTypeError",
    "UnsupportedVersionError",
    "__version__",
    "explain",
    "hudi_filesystem_view",
    "hudi_query",
    "hudi_query_timeline",
    "hudi_table_changes",
    "read",
    "register",
    "register_payload",
    "scan_polars",
    "storage_options_from_spark",
    "unpack_demo",
    "CatalogError",
    "StorageAccessError",
    "StorageError",
}


def test_public_names_are_these():
    assert set(hudi_pyspark.__all__) == PUBLIC_NAMES
    assert len(hudi_pyspark.__all__) == len(PUBLIC_NAMES)


def test_every_public_name_is_there():
    assert [name for name in PUBLIC_NAMES if not hasattr(hudi_pyspark, name)] == []


def test_every_error_is_public():
    assert {error.__name__ for error in error_classes()} <= set(hudi_pyspark.__all__)


def test_star_import_brings_the_public_names():
    names: dict[str, object] = {}
    exec("from hudi_pyspark import *", names)
    assert set(names) >= PUBLIC_NAMES
