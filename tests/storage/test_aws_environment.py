"""Region, endpoint and credentials of S3 are looked for where AWS's SDKs look."""

from pathlib import Path

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError, StorageAccessError
from hudi_pyspark.storage import aws_environment
from hudi_pyspark.storage.aws_environment import check_credentials, find_endpoint_and_region
from tests.cli.command import in_process
from tests.storage.s3_server import serve

MOR = "v9_mor_compaction_inline"
ROWS = 18  # that Apache Hudi reads from it
CONFIG = """
[default]
region = eu-west-1

[profile dev]
region = eu-west-2
endpoint_url = http://dev:1
services = stores

[profile plain]
region = eu-west-3

[services stores]
dynamodb =
  endpoint_url = http://tables:1
s3 =
  max_attempts = 3
  endpoint_url = http://stores:1
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "config").write_text(CONFIG)
    (tmp_path / "credentials").write_text("[ci]\naws_access_key_id = A\n[broken\n")
    return {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }


@pytest.mark.parametrize(
    ("given", "variables", "region", "endpoint"),
    [
        ({}, {}, "eu-west-1", None),
        ({}, {"AWS_PROFILE": "dev"}, "eu-west-2", "http://stores:1"),
        ({}, {"AWS_DEFAULT_PROFILE": "plain"}, "eu-west-3", None),
        ({}, {"AWS_DEFAULT_REGION": "b", "AWS_PROFILE": "plain"}, "b", None),
        ({}, {"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"}, "a", None),
        ({"region": "o"}, {"AWS_REGION": "a"}, "o", None),
        ({}, {"AWS_ENDPOINT_URL": "http://all:1"}, "eu-west-1", "http://all:1"),
        (
            {},
            {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_S3": "http://s3:1"},
            "eu-west-1",
            "http://s3:1",
        ),
        (
            {"endpoint_override": "o:1"},
            {"AWS_ENDPOINT_URL": "http://all:1", "AWS_PROFILE": "dev"},
            "eu-west-2",
            "o:1",
        ),
        (
            {},
            {"AWS_PROFILE": "dev", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
            "eu-west-2",
            None,
        ),
    ],
)
def test_options_go_before_variables_and_these_before_the_profile(
    files, given, variables, region, endpoint
):
    expected = {"region": region} | ({"endpoint_override": endpoint} if endpoint else {})
    assert find_endpoint_and_region(given, {**files, **variables}) == expected


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        ("http://127.0.0.1:9000", "us-east-1"),
        ("https://s3.eu-central-1.amazonaws.com", "eu-central-1"),
        ("https://bucket.vpce-1-x.s3.us-gov-west-1.vpce.amazonaws.com", "us-gov-west-1"),
        ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
    ],
)
def test_region_that_nothing_names_is_that_of_the_endpoint(endpoint, region):
    found = find_endpoint_and_region(
        {"endpoint_override": endpoint}, {"AWS_CONFIG_FILE": "/nowhere"}
    )
    assert found["region"] == region


def test_files_that_cannot_be_parsed_are_left_aside(files):
    variables = {**files, "AWS_PROFILE": "ci"}
    with pytest.raises(InvalidOptionError, match="AWS_PROFILE is 'ci', but no file has"):
        find_endpoint_and_region({}, variables)


@pytest.mark.parametrize(
    ("arguments", "variables", "is_known"),
    [
        ({"access_key": "a"}, {}, True),
        ({"anonymous": True}, {}, True),
        ({"anonymous": False}, {}, False),
        ({"role_arn": "r"}, {}, False),
        ({}, {"AWS_ACCESS_KEY_ID": "a"}, True),
        ({}, {"AWS_WEB_IDENTITY_TOKEN_FILE": "/f"}, True),
        ({}, {"AWS_PROFILE": "ci"}, True),
        ({}, {"AWS_PROFILE": "plain"}, False),
        ({}, {}, False),
    ],
)
def test_credentials_are_looked_for_before_the_machine_is_asked(
    files, arguments, variables, is_known, monkeypatch
):
    asked = []

    def unreachable(*place):
        asked.append(place)
        return "it cannot be reached"

    monkeypatch.setattr(aws_environment, "connection_problem", unreachable)
    Path(files["AWS_SHARED_CREDENTIALS_FILE"]).write_text("[ci]\naws_access_key_id = A\n")
    if is_known:
        check_credentials("s3://lake", arguments, {**files, **variables})
        assert asked == []
        return
    with pytest.raises(StorageAccessError, match="s3://lake: there are no credentials"):
        check_credentials("s3://lake", arguments, {**files, **variables})
    assert [place[:2] for place in asked] == [("http://169.254.169.254", 80)]


def test_role_of_the_machine_counts_as_credentials(tmp_path):
    with serve(tmp_path) as machine:
        variables = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.endpoint}
        check_credentials("s3://lake", {}, variables)
        with pytest.raises(StorageAccessError):
            check_credentials("s3://lake", {}, {**variables, "AWS_EC2_METADATA_DISABLED": "TRUE"})


@pytest.fixture
def s3(golden_table):
    with serve(golden_table(MOR).parent) as server:
        yield server


def test_table_is_read_with_what_the_environment_names(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.endpoint)
    monkeypatch.setenv("AWS_REGION", "eu-south-2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "FROMENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert HudiTable(f"s3://lake/{MOR}").scan().count() == ROWS
    assert s3.credentials == {"FROMENV eu-south-2"}


@pytest.mark.parametrize(
    "command",
    [
        ["count", f"s3://lake/{MOR}"],
        ["describe", f"s3://lake/{MOR}"],
        ["files", f"s3://lake/{MOR}"],
        ["doctor", f"s3://lake/{MOR}"],
        ["report", f"s3://lake/{MOR}", "-o", "json"],
    ],
    ids=lambda command: command[0],
)
def test_commands_take_storage_options(s3, command):
    settings = {
        "endpoint_override": s3.endpoint,
        "region": "eu-north-1",
        "access_key": "AKID",
        "secret_key": "s=1",
    }
    options = [text for n, v in settings.items() for text in ("--storage-option", f"{n}={v}")]
    ended = in_process(*command, *options)
    assert ended.code == 0, ended.err
    assert s3.credentials == {"AKID eu-north-1"}
    wrong = in_process(*command, *options, "--storage-option", "regoin=very-secret")
    assert "did you mean region?" in wrong.err + wrong.out
    assert "very-secret" not in wrong.err + wrong.out
    no_value = in_process(*command, "--storage-option", "very-secret")
    assert no_value.code == 2
    assert "very-secret" not in no_value.err
