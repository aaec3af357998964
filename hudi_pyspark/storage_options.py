"""Storage options: the settings of a storage by any of their names.

Each becomes an argument of a file system of pyarrow or fsspec.
"""

import re
from collections.abc import Mapping

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.messages import warn
from hudi_pyspark.wording import did_you_mean

Value = str | bool | float
Options = Mapping[str, Value]  # storage options by name, or arguments of a file system

_ENVIRONMENT_PREFIX = "HOODIE_ENV_"
SPARK_PREFIX = "storage."  # marks a storage option among read options
# Names of Hadoop, PyIceberg, delta-rs and polars, which need no mark among read options.
_FOREIGN_PREFIXES = ("fs.", "s3.", "gcs.", "adls.", "hdfs.", "aws_", "azure_", "google_")


# By kind of storage: arguments of its file system, each with its names in Hadoop, in PyIceberg, and
# in delta-rs, polars and hudi-rs (those of object_store). REST catalogs use PyIceberg's names. The
# file systems of webhdfs and oss are fsspec's.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "s3": {
        "access_key": "fs.s3a.access.key fs.s3.awsaccesskeyid s3.access-key-id aws_access_key_id "
        "access_key_id",
        "secret_key": "fs.s3a.secret.key fs.s3.awssecretaccesskey s3.secret-access-key "
        "aws_secret_access_key secret_access_key",
        "session_token": "fs.s3a.session.token s3.session-token aws_session_token aws_token token",
        "region": "fs.s3a.endpoint.region s3.region aws_region aws_default_region default_region",
        "endpoint_override": "fs.s3a.endpoint s3.endpoint aws_endpoint aws_endpoint_url "
        "aws_endpoint_url_s3 endpoint endpoint_url",
        "role_arn": "fs.s3a.assumed.role.arn s3.role-arn aws_role_arn",
        "session_name": "fs.s3a.assumed.role.session.name s3.role-session-name "
        "aws_role_session_name role_session_name",
        "external_id": "",
        "scheme": "",
        "proxy_options": "s3.proxy-uri proxy_url",
        "anonymous": "s3.anonymous aws_skip_signature skip_signature",
        "force_virtual_addressing": "fs.s3a.path.style.access s3.force-virtual-addressing "
        "aws_virtual_hosted_style_request virtual_hosted_style_request",
        "connect_timeout": "s3.connect-timeout",
        "request_timeout": "s3.request-timeout timeout",
    },
    "gs": {
        "project_id": "fs.gs.project.id gcs.project-id",
        "endpoint_override": "gcs.service.host",
        "target_service_account": "",
        "scheme": "",
        "anonymous": "google_skip_signature skip_signature",
        "access_token": "gcs.oauth2.token",
        "credential_token_expiration": "",
        "retry_time_limit": "",
    },
    "abfs": {
        "account_name": "adls.account-name azure_storage_account_name",
        "account_key": "adls.account-key azure_storage_account_key azure_storage_access_key "
        "azure_storage_master_key access_key master_key",
        "sas_token": "adls.sas-token azure_storage_sas_token azure_storage_sas_key sas_key",
        "tenant_id": "adls.tenant-id azure_storage_tenant_id azure_storage_authority_id "
        "azure_tenant_id azure_authority_id authority_id",
        "client_id": "adls.client-id azure_storage_client_id azure_client_id",
        "client_secret": "adls.client-secret azure_storage_client_secret azure_client_secret",
        "blob_storage_authority": "adls.blob-storage-authority",
        "dfs_storage_authority": "adls.dfs-storage-authority",
        "blob_storage_scheme": "adls.blob-storage-scheme",
        "dfs_storage_scheme": "adls.dfs-storage-scheme",
    },
    "hdfs": {
        "host": "hdfs.host",
        "port": "hdfs.port",
        "user": "hdfs.user",
        "kerb_ticket": "hdfs.kerberos_ticket",
    },
    "webhdfs": {
        **dict.fromkeys(("host", "port", "token", "proxy_to", "kerberos", "use_https"), ""),
        "user": "hdfs.user",
    },
    "oss": {
        "key": "fs.oss.accessKeyId",
        "secret": "fs.oss.accessKeySecret",
        "token": "fs.oss.securityToken",
        "endpoint": "fs.oss.endpoint",
    },
}
_SECONDS = ("connect_timeout", "request_timeout", "credential_token_expiration", "retry_time_limit")
# The seconds of an expiration are a time of the next three centuries.
_LARGEST = {**dict.fromkeys((*_SECONDS, "attempts"), 10_000_000_000), "port": 65_535}
_SWITCHES = {"anonymous", "force_virtual_addressing", "kerberos", "use_https"}
_OPPOSITE = "fs.s3a.path.style.access"  # true means false for its argument
# Options of every storage on another machine, which its file system does not get.
CREDENTIALS_PROVIDER = "credentials_provider"
_ATTEMPTS = "attempts"
COMMON = {CREDENTIALS_PROVIDER: "", _ATTEMPTS: "fs.s3a.attempts.maximum"}
_SECRET_NAME = re.compile(
    r"secret|token|password|(account|master|sas).?key|storage_access_key|\Akey\Z"
)
# Settings of delta-rs and polars without an effect on reads: the endpoint's scheme decides on http.
_WITHOUT_EFFECT = ("allow_http", "aws_allow_http", "azure_allow_http", "aws_s3_allow_unsafe_rename")
_GOOGLE_KEY_FILE = re.compile(r"(google_)?(service_account(_path|_key)?|application_credentials)")


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options in variables like ``HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key``.

    Keys of the result are names of options, such as ``fs.s3a.access.key``.
    """
    settings = without_prefix(environment, _ENVIRONMENT_PREFIX)
    return {name.replace("_DOT_", "."): value for name, value in settings.items()}


def without_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the settings whose names begin with a prefix, and remove the prefix."""
    return {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}


def to_environment(name: str, value: str) -> dict[str, str]:
    """Return the environment variable from which `from_environment` reads a storage option.

    Args:
        name: of an option of any storage, in any case.
        value: of the option.

    Raises:
        InvalidOptionError: no storage has the option.
    """
    by_name = _by_name(COMMON, *SETTINGS.values())
    if name.lower() not in by_name:
        _check_unknown(name, by_name, "all storages")
    return {f"{_ENVIRONMENT_PREFIX}{name.replace('.', '_DOT_')}": value}


def is_storage_option(key: str) -> bool:
    """Return whether a read option, in lower case, is a storage option."""
    return key == CREDENTIALS_PROVIDER or key.startswith((SPARK_PREFIX, *_FOREIGN_PREFIXES))


def storage_options_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options among read options, in lower case and without ``storage.``."""
    return {
        key.lower().removeprefix(SPARK_PREFIX): value
        for key, value in options.items()
        if is_storage_option(key.lower())
    }


def file_system_arguments(scheme: str, options: Options, environment: Options) -> dict[str, Value]:
    """Return the arguments for the file system of a scheme.

    Args:
        scheme: canonical, a key of `SETTINGS`; another protocol of fsspec gets ``options`` as they
            are.
        options: storage options by any of their names, in any case. They win over ``environment``.
        environment: storage options of the process; those of other storages are ignored.

    Raises:
        InvalidOptionError: the scheme does not have an option, an option has a wrong value, or two
            names of an option have different values.
    """
    common = _by_name(COMMON)
    options = {name: value for name, value in options.items() if name.lower() not in common}
    settings = SETTINGS.get(scheme)
    return options if settings is None else _arguments(settings, scheme, options, environment)


def common_settings(options: Options, environment: Options) -> tuple[str, int]:
    """Return the storage options that the file system does not get.

    Args:
        options: storage options by any of their names, in any case. They win over ``environment``.
        environment: storage options of the process.

    Returns:
        The provider of credentials as ``module:function``, "" for none; and the maximum number of
        attempts per request, 0 for the default.

    Raises:
        InvalidOptionError: ``attempts`` is not a whole number from 1 on.
    """
    common = _by_name(COMMON)
    options = {name: value for name, value in options.items() if name.lower() in common}
    values = _arguments(COMMON, "any storage", options, environment)
    attempts = values.get(_ATTEMPTS, 0)
    if not isinstance(attempts, int) or attempts < (_ATTEMPTS in values):
        raise InvalidOptionError(f"storage option {_ATTEMPTS}: give a whole number, 1 or more")
    return str(values.get(CREDENTIALS_PROVIDER, "")), attempts


def secret_values(settings: Options) -> list[str]:
    """Return the values that must not be shown: secrets by their names, and passwords in URIs."""
    secrets = [str(v) for name, v in settings.items() if v and _SECRET_NAME.search(name.lower())]
    for value in map(str, settings.values()):
        user, _, _ = value.rpartition("@")
        _, _, password = user.rpartition("//")[2].partition(":")
        secrets += [password] if password else []
    return secrets


def _by_name(*settings: Mapping[str, str]) -> dict[str, str]:
    """Map every name of an option, in lower case, to its argument."""
    pairs = [pair for each in settings for pair in each.items()]
    return {name: key for key, names in pairs for name in (key, *names.lower().split())}


def _arguments(
    settings: Mapping[str, str], scheme: str, options: Options, environment: Options
) -> dict[str, Value]:
    """Parse options, and the environment's options that the storage knows; given ones win."""
    by_name = _by_name(settings)
    defaults = {name: value for name, value in environment.items() if name.lower() in by_name}
    return {**_parse_all(defaults, by_name, scheme), **_parse_all(options, by_name, scheme)}


def _parse_all(options: Options, by_name: Mapping[str, str], scheme: str) -> dict[str, Value]:
    arguments: dict[str, Value] = {}
    names: dict[str, str] = {}
    for name, value in options.items():
        argument = by_name.get(name.lower())
        if argument is None:
            _check_unknown(name, by_name, scheme)
            continue
        parsed = _parse(name, value, argument)
        if parsed == "":
            continue
        first_name = names.setdefault(argument, name)
        if arguments.setdefault(argument, parsed) != parsed:
            raise InvalidOptionError(
                f"storage option {argument} is set twice with different values ({first_name}, "
                f"{name}): leave one of them out"
            )
    return arguments


def _parse(name: str, value: Value, argument: str) -> Value:
    if argument in _LARGEST:
        largest = _LARGEST[argument]
        try:
            number = float(str(value).removesuffix("s" if argument in _SECONDS else ""))  # 30s
        except ValueError:
            raise InvalidOptionError(f"storage option {name}: give a number") from None
        if not 0 <= number <= largest:
            raise InvalidOptionError(f"storage option {name}: give a number from 0 to {largest}")
        return int(number) if number.is_integer() else number
    if argument in _SWITCHES:
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise InvalidOptionError(f"storage option {name}: give true or false")
        return (text == "true") != (name.lower() == _OPPOSITE)
    return str(value).strip()  # secrets that are read from files end with a line break


def _check_unknown(name: str, by_name: Mapping[str, str], scheme: str) -> None:
    if name.lower() in _WITHOUT_EFFECT:
        return
    if scheme == "gs" and _GOOGLE_KEY_FILE.fullmatch(name.lower()):
        raise InvalidOptionError(
            f"storage option {name}: the key of a service account is read from a file whose path "
            "is in the environment variable GOOGLE_APPLICATION_CREDENTIALS; set it on every "
            "machine, or give access_token"
        )
    hint = did_you_mean(name.lower(), by_name)
    if name.lower().startswith(_FOREIGN_PREFIXES):
        if name.lower() in _by_name(*SETTINGS.values()):
            return  # meant for another storage
        # Hadoop has hundreds of settings, most of which only mean something to its own client.
        warn(f"storage option {name} is ignored: pyarrow has no such setting{hint}")
        return
    # The message must not contain the value, which may be a secret.
    raise InvalidOptionError(
        f"unknown storage option {name!r} for {scheme}{hint} (known: "
        f"{', '.join(dict.fromkeys(by_name.values()))}, and their names in Hadoop, PyIceberg, "
        "delta-rs and polars)"
    )
