"""Common names for the settings of a storage, as arguments of pyarrow's file systems."""

from __future__ import annotations

import difflib
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_pyspark.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Value = str | bool | float

_ENVIRONMENT_PREFIX = "HOODIE_ENV_"
SPARK_PREFIX = "storage."  # marks a setting of the storage among read options
# Settings of Hadoop and of PyIceberg, which read options know by their own prefixes.
_FOREIGN_PREFIXES = ("fs.", "s3.", "gcs.", "adls.", "hdfs.")


@dataclass(frozen=True, slots=True)
class _Setting:
    """An argument of a pyarrow file system, and other names for it."""

    argument: str
    names: tuple[str, ...] = ()
    kind: type[str] | type[bool] | type[float] = str
    inverted: bool = False  # the other names mean the opposite


_S3 = (
    _Setting(
        "access_key",
        ("fs.s3a.access.key", "fs.s3.awsaccesskeyid", "s3.access-key-id", "aws_access_key_id"),
    ),
    _Setting(
        "secret_key",
        (
            "fs.s3a.secret.key",
            "fs.s3.awssecretaccesskey",
            "s3.secret-access-key",
            "aws_secret_access_key",
        ),
    ),
    _Setting("session_token", ("fs.s3a.session.token", "s3.session-token", "aws_session_token")),
    _Setting("region", ("fs.s3a.endpoint.region", "s3.region", "aws_region", "aws_default_region")),
    _Setting(
        "endpoint_override", ("fs.s3a.endpoint", "s3.endpoint", "aws_endpoint", "aws_endpoint_url")
    ),
    _Setting("role_arn", ("fs.s3a.assumed.role.arn", "s3.role-arn")),
    _Setting("session_name", ("fs.s3a.assumed.role.session.name", "s3.role-session-name")),
    _Setting("external_id"),
    _Setting("scheme"),
    _Setting("proxy_options", ("s3.proxy-uri",)),
    _Setting("anonymous", ("s3.anonymous", "aws_skip_signature"), bool),
    _Setting("force_virtual_addressing", ("s3.force-virtual-addressing",), bool),
    _Setting("force_virtual_addressing", ("fs.s3a.path.style.access",), bool, inverted=True),
    _Setting("connect_timeout", ("s3.connect-timeout",), float),
    _Setting("request_timeout", ("s3.request-timeout",), float),
)
_GCS = (
    _Setting("project_id", ("gcs.project-id", "fs.gs.project.id")),
    _Setting("endpoint_override", ("gcs.service.host",)),
    _Setting("target_service_account"),
    _Setting("scheme"),
    _Setting("anonymous", (), bool),
    _Setting("access_token", ("gcs.oauth2.token",)),
    _Setting("credential_token_expiration", (), float),
    _Setting("retry_time_limit", (), float),
)
_AZURE = (
    _Setting("account_name", ("adls.account-name", "azure_storage_account_name")),
    _Setting("account_key", ("adls.account-key", "azure_storage_account_key")),
    _Setting("sas_token", ("adls.sas-token", "azure_storage_sas_token")),
    _Setting("tenant_id", ("adls.tenant-id", "azure_storage_tenant_id")),
    _Setting("client_id", ("adls.client-id", "azure_storage_client_id")),
    _Setting("client_secret", ("adls.client-secret", "azure_storage_client_secret")),
    _Setting("blob_storage_authority", ("adls.blob-storage-authority",)),
    _Setting("dfs_storage_authority", ("adls.dfs-storage-authority",)),
    _Setting("blob_storage_scheme", ("adls.blob-storage-scheme",)),
    _Setting("dfs_storage_scheme", ("adls.dfs-storage-scheme",)),
)
_HDFS = (
    _Setting("host", ("hdfs.host",)),
    _Setting("port", ("hdfs.port",), float),
    _Setting("user", ("hdfs.user",)),
    _Setting("kerb_ticket", ("hdfs.kerberos_ticket",)),
)
# Arguments of fsspec's file systems.
_WEBHDFS = (
    _Setting("host"),
    _Setting("port", (), float),
    _Setting("user", ("hdfs.user",)),
    _Setting("token"),
    _Setting("proxy_to"),
    _Setting("kerberos", (), bool),
    _Setting("use_https", (), bool),
)
_OSS = (
    _Setting("key", ("fs.oss.accesskeyid",)),
    _Setting("secret", ("fs.oss.accesskeysecret",)),
    _Setting("token", ("fs.oss.securitytoken",)),
    _Setting("endpoint", ("fs.oss.endpoint",)),
)
SETTINGS = {"s3": _S3, "gs": _GCS, "abfs": _AZURE, "hdfs": _HDFS, "webhdfs": _WEBHDFS, "oss": _OSS}
# Settings of every storage on another machine, that are not passed to its file system.
CREDENTIALS_PROVIDER = "credentials_provider"
_ATTEMPTS = "attempts"
COMMON = (_Setting(CREDENTIALS_PROVIDER), _Setting(_ATTEMPTS, ("fs.s3a.attempts.maximum",), float))
_SECRET_NAME = re.compile(r"secret|token|password|account_key|account-key|\Akey\Z")


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings in variables such as ``HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key``."""
    return {
        name[len(_ENVIRONMENT_PREFIX) :].replace("_DOT_", "."): value
        for name, value in environment.items()
        if name.startswith(_ENVIRONMENT_PREFIX)
    }


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
        raise InvalidOptionError(f"storage option {_ATTEMPTS} is {attempts}; give 1 or more")
    return str(values.get(CREDENTIALS_PROVIDER, "")), attempts


def secret_values(settings: Mapping[str, Value]) -> list[str]:
    """Return the values among settings that nobody should see."""
    return [str(v) for name, v in settings.items() if v and _SECRET_NAME.search(name.lower())]


def _by_name(settings: Iterable[_Setting]) -> dict[str, _Setting]:
    return {name: s for s in settings for name in (s.argument, *s.names)}


def _arguments(
    given: Mapping[str, Value], by_name: Mapping[str, _Setting], scheme: str
) -> dict[str, Value]:
    arguments: dict[str, Value] = {}
    for name, value in given.items():
        setting = by_name.get(name.lower())
        if setting is None:
            _check_unknown(name, by_name, scheme)
            continue
        parsed = _parse(name, value, setting)
        if arguments.setdefault(setting.argument, parsed) != parsed:
            raise InvalidOptionError(f"storage option {name} contradicts another name of it")
    return arguments


def _parse(name: str, value: Value, setting: _Setting) -> Value:
    if setting.kind is float:
        try:
            number = float(value)
        except ValueError:
            raise InvalidOptionError(f"storage option {name} is {value!r}; give a number") from None
        return int(number) if number.is_integer() else number
    if setting.kind is bool:
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise InvalidOptionError(f"storage option {name} is {value!r}; give true or false")
        return (text == "true") != (setting.inverted and name.lower() != setting.argument)
    return str(value)


def _check_unknown(name: str, by_name: Mapping[str, _Setting], scheme: str) -> None:
    of_others = {known for settings in SETTINGS.values() for known in _by_name(settings)}
    if name.lower().startswith(_FOREIGN_PREFIXES) and name.lower() in of_others:
        return  # meant for another storage
    near = difflib.get_close_matches(name.lower(), by_name, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else ""
    if name.lower().startswith(_FOREIGN_PREFIXES):
        # Hadoop has hundreds of settings, most of which only mean something to its own client.
        text = f"storage option {name} is ignored: pyarrow has no such setting{hint}"
        warnings.warn(text, UserWarning, stacklevel=2)
        return
    known = ", ".join(dict.fromkeys(s.argument for s in by_name.values()))
    # Values are secrets: no message has them.
    raise InvalidOptionError(
        f"unknown storage option {name!r} for {scheme}{hint} (known: {known}, and names of Hadoop, "
        "PyIceberg and hudi-rs for them)"
    )
