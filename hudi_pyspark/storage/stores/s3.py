"""S3, and what speaks its protocol."""

import os
import re
from typing import Any

import pyarrow.fs as pafs

from hudi_pyspark.storage.aws_environment import (
    check_credentials,
    find_endpoint_and_region,
    region_of,
)
from hudi_pyspark.storage.file_systems import FileSystem, S3FileSystem
from hudi_pyspark.storage.stores.setting import Form, Options, Setting
from hudi_pyspark.storage.stores.store import Authority, Hadoop, Store

_HADOOP = "fs.s3a."
_OF_BUCKETS = "fs.s3a.bucket."
_PATH_STYLE = "fs.s3a.path.style.access"

_SETTINGS = (
    Setting(
        "access_key",
        "fs.s3a.access.key fs.s3.awsaccesskeyid s3.access-key-id aws_access_key_id access_key_id",
    ),
    Setting(
        "secret_key",
        "fs.s3a.secret.key fs.s3.awssecretaccesskey s3.secret-access-key aws_secret_access_key "
        "secret_access_key",
        is_secret=True,
    ),
    Setting(
        "session_token",
        "fs.s3a.session.token s3.session-token aws_session_token aws_token token",
        is_secret=True,
    ),
    Setting(
        "region",
        "fs.s3a.endpoint.region s3.region aws_region aws_default_region default_region",
    ),
    Setting(
        "endpoint_override",
        "fs.s3a.endpoint s3.endpoint aws_endpoint aws_endpoint_url aws_endpoint_url_s3 endpoint "
        "endpoint_url",
        Form.ENDPOINT,
    ),
    Setting("role_arn", "fs.s3a.assumed.role.arn s3.role-arn aws_role_arn"),
    Setting(
        "session_name",
        "fs.s3a.assumed.role.session.name s3.role-session-name aws_role_session_name "
        "role_session_name",
    ),
    Setting("external_id"),
    Setting("scheme", form=Form.PROTOCOL),
    Setting("proxy_options", "s3.proxy-uri proxy_url", Form.PROXY),
    Setting("anonymous", "s3.anonymous aws_skip_signature skip_signature", Form.SWITCH),
    Setting(
        "force_virtual_addressing",
        f"{_PATH_STYLE} s3.force-virtual-addressing aws_virtual_hosted_style_request "
        "virtual_hosted_style_request",
        Form.SWITCH,
        opposite=_PATH_STYLE,
    ),
    Setting("connect_timeout", "s3.connect-timeout", Form.SECONDS),
    Setting("request_timeout", "s3.request-timeout timeout", Form.SECONDS),
)


def _connect(_scheme: str, authority: str, arguments: dict[str, Any]) -> FileSystem:
    check_credentials(f"s3://{authority}", arguments, os.environ)
    # `RetryPolicy` repeats requests, in the same way for all storages.
    once = pafs.AwsStandardS3RetryStrategy(max_attempts=1)
    return S3FileSystem(pafs.S3FileSystem(retry_strategy=once, **arguments))


def _look_up(authority: str, arguments: Options, has_provider: bool) -> Options:  # noqa: FBT001
    found = find_endpoint_and_region(arguments, os.environ)
    if not has_provider and "region" not in {**arguments, **found}:
        found["region"] = region_of(authority)
    return found


def _from_hadoop(authority: str, first_value: Hadoop) -> dict[str, str]:
    """Return the settings of Hadoop; those of the bucket win."""
    of_bucket = f"{_OF_BUCKETS}{authority}."
    options = {
        name: first_value(name.replace(_HADOOP, of_bucket), name) for name in S3.names_in_hadoop()
    }
    endpoint = options["fs.s3a.endpoint"]
    ssl = first_value("fs.s3a.connection.ssl.enabled")
    if endpoint and "://" not in endpoint and ssl == "false":
        options["fs.s3a.endpoint"] = f"http://{endpoint}"
    return options


S3 = Store(
    scheme="s3",
    other_schemes=("s3a", "s3n"),
    authority=Authority.BUCKET,
    has_empty_folders=False,
    connect=_connect,
    settings=_SETTINGS,
    prefixes=("s3.", "aws_"),
    ignored_settings=("aws_allow_http", "aws_s3_allow_unsafe_rename"),
    variables=("AWS_",),
    look_up=_look_up,
    # The answer to a HEAD request has no body: there, S3 refuses an expired token with a bare 400.
    answer=re.compile(
        r"AWS Error (\w+(?: \(HTTP status \d+\))?|\[code \d+\]) during \w+ operation: "
        r"(?:Unable to parse ExceptionName: (\w+))?"
    ),
    hadoop_prefix=_HADOOP,
    hadoop_scopes=(_OF_BUCKETS,),
    from_hadoop=_from_hadoop,
)
