"""Cut secrets out of texts that other libraries wrote, by value and by form."""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

from hudi_pyspark.errors import HudiError

_HIDDEN = "***"
_LONG = 8  # characters; a shorter secret may be part of an ordinary word
# Clients sign, encode and sort the parameters of a URL, so their texts may not contain the value
# of a secret. The first parameters are of WebHDFS, whose name node issues its own tokens.
_PARAMETERS = re.compile(
    r"\b(delegation|user\.name|doas|sig|signature|x-amz-signature|x-amz-security-token|"
    r"x-goog-signature|access_?token|refresh_?token|client_?secret|account_?key|"
    r"secret_?access_?key|password)(=|%3D|[\"']\s?:\s?[\"'])[^&\s'\"<>),;]+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(Bearer|Basic) [\w.~+/=-]+")
_USERS = re.compile(r"(?<=://)[^/\s'\"@]*:[^/\s'\"]*@")  # user:password@
_SIGNATURE = re.compile(r"\bsig=([^&]+)")


def mask(text: str, secrets: Iterable[str] = (), place: str = "") -> str:
    """Replace each secret in a text by ``***``.

    Args:
        text: written by another library.
        secrets: values to hide, both as they are and as URLs spell them. Tokens, passwords and
            signatures in well-known parameters and headers are hidden as well.
        place: the file or folder, which messages show anyway; a short secret that is part of it
            stays.
    """
    for secret in sorted({s for one in secrets for s in _spellings(one)}, key=len, reverse=True):
        if len(secret) >= _LONG:
            text = text.replace(secret, _HIDDEN)
        elif secret not in place:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", _HIDDEN, text)
    text = _PARAMETERS.sub(rf"\1\2{_HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {_HIDDEN}", text)
    return _USERS.sub(f"{_HIDDEN}@", text)


def masked_error(error: Exception, secrets: Iterable[str] = (), place: str = "") -> Exception:
    """Return an error whose text contains no secret; see `mask` for the arguments.

    An error without secrets is returned unchanged. Otherwise the result is a new error: of the same
    class if that is a HudiError, OSError, ImportError or NotImplementedError, else an OSError.
    """
    secrets = list(secrets)

    def masked(part: object) -> object:
        return mask(part, secrets, place) if isinstance(part, str) else part

    text = masked(str(error))
    if text == str(error):
        return error
    if isinstance(error, HudiError):  # which keeps nothing but its arguments
        make: Callable[..., HudiError] = type(error)
        return make(*map(masked, error.args))
    if isinstance(error, OSError):
        parts = (masked(error.strerror or str(error)), masked(error.filename or place))
        return type(error)(error.errno or errno.EIO, *parts)
    error_class = type(error) if isinstance(error, ImportError | NotImplementedError) else OSError
    return error_class(text)


def _spellings(secret: str) -> Iterator[str]:
    """Yield the forms in which a text may contain a secret, or the signature inside it."""
    for part in (secret, *_SIGNATURE.findall(secret)):
        for value in (part, part.strip(), unquote(part)):
            yield from (text for text in (value, quote(value, safe=""), quote_plus(value)) if text)
