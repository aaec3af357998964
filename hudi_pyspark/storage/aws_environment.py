"""AWS settings that SDKs find in the environment and in profiles, but pyarrow does not.

The order is that of the SDKs: storage options, variables of the environment, the profile.
"""

import configparser
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow.fs as pafs

from hudi_pyspark.errors import InvalidOptionError, StorageAccessError, StorageError
from hudi_pyspark.storage.hosts import connection_problem
from hudi_pyspark.storage.stores.setting import Options, Value

_METADATA_SERVICE = "http://169.254.169.254"  # of the machine, which may have a role
_METADATA_SECONDS = 0.5  # without an answer until the machine counts as not being of AWS
_REGION_SERVICE = "s3.us-east-1.amazonaws.com"  # which knows the regions of all buckets
_REGION_SECONDS = 1.5
_REGION_IN_HOST = re.compile(r"\b([a-z]{2}(?:-[a-z]+)+-\d)\.(?:vpce\.)?amazonaws\.")
_CREDENTIAL_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_CREDENTIALS_IN_PROFILES = (
    "aws_access_key_id",
    "role_arn",
    "credential_process",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
)


def find_endpoint_and_region(
    arguments: Options, environment: Mapping[str, str]
) -> dict[str, Value]:
    """Find endpoint and region as SDKs do.

    Args:
        arguments: of the file system, which win over variables and profile.
        environment: variables of the process.

    Returns:
        ``endpoint_override`` and ``region``, each only if something names it.

    Raises:
        InvalidOptionError: AWS_PROFILE names a profile that no file has.
    """
    profile = _profile(environment)
    endpoint = arguments.get("endpoint_override")
    if environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() != "true":
        variable = _first(environment, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        endpoint = endpoint or variable or profile.get("endpoint_url")
    variable = _first(environment, "AWS_REGION", "AWS_DEFAULT_REGION")
    region = arguments.get("region") or variable or profile.get("region")
    if endpoint and not region:
        region_in_host = _REGION_IN_HOST.search(str(endpoint))
        region = region_in_host[1] if region_in_host else "us-east-1"  # as SDKs do
    settings = {"endpoint_override": endpoint, "region": region}
    return {name: value for name, value in settings.items() if value}


def region_of(bucket: str) -> str:
    """Ask AWS for the region of a bucket.

    Raises:
        StorageError: AWS cannot be reached, or does not know the bucket.
    """
    problem = connection_problem(_REGION_SERVICE, 443, _REGION_SECONDS)
    if not problem:
        try:
            return str(pafs.resolve_s3_region(bucket))
        except OSError as error:
            problem = str(error)
    raise StorageError(
        f"s3://{bucket}",
        f"its region is not known: {problem}. Give the storage option region (or AWS_REGION); if "
        "the store is not AWS, also endpoint_override (or AWS_ENDPOINT_URL)",
        1,
    )


def check_credentials(place: str, arguments: Options, environment: Mapping[str, str]) -> None:
    """Check that an SDK will find credentials; by itself it may search for minutes.

    Args:
        place: the URI of the bucket, for the message.
        arguments: of the file system.
        environment: variables of the process.

    Raises:
        StorageAccessError: there are no credentials.
        InvalidOptionError: AWS_PROFILE names a profile that no file has.
    """
    if arguments.keys() & {"access_key", "secret_key"} or arguments.get("anonymous"):
        return
    if _first(environment, *_CREDENTIAL_VARIABLES):
        return
    profile = _profile(environment)
    if any(name in profile for name in _CREDENTIALS_IN_PROFILES):
        return
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        service = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or _METADATA_SERVICE
        if not connection_problem(service, 80, _METADATA_SECONDS):
            return
    raise StorageAccessError(
        place,
        "there are no credentials. Give the storage options access_key and secret_key (or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, a role of the machine), or "
        "anonymous=true for a public bucket",
    )


def _first(environment: Mapping[str, str], *names: str) -> str:
    """Return the first of some variables that is set and not empty; "" if none is."""
    return next(filter(None, map(environment.get, names)), "")


def _profile(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of the active profile; of its services, only the endpoint of S3."""
    name = _first(environment, "AWS_PROFILE", "AWS_DEFAULT_PROFILE") or "default"
    config = _read(environment.get("AWS_CONFIG_FILE") or "~/.aws/config")
    credentials = _read(environment.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials")
    section = name if name == "default" else f"profile {name}"
    profile = {**config.get(section, {}), **credentials.get(name, {})}
    if not profile and name != "default":
        raise InvalidOptionError(
            f"AWS_PROFILE is {name!r}, but no file has this profile (~/.aws/config and "
            "~/.aws/credentials, or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE)"
        )
    s3_settings = config.get(f"services {profile.get('services', '')}", {}).get("s3", "")
    for line in s3_settings.splitlines():  # a service is one value, with a setting per line
        key, _, value = line.partition("=")
        if key.strip() == "endpoint_url":
            profile["endpoint_url"] = value.strip()
    return profile


def _read(file: str) -> Mapping[str, Mapping[str, str]]:
    """Return the sections of a file; none if it cannot be read, as SDKs do."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read(Path(file).expanduser(), encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError, RuntimeError):
        return {}  # RuntimeError: the user has no home folder
    return {section: dict(parser[section]) for section in parser.sections()}
