"""Storage options: the settings of a storage by any of their names.

Each becomes an argument of a file system of pyarrow or fsspec.
"""

from collections.abc import Iterable, Mapping

from hudi_pyspark.errors import InvalidOptionError
from hudi_pyspark.messages import warn
from hudi_pyspark.storage.stores import STORES, Store
from hudi_pyspark.storage.stores.setting import (
    ATTEMPTS,
    COMMON,
    CREDENTIALS_PROVIDER,
    Options,
    Setting,
    Value,
)
from hudi_pyspark.wording import did_you_mean

_ENVIRONMENT_PREFIX = "HOODIE_ENV_"
SPARK_PREFIX = "storage."  # marks a storage option among read options
CATALOG_PREFIX = "catalog."  # marks a setting of a catalog among read options
# Names of Hadoop, PyIceberg, delta-rs and polars, which need no mark among read options.
_FOREIGN_PREFIXES = ("fs.", *(prefix for store in STORES for prefix in store.prefixes))
# Settings of delta-rs and polars without an effect on reads: the endpoint's scheme decides on http.
_IGNORED = {"allow_http", *(name for store in STORES for name in store.ignored_settings)}


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options in variables like ``HOODIE_ENV_fs_DOT_s3a_DOT_access_DOT_key``.

    Keys of the result are names of options, such as ``fs.s3a.access.key``.
    """
    settings = without_prefix(environment, _ENVIRONMENT_PREFIX)
    return {name.replace("_DOT_", "."): value for name, value in settings.items()}


def without_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the settings whose names begin with a prefix, and remove the prefix."""
    return {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}


def check_names(options: Iterable[str]) -> None:
    """Check that each option is one of some storage, under any of its names, in any case.

    Raises:
        InvalidOptionError: no storage has an option.
    """
    by_name = _by_name(*COMMON, *_settings_of_all())
    for name in options:
        if name.lower() not in by_name:
            _refuse_unknown(name, by_name, "all storages")


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


def file_system_arguments(store: Store, options: Options, environment: Options) -> Options:
    """Return the arguments for the file system of a store.

    Args:
        store: some get ``options`` as they are.
        options: storage options by any of their names, in any case. They win over ``environment``.
        environment: storage options of the process; those of other storages are ignored.

    Raises:
        InvalidOptionError: the store does not have an option, an option has a wrong value, or two
            names of an option have different values.
    """
    common = _by_name(*COMMON)
    options = {name: value for name, value in options.items() if name.lower() not in common}
    if store.takes_any_setting:
        return options
    return _arguments(store.settings, store, options, environment)


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
    common = _by_name(*COMMON)
    options = {name: value for name, value in options.items() if name.lower() in common}
    values = _arguments(COMMON, None, options, environment)
    attempts = values.get(ATTEMPTS, 0)
    if not isinstance(attempts, int) or attempts < (ATTEMPTS in values):
        raise InvalidOptionError(f"storage option {ATTEMPTS}: give a whole number, 1 or more")
    return str(values.get(CREDENTIALS_PROVIDER, "")), attempts


def secret_values(store: Store, options: Options) -> list[str]:
    """Return the values of options that must not be shown: secrets, and passwords in URIs.

    An option that the store does not know counts as a secret.
    """
    by_name = _by_name(*COMMON, *store.settings)
    secrets = [
        str(value)
        for name, value in options.items()
        if value and ((setting := by_name.get(name.lower())) is None or setting.is_secret)
    ]
    for value in map(str, options.values()):
        user, _, _ = value.rpartition("@")
        _, _, password = user.rpartition("//")[2].partition(":")
        secrets += [password] if password else []
    return secrets


def _settings_of_all() -> Iterable[Setting]:
    return (setting for store in STORES for setting in store.settings)


def _by_name(*settings: Setting) -> dict[str, Setting]:
    return {name: setting for setting in settings for name in setting.names}


def _arguments(
    settings: tuple[Setting, ...], store: Store | None, options: Options, environment: Options
) -> dict[str, Value]:
    """Parse options, and the environment's options that the storage knows; given ones win."""
    by_name = _by_name(*settings)
    defaults = {name: value for name, value in environment.items() if name.lower() in by_name}
    return {**_parse_all(defaults, by_name, store), **_parse_all(options, by_name, store)}


def _parse_all(
    options: Options, by_name: Mapping[str, Setting], store: Store | None
) -> dict[str, Value]:
    arguments: dict[str, Value] = {}
    names: dict[str, str] = {}
    for name, value in options.items():
        setting = by_name.get(name.lower())
        if setting is None:
            _check_unknown(name, by_name, store)
            continue
        parsed = setting.parse(name, value)
        if parsed == "":
            continue
        argument = setting.argument
        first_name = names.setdefault(argument, name)
        if arguments.setdefault(argument, parsed) != parsed:
            raise InvalidOptionError(
                f"storage option {argument} is set twice with different values ({first_name}, "
                f"{name}): leave one of them out"
            )
    return arguments


def _check_unknown(name: str, by_name: Mapping[str, Setting], store: Store | None) -> None:
    """Refuse an option that a store does not have, unless it is harmless.

    Raises:
        InvalidOptionError: the option has no meaning for any client.
    """
    if store and (reason := store.refused_settings.get(name.lower())):
        raise InvalidOptionError(f"storage option {name}: {reason}")
    _refuse_unknown(name, by_name, store.scheme if store else "any storage")


def _refuse_unknown(name: str, by_name: Mapping[str, Setting], scheme: str) -> None:
    if name.lower() in _IGNORED:
        return
    hint = did_you_mean(name.lower(), by_name)
    if name.lower().startswith(_FOREIGN_PREFIXES):
        if name.lower() in _by_name(*_settings_of_all()):
            return  # meant for another storage
        # Hadoop has hundreds of settings, most of which only mean something to its own client.
        warn(f"storage option {name} is ignored: pyarrow has no such setting{hint}")
        return
    # The message must not contain the value, which may be a secret.
    known = dict.fromkeys(setting.argument for setting in by_name.values())
    raise InvalidOptionError(
        f"unknown storage option {name!r} for {scheme}{hint} (known: {', '.join(known)}, and their "
        "names in Hadoop, PyIceberg, delta-rs and polars)"
    )
