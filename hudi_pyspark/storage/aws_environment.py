"""What AWS's SDKs take from the environment and from profiles, and pyarrow does not.

The order is theirs: storage options, variables of the environment, the profile.
"""

import configparser
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError, StorageAccessError, StorageError
from hudi_pyspark.storage.endpoints import problem_of
from hudi_pyspark.storage_options import Value

_METADATA = "http://169.254.169.254"  # of the machine, which may have a role
_WAIT = 0.5  # seconds until it is not there
_REGIONS = "s3.us-east-1.amazonaws.com"  # which knows the regions of all buckets
_WAIT_FOR_REGIONS = 1.5  # seconds
_IN_HOSTS = re.compile(r"\b([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?amazonaws\.")
_WITH_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_IN_PROFILES = (
    "aws_access_key_id",
    "role_arn",
    "credential_process",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
)


def place_in_environment(
    arguments: Mapping[str, Value], environment: Mapping[str, str]
) -> dict[str, Value]:
    """Return region and endpoint as SDKs find them; neither where nothing names it.

    Args:
        arguments: of the file system, which go before variables and profile.
        environment: variables of the process.

    Raises:
        InvalidOptionError: AWS_PROFILE names a profile that no file has.
    """
    profile = _profile(environment)
    endpoint = arguments.get("endpoint_override")
    if environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() != "true":
        endpoint = (
            endpoint
            or environment.get("AWS_ENDPOINT_URL_S3")
            or environment.get("AWS_ENDPOINT_URL")
            or profile.get("endpoint_url")
        )
    region = (
        arguments.get("region")
        or environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or profile.get("region")
    )
    if endpoint and not region:
        in_host = _IN_HOSTS.search(str(endpoint))
        region = in_host[1] if in_host else "us-east-1"  # as SDKs do
    settings = {"endpoint_override": endpoint, "region": region}
    return {name: value for name, value in settings.items() if value}


def region_of(bucket: str) -> str:
    """Return the region of a bucket of AWS.

    Raises:
        StorageError: AWS does not say it.
    """
    problem = problem_of(_REGIONS, 443, _WAIT_FOR_REGIONS)
    if not problem:
        try:
            return str(pafs.resolve_s3_region(bucket))
        except OSError as error:
            problem = str(error)
    raise StorageError(
        f"s3://{bucket}",
        f"its region is not known: {problem}. Give the storage option region (or AWS_REGION); for "
        "another store than AWS also endpoint_override (or AWS_ENDPOINT_URL)",
        1,
    )


def check_credentials(
    place: str, arguments: Mapping[str, Value], environment: Mapping[str, str]
) -> None:
    """Look where an SDK finds credentials, before it waits for those of the machine.

    Raises:
        StorageAccessError: there are none.
    """
    if arguments.keys() & {"access_key", "secret_key"} or arguments.get("anonymous"):
        return
    if any(environment.get(name) for name in _WITH_CREDENTIALS):
        return
    profile = _profile(environment)
    if any(name in profile for name in _IN_PROFILES):
        return
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        machine = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _METADATA
        if not problem_of(machine, 80, _WAIT):
            return
    raise StorageAccessError(
        place,
        "there are no credentials. Give the storage options access_key and secret_key (or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, a role of the machine), or "
        "anonymous=true for a public bucket",
    )


def _profile(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of the profile that is in use; of its services only S3's endpoint."""
    name = environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or "default"
    config = _read(environment.get("AWS_CONFIG_FILE") or "~/.aws/config")
    credentials = _read(environment.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials")
    section = name if name == "default" else f"profile {name}"
    profile = {**config.get(section, {}), **credentials.get(name, {})}
    if not profile and name != "default":
        raise InvalidOptionError(
            f"AWS_PROFILE is {name!r}, but no file has this profile (~/.aws/config and "
            "~/.aws/credentials, or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE)"
        )
    of_s3 = config.get(f"services {profile.get('services', '')}", {}).get("s3", "")
    for line in of_s3.splitlines():  # settings of a service are lines of one value
        key, _, value = line.partition("=")
        if key.strip() == "endpoint_url":
            profile["endpoint_url"] = value.strip()
    return profile


def _read(file: str) -> Mapping[str, Mapping[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(Path(file).expanduser(), encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError, RuntimeError):
        return {}  # as for SDKs; without a home there is no such file
    return {section: dict(parser[section]) for section in parser.sections()}
