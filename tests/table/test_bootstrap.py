import pytest

from hudi_pyspark.errors import CorruptTableError, MissingFileError, UnsupportedTableError
from hudi_pyspark.storage import ArrowStorage
from hudi_pyspark.table.bootstrap import BootstrapSources, is_skeleton, load_bootstrap_sources
from hudi_pyspark.table.config import TableConfig
from hudi_pyspark.table.file_group import BaseFile, FileSlice, LogFile
from tests.memory_storage import MemoryStorage
from tests.table.bootstrap_index import INDEX, bootstrap_index

RECORDED = "/data/source"
SKELETON = "00000000000001"
PROPERTIES = {
    "hoodie.table.name": "t",
    "hoodie.table.version": "8",
    "hoodie.bootstrap.base.path": RECORDED,
}
INDEX_OF_F1 = bootstrap_index({("p=1", "f1"): f"file:{RECORDED}/p=1/part-0.parquet"})


def config_of(**properties: str) -> TableConfig:
    named = {f"hoodie.bootstrap.{k.replace('__', '.')}": v for k, v in properties.items()}
    return TableConfig.parse(PROPERTIES | named)


def slice_of(instant: str = SKELETON, file_id: str = "f1", partition: str = "p=1") -> FileSlice:
    path = f"{partition}/{file_id}_0-1-0_{instant}.parquet"
    base = BaseFile(path=path, file_id=file_id, instant_time=instant, size=1)
    return FileSlice(partition, file_id, instant, base, ())


def source_of(files, file_slice=None, *, option="", config=None) -> str:
    """The source file of a slice, on a storage of these files."""
    storage = MemoryStorage({INDEX: INDEX_OF_F1} | dict.fromkeys(files, b"x"))
    sources = load_bootstrap_sources(storage, config or config_of(), option)
    return attached_source(sources, file_slice or slice_of())


def attached_source(sources: BootstrapSources, file_slice: FileSlice) -> str:
    (attached,) = sources.attach([file_slice])
    assert attached.base_file is not None
    return attached.base_file.bootstrap_source


HERE = f"{RECORDED}/p=1/part-0.parquet"
BESIDE = "source/p=1/part-0.parquet"


@pytest.mark.parametrize(
    ("files", "option", "expected"),
    [
        pytest.param([HERE], "", f"file:{HERE}", id="recorded"),
        pytest.param([HERE, BESIDE], "", f"file:{HERE}", id="recorded-before-sibling"),
        pytest.param([BESIDE], "", BESIDE, id="sibling"),
        pytest.param([], "", f"file:{HERE}", id="nowhere"),
        pytest.param([HERE, BESIDE], "s3://b/x/", "s3://b/x/p=1/part-0.parquet", id="option"),
        pytest.param([HERE], "/gone", "/gone/p=1/part-0.parquet", id="option-although-gone"),
    ],
)
def test_source_is_looked_for_where_the_option_or_the_table_says(files, option, expected):
    assert source_of(files, option=option) == expected


def test_sibling_is_a_folder_beside_the_base_path(tmp_path):
    (tmp_path / "table" / INDEX).parent.mkdir(parents=True)
    (tmp_path / "table" / INDEX).write_bytes(INDEX_OF_F1)
    (tmp_path / "source" / "p=1").mkdir(parents=True)
    storage = ArrowStorage.parse(str(tmp_path / "table"))
    sources = load_bootstrap_sources(storage, config_of())
    assert attached_source(sources, slice_of()) == f"{tmp_path}/source/p=1/part-0.parquet"


@pytest.mark.parametrize(
    ("recorded_base", "recorded_file"),
    [
        pytest.param("/d/s", "file:/d/s/p=1/f.parquet", id="path-and-uri"),
        pytest.param("file:///d/s/", "file:/d/s/p=1/f.parquet", id="three-slashes"),
        pytest.param("s3://b/s", "s3a://b/s/p=1/f.parquet", id="other-name-of-the-scheme"),
        pytest.param("/d/a b%2F", "file:/d/a b%2F/p=1/f.parquet", id="raw-text"),
    ],
)
def test_recorded_folder_is_replaced_however_it_is_written(recorded_base, recorded_file):
    storage = MemoryStorage({INDEX: bootstrap_index({("p=1", "f1"): recorded_file})})
    sources = load_bootstrap_sources(storage, config_of(base__path=recorded_base), "/new")
    assert attached_source(sources, slice_of()) == "/new/p=1/f.parquet"


def test_source_outside_of_the_recorded_folder_cannot_be_moved():
    config = config_of(base__path="/data/sour")
    with pytest.raises(CorruptTableError, match=r"not below .*, /data/sour;"):
        source_of([], option="/new", config=config)


@pytest.mark.parametrize(
    ("instant", "base_path", "expected"),
    [
        pytest.param(SKELETON, RECORDED, True, id="metadata-only"),
        pytest.param("00000000000002", RECORDED, False, id="full-record"),
        pytest.param("20240101000000000", RECORDED, False, id="rewritten"),
        pytest.param(SKELETON, "", False, id="no-bootstrap"),
    ],
)
def test_skeletons_are_the_base_files_of_a_metadata_only_bootstrap(instant, base_path, expected):
    assert is_skeleton(slice_of(instant), config_of(base__path=base_path)) is expected


def test_slice_of_log_files_alone_is_no_skeleton():
    log = LogFile("p=1/.f1_1.log.1_0", "f1", SKELETON, 1, "0", 1)
    assert not is_skeleton(FileSlice("p=1", "f1", SKELETON, None, (log,)), config_of())


def test_only_skeletons_get_a_source():
    storage = MemoryStorage({INDEX: INDEX_OF_F1})
    slices = [slice_of("00000000000002", "f2"), slice_of(), slice_of("20240101000000000", "f3")]
    attached = load_bootstrap_sources(storage, config_of()).attach(slices)
    assert [bool(s.base_file and s.base_file.bootstrap_source) for s in attached] == [0, 1, 0]
    assert attached[::2] == slices[::2]


def test_index_of_several_partitions_and_none_is_read():
    recorded = {("a", "f1"): "/s/a/1", ("a", "f2"): "/s/a/2", ("", "f1"): "/s/3"}
    storage = MemoryStorage({INDEX: bootstrap_index(recorded)})
    assert load_bootstrap_sources(storage, config_of()).index == recorded


def test_file_group_that_the_index_does_not_name_is_an_error():
    with pytest.raises(CorruptTableError, match="does not name file group f9 of partition 'p=1'"):
        source_of([], slice_of(file_id="f9"))


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        pytest.param({"index__enable": "false"}, "index.enable is false", id="disabled"),
        pytest.param({"index__type": "NO_OP"}, "index.type is NO_OP", id="type"),
        pytest.param(
            {"index__class": "a.b.NoOpBootstrapIndex"}, "index.class is a.b.NoOp", id="class"
        ),
    ],
)
def test_table_without_an_index_is_refused(properties, says):
    with pytest.raises(UnsupportedTableError, match=f"hoodie.bootstrap.{says}"):
        source_of([], config=config_of(**properties))


def test_named_hfile_index_is_read():
    named = {"index__type": "HFILE", "index__enable": "true"}
    java = "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"
    assert source_of([], config=config_of(**named, index__class=java)) == f"file:{HERE}"


def test_missing_index_is_named():
    with pytest.raises(
        MissingFileError, match=r"\.bootstrap/\.partitions/.* is not on the storage"
    ):
        load_bootstrap_sources(MemoryStorage({}), config_of())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"x" * 5000, "expected HFile trailer", id="no-hfile"),
        pytest.param(INDEX_OF_F1.replace(b"Obj\x01", b"Obj\x02"), "Obj", id="no-avro"),
        pytest.param(
            INDEX_OF_F1.replace(b"fileIdToBootstrapFile", b"fileIdToBootstrapFilX"),
            "fileIdToBootstrapFile",
            id="no-such-field",
        ),
    ],
)
def test_damaged_index_is_named(content, says):
    with pytest.raises(
        CorruptTableError, match=rf"bootstrap index .*\.partitions/.*{says}"
    ) as raised:
        load_bootstrap_sources(MemoryStorage({INDEX: content}), config_of())
    assert raised.type is CorruptTableError
