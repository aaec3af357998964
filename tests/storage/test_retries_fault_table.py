"""What each fault of a store costs and leads to, where it begins before each step of a read."""

from collections import Counter

import pytest

from hudi_pyspark import HudiTable, MissingFileError, StorageAccessError, StorageError
from hudi_pyspark.errors import CorruptTableError, TableNotFoundError
from hudi_pyspark.reading.read_task import read_task
from tests.cli.command import in_process
from tests.storage.faulty_proxy import NONE, FaultyProxy, fail_between
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
SECRET = "very-secret-key"
SETTING = "raise the storage option attempts"
REFUSED = "Check the storage options"

# A short answer is asked for once more by its last byte; curl connects anew after a reset.
# Fault of every request, step from which on; the error, its text, requests of one file or folder
# and seconds of pauses, least and most.
FOREVER = [
    ("503", "open", StorageError, SETTING, (15, 25), (65, 70)),
    ("503", "plan", StorageError, SETTING, (5, 25), (65, 95)),
    ("503", "scan", StorageError, SETTING, (5, 25), (65, 95)),
    ("429", "open", StorageError, SETTING, (15, 25), (65, 70)),
    ("429", "scan", StorageError, SETTING, (5, 25), (65, 95)),
    ("500", "open", StorageError, "(5 attempts)", (5, 5), (1.4, 3)),
    ("500", "plan", StorageError, "(5 attempts)", (5, 5), (1.4, 24)),
    ("500", "scan", StorageError, "(5 attempts)", (5, 5), (1.4, 24)),
    ("reset", "open", StorageError, "(5 attempts)", (5, 6), (1.4, 3)),
    ("reset", "scan", StorageError, "(5 attempts)", (5, 6), (1.4, 24)),
    ("403", "open", StorageAccessError, REFUSED, (1, 1), (0, 0)),
    ("403", "plan", StorageAccessError, REFUSED, (1, 1), (0, 0)),
    ("403", "scan", StorageAccessError, REFUSED, (1, 1), (0, 0)),
    ("401", "open", StorageAccessError, REFUSED, (1, 1), (0, 0)),
    ("400", "scan", StorageAccessError, REFUSED, (1, 1), (0, 0)),
    ("404", "open", TableNotFoundError, "does not exist or is empty", (1, 2), (0, 0)),
    ("404", "scan", MissingFileError, "not on the storage", (1, 9), (0, 0)),
    # Twice, since a writer may have replaced the file; both again, since bytes may be damaged.
    ("zeros", "open", CorruptTableError, "hoodie.properties", (1, 4), (0, 0)),
    ("zeros", "scan", CorruptTableError, "", (1, 2), (0, 0)),
    ("short", "open", StorageError, "fewer than", (5, 10), (1.4, 3)),
    ("short", "scan", StorageError, "fewer than", (5, 10), (1.4, 24)),
]
ONCE = ["503", "429", "500", "reset", "cut", "short", "empty", "html", "zeros"]


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


class Steps:
    """The steps of a read through a proxy."""

    def __init__(self, proxy: FaultyProxy) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()
        self.proxy = proxy
        self.options = {
            "endpoint_override": proxy.endpoint,
            "access_key": "AKID",
            "secret_key": SECRET,
            "region": "eu-north-1",
        }
        proxy.faults = lambda *_: NONE

    def fail(self, choose):
        """Let requests fail from now on; only these are counted."""
        self.asked.clear()

        def count(_, request):
            self.asked[request.kind, request.path] += 1
            return choose(request)

        self.proxy.faults = count

    def run(self, begin, choose):
        """Read the table, with faults from a step on; return the number of rows."""
        if begin == "open":
            self.fail(choose)
        table = HudiTable(f"s3://lake/{MOR}", storage_options=self.options)
        if begin == "plan":
            self.fail(choose)
        scan = table.scan(use_metadata_table=False)
        tasks = scan.plan()
        if begin == "scan":
            self.fail(choose)
        return sum(rows.num_rows for task in tasks for rows in read_task(task, scan.storage))


@pytest.mark.parametrize("row", FOREVER, ids=lambda row: "-".join(row[:2]))
def test_fault_of_every_request(s3, clock, row):
    fault, step, error, text, requests, seconds = row

    def choose(request):
        return fault if request.kind != "HEAD" or fault.isdigit() or fault == "reset" else NONE

    with fail_between(s3.endpoint, lambda *_: NONE) as proxy:
        steps = Steps(proxy)
        with pytest.raises(error) as caught:
            steps.run(step, choose)
    assert type(caught.value) is error or error in (CorruptTableError, TableNotFoundError)
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)
    assert requests[0] <= max(steps.asked.values()) <= requests[1], steps.asked
    assert seconds[0] <= clock.now <= seconds[1]


@pytest.mark.parametrize("step", ["open", "plan", "scan"])
@pytest.mark.parametrize("fault", ONCE)
def test_fault_of_one_request_gives_the_rows(s3, clock, step, fault):
    left = [fault]

    def choose(request):
        is_content = request.kind == "GET" or (request.kind == "LIST" and fault in LISTED)
        return left.pop() if left and is_content else NONE

    with fail_between(s3.endpoint, lambda *_: NONE) as proxy:
        assert Steps(proxy).run(step, choose) == ROWS
    assert not left
    assert clock.now < 1


LISTED = {"503", "429", "500", "reset", "empty", "html"}


def is_of(step, request):
    """Whether a request, of a table without its metadata table, belongs to a step."""
    if step == "scan":
        return "/.hoodie/" not in request.path and request.kind == "GET"
    if step == "plan":
        return request.kind == "LIST" and ".hoodie" not in request.path
    return ".hoodie/" in request.path


@pytest.mark.parametrize("row", FOREVER, ids=lambda row: "-".join(row[:2]))
def test_command_line_names_the_fault_in_one_line(s3, clock, row, monkeypatch):
    fault, step, _, text, requests, seconds = row

    failed: Counter[tuple[str, str]] = Counter()

    def choose(request):
        is_failing = request.kind != "HEAD" or fault.isdigit() or fault == "reset"
        if not is_failing or not is_of(step, request):
            return NONE
        failed[request.kind, request.path] += 1
        return fault

    with fail_between(s3.endpoint, lambda *_: NONE) as proxy:
        steps = Steps(proxy)
        steps.fail(choose)
        for name, value in steps.options.items():
            monkeypatch.setenv(f"HOODIE_ENV_{name}", value)
        ended = in_process("count", f"s3://lake/{MOR}", "--option", "use_metadata_table=false")
    assert ended.code in (1, 2, 3, 4, 5), ended
    if (fault, step) == ("404", "open"):  # the folder is listed, without what is in .hoodie
        text = "is not a Hudi table"
        requests = (1, 16)
    assert text in ended.err
    assert "Traceback" not in ended.err
    assert SECRET not in ended.out + ended.err
    # Threads read the slices, and curl repeats a GET after a reset.
    assert requests[0] <= max(failed.values()) <= 2 * requests[1], failed
    assert seconds[0] <= clock.now <= seconds[1]
