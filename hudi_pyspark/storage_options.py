"""Common names for the settings of a storage, as arguments of pyarrow's file systems."""

import difflib
import re
from collections.abc import Mapping

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.messages import warn

Value = str | bool | float

_ENVIRONMENT_PREFIX = "HOODIE_ENV_"
SPARK_PREFIX = "storage."  # marks a setting of the storage among read options
# Settings of Hadoop and of PyIceberg, which read options know by their own prefixes.
_FOREIGN_PREFIXES = ("fs.", "s3.", "gcs.", "adls.", "hdfs.")


# By kind of storage: arguments of its file system, each with its names in Hadoop and in PyIceberg,
# by which REST catalogs vend credentials. Those of webhdfs and oss are of fsspec's file systems.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "s3": {
        "access_key": "fs.s3a.access.key fs.s3.awsaccesskeyid s3.access-key-id",
        "secret_key": "fs.s3a.secret.key fs.s3.awssecretaccesskey s3.secret-access-key",
        "session_token": "fs.s3a.session.token s3.session-token",
        "region": "fs.s3a.endpoint.region s3.region",
        "endpoint_override": "fs.s3a.endpoint s3.endpoint",
        "role_arn": "fs.s3a.assumed.role.arn s3.role-arn",
        "session_name": "fs.s3a.assumed.role.session.name s3.role-session-name",
        "external_id": "",
        "scheme": "",
        "proxy_options": "s3.proxy-uri",
        "anonymous": "s3.anonymous",
        "force_virtual_addressing": "fs.s3a.path.style.access s3.force-virtual-addressing",
        "connect_timeout": "s3.connect-timeout",
        "request_timeout": "s3.request-timeout",
    },
    "gs": {
        "project_id": "fs.gs.project.id gcs.project-id",
        "endpoint_override": "gcs.service.host",
        "target_service_account": "",
        "scheme": "",
        "anonymous": "",
        "access_token": "gcs.oauth2.token",
        "credential_token_expiration": "",
        "retry_time_limit": "",
    },
    "abfs": {
        "account_name": "adls.account-name",
        "account_key": "adls.account-key",
        "sas_token": "adls.sas-token",
        "tenant_id": "adls.tenant-id",
        "client_id": "adls.client-id",
        "client_secret": "adls.client-secret",
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
# Seconds may be a time of the next three centuries.
_LARGEST = {**dict.fromkeys((*_SECONDS, "attempts"), 10_000_000_000), "port": 65_535}
_SWITCHES = {"anonymous", "force_virtual_addressing", "kerberos", "use_https"}
_OPPOSITE = "fs.s3a.path.style.access"  # the opposite of its argument
# Settings of every storage on another machine, that are not passed to its file system.
CREDENTIALS_PROVIDER = "credentials_provider"
_ATTEMPTS = "attempts"
COMMON = {CREDENTIALS_PROVIDER: "", _ATTEMPTS: "fs.s3a.attempts.maximum"}
_SECRET_NAME = re.compile(r"secret|token|password|account.?key|\Akey\Z")


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings in variables such as ``HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key``."""
    settings = without_prefix(environment, _ENVIRONMENT_PREFIX)
    return {name.replace("_DOT_", "."): value for name, value in settings.items()}


def without_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the settings whose names begin with a prefix, by their names without it."""
    return {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}


def to_environment(name: str, value: str) -> dict[str, str]:
    """Return a variable that `from_environment` reads, for a setting of any storage.

    Raises:
        InvalidOptionError: no storage has the setting.
    """
    known = _by_name(COMMON, *SETTINGS.values())
    if name.lower() not in known:
        _check_unknown(name, known, "all storages")
    return {f"{_ENVIRONMENT_PREFIX}{name.replace('.', '_DOT_')}": value}


def is_storage_option(key: str) -> bool:
    """Decide whether an option of a read is a setting of its storage; `key` is in lower case."""
    return key == CREDENTIALS_PROVIDER or key.startswith((SPARK_PREFIX, *_FOREIGN_PREFIXES))


def storage_options_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the storage among the options of a read, without their prefix."""
    return {
        key.lower().removeprefix(SPARK_PREFIX): value
        for key, value in options.items()
        if is_storage_option(key.lower())
    }


def file_system_arguments(
    scheme: str, given: Mapping[str, Value], environment: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the arguments for the file system of a scheme.

    Those of `given`, in any case, win over the environment's, of which others are ignored. A
    protocol of fsspec that is not in `SETTINGS` gets its arguments as they are.
    """
    common = _by_name(COMMON)
    given = {name: value for name, value in given.items() if name.lower() not in common}
    settings = SETTINGS.get(scheme)
    if settings is None:
        return given
    by_name = _by_name(settings)
    known = {name: value for name, value in environment.items() if name.lower() in by_name}
    return {**_arguments(known, by_name, scheme), **_arguments(given, by_name, scheme)}


def common_settings(
    given: Mapping[str, Value], environment: Mapping[str, Value]
) -> tuple[str, int]:
    """Return the settings that are not for the file system itself.

    These are the provider of credentials as ``module:function``, "" for none; and the most attempts
    of a request, 0 where nothing says how many.
    """
    by_name = _by_name(COMMON)
    values: dict[str, Value] = {}
    for settings in (environment, given):
        known = {name: value for name, value in settings.items() if name.lower() in by_name}
        values |= _arguments(known, by_name, "any storage")
    attempts = values.get(_ATTEMPTS, 0)
    if not isinstance(attempts, int) or attempts < (_ATTEMPTS in values):
        raise InvalidOptionError(f"storage option {_ATTEMPTS}: give a whole number, 1 or more")
    return str(values.get(CREDENTIALS_PROVIDER, "")), attempts


def secret_values(settings: Mapping[str, Value]) -> list[str]:
    """Return the values among settings that nobody should see, and passwords in URIs."""
    secrets = [str(v) for name, v in settings.items() if v and _SECRET_NAME.search(name.lower())]
    for value in map(str, settings.values()):
        user, _, _ = value.rpartition("@")
        _, _, password = user.rpartition("//")[2].partition(":")
        secrets += [password] if password else []
    return secrets


def _by_name(*settings: Mapping[str, str]) -> dict[str, str]:
    """Map every name of a setting, in lower case, to the argument that it is."""
    named = [(key, names) for each in settings for key, names in each.items()]
    return {name: key for key, names in named for name in (key, *names.lower().split())}


def _arguments(
    given: Mapping[str, Value], by_name: Mapping[str, str], scheme: str
) -> dict[str, Value]:
    arguments: dict[str, Value] = {}
    for name, value in given.items():
        argument = by_name.get(name.lower())
        if argument is None:
            _check_unknown(name, by_name, scheme)
            continue
        parsed = _parse(name, value, argument)
        if parsed == "":
            continue
        if arguments.setdefault(argument, parsed) != parsed:
            raise InvalidOptionError(f"storage option {name} contradicts another name of it")
    return arguments


def _parse(name: str, value: Value, argument: str) -> Value:
    if argument in _LARGEST:
        largest = _LARGEST[argument]
        try:
            number = float(value)
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
    return str(value).strip()  # files with secrets end with a line break


def _check_unknown(name: str, by_name: Mapping[str, str], scheme: str) -> None:
    near = difflib.get_close_matches(name.lower(), by_name, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    if name.lower().startswith(_FOREIGN_PREFIXES):
        if name.lower() in _by_name(*SETTINGS.values()):
            return  # meant for another storage
        # Hadoop has hundreds of settings, most of which only mean something to its own client.
        text = f"storage option {name} is ignored: pyarrow has no such setting{hint}"
        warn(text, stacklevel=2)
        return
    # Values are secrets: no message has them.
    raise InvalidOptionError(
        f"unknown storage option {name!r} for {scheme}{hint} (known: "
        f"{', '.join(dict.fromkeys(by_name.values()))}, and names of Hadoop and PyIceberg for them)"
    )
