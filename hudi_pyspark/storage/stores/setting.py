"""A setting of a store: its names, and the form of its value."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from urllib.parse import urlsplit

from hudi_pyspark.errors import InvalidOptionError

Value = str | bool | float
Options = Mapping[str, Value]  # storage options by name, or arguments of a file system

HOST_AND_PORT: Final = "give host or host:port, with a port of at most 65535"
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f]")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_URI_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")


class Form(Enum):
    """What the value of a setting looks like."""

    TEXT = auto()
    SWITCH = auto()
    COUNT = auto()
    SECONDS = auto()
    PORT = auto()
    PROTOCOL = auto()
    ENDPOINT = auto()
    AUTHORITY = auto()
    PROXY = auto()
    BASE64 = auto()


# The seconds of an expiration are a time of the next three centuries.
_LARGEST = {Form.SECONDS: 10_000_000_000, Form.COUNT: 10_000_000_000, Form.PORT: 65_535}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that becomes an argument of a file system of pyarrow or fsspec."""

    argument: str
    other_names: str = ""  # in Hadoop, PyIceberg, delta-rs, polars; separated by blanks
    form: Form = Form.TEXT
    is_secret: bool = False
    opposite: str = ""  # the one of its other names whose value means the opposite

    @property
    def names(self) -> list[str]:
        """All names of the setting, in lower case."""
        return [self.argument, *self.other_names.lower().split()]

    def parse(self, name: str, value: Value) -> Value:
        """Return the value of the setting as its file system takes it; "" if it is not set.

        Args:
            name: the one of its names by which it is given, in any case.
            value: as it is given, often as text.

        Raises:
            InvalidOptionError: the value is not a number or a switch, but has to be one. The
                message does not contain the value, which may be a secret.
        """
        if self.form in _LARGEST:
            return self._number(name, str(value), _LARGEST[self.form])
        if self.form is Form.SWITCH:
            text = str(value).strip().lower()
            if text not in ("true", "false"):
                raise InvalidOptionError(f"storage option {name}: give true or false")
            return (text == "true") != (name.lower() == self.opposite)
        return str(value).strip()  # secrets that are read from files end with a line break

    def _number(self, name: str, text: str, largest: int) -> float:
        try:
            number = float(text.removesuffix("s") if self.form is Form.SECONDS else text)  # 30s
        except ValueError:
            raise InvalidOptionError(f"storage option {name}: give a number") from None
        if not 0 <= number <= largest:
            raise InvalidOptionError(f"storage option {name}: give a number from 0 to {largest}")
        return int(number) if number.is_integer() else number

    def problem_of(self, value: str) -> str:
        """Return why no client understands a value; "" if nothing is wrong with its form."""
        if _UNPRINTED.search(value):
            return "it contains a line break or another control character"
        is_right, advice = _CHECKS.get(self.form, (None, ""))
        return advice if is_right and not is_right(value) else ""


def is_endpoint(uri: str) -> bool:
    """Return whether a URI has a host, and either a valid port or none."""
    try:
        parts = urlsplit(uri)
        return bool(parts.netloc and _URI_CHARACTERS.fullmatch(uri)) and parts.port != 0
    except ValueError:  # also if an IPv6 address lacks a bracket
        return False


def _is_url(value: str) -> bool:
    return value.startswith(("http://", "https://"))


# By form: whether a value has it, and what else to give.
_CHECKS: Mapping[Form, tuple[Callable[[str], bool], str]] = {
    Form.PROTOCOL: (lambda value: value in ("http", "https"), "give http or https"),
    Form.ENDPOINT: (
        lambda value: is_endpoint(value if _is_url(value) else f"//{value}"),
        HOST_AND_PORT,
    ),
    Form.AUTHORITY: (
        lambda value: not _is_url(value) and is_endpoint(f"//{value}"),
        HOST_AND_PORT,
    ),
    Form.PROXY: (
        lambda value: _is_url(value) and is_endpoint(value),
        (
            "give http://host:port or http://user:password@host:port; in user and password, "
            "characters other than letters, digits and -._~ are written as %40"
        ),
    ),
    Form.BASE64: (
        lambda value: _BASE64.fullmatch(value) is not None,
        "it is not Base64: give the whole key, with the = signs at its end",
    ),
}

CREDENTIALS_PROVIDER: Final = "credentials_provider"
ATTEMPTS: Final = "attempts"
COMMON: Final = (
    Setting(CREDENTIALS_PROVIDER),
    Setting(ATTEMPTS, "fs.s3a.attempts.maximum", Form.COUNT),
)
"""The settings of every store on another machine, which its file system does not get."""
