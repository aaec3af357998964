"""Texts of other libraries are shown without secrets, and otherwise as they are."""

import errno
import pickle

import pytest

from hudi_pyspark.errors import InvalidOptionError, MissingFileError, StorageAccessError
from hudi_pyspark.storage.masking import mask
from hudi_pyspark.storage.options import secret_values
from hudi_pyspark.storage.retries import RetryPolicy
from hudi_pyspark.storage.stores.azure import AZURE
from hudi_pyspark.storage.stores.s3 import S3

SECRET = "K3sig+abc/def="
TOKEN = f"sv=2024-11-04&se=2030-01-01&sr=c&sp=rl&sig={SECRET}"
ENCODED = "K3sig%2Babc%2Fdef%3D"


@pytest.mark.parametrize(
    "text",
    [
        "GET /c/t?se=2030&sig=SECRET%2Babc%3D&sv=2024 failed",
        "'https://h/c?a=1&Sig=SECRET' is gone",
        "https://h/k?X-Amz-Date=1&X-Amz-Signature=SECRET&x=1",
        "https://h/k?X-Amz-Security-Token=SECRET%2F+",
        "AWS4-HMAC-SHA256 Credential=AKID/x, Signature=SECRET",
        "cannot parse 'http://me:SECRET|^@host:badport'",
        "Authorization: Bearer SECRET.J9-_x was refused",
        '{"access_token": "SECRET", "expires": 3}',
        "op=OPEN&user.name=SECRET&delegation=SECRET&doas=SECRET&offset=0",
    ],
)
def test_secrets_are_known_by_what_they_are_called(text):
    shown = mask(text)
    assert "SECRET" not in shown
    assert shown.startswith(text.partition("SECRET")[0][:4])
    assert mask(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "No such key: part=1/sign=2/assigned=3/f.parquet",
        "the signature does not match; password: expired",
        "s3://lake/a@b:c/f.parquet and hdfs://host:9000/t",
        "basic authentication is off",
    ],
)
def test_other_texts_stay_as_they_are(text):
    assert mask(text, ["very-secret"]) == text


@pytest.mark.parametrize("text", [SECRET, ENCODED, f"signature {SECRET} is not valid", TOKEN])
@pytest.mark.parametrize("given", [TOKEN, f"?{TOKEN}", f"?sig={ENCODED}&sv=2024-11-04"])
def test_signature_of_a_token_is_cut_out_however_it_is_spelled(text, given):
    shown = mask(f"failed: {text}", secret_values(AZURE, {"sas_token": given}))
    assert "K3sig" not in shown
    assert shown.startswith("failed: ")


@pytest.mark.parametrize(
    ("secret", "text", "shown"),
    [
        ("b", "no bucket b here", "no bucket *** here"),
        ("key", "NO_SUCH_KEY: key of monkeys", "NO_SUCH_KEY: *** of monkeys"),
        ("minio12", "'minio12' is wrong", "'***' is wrong"),
        ("long-secret", "xlong-secretx", "x***x"),
    ],
)
def test_short_secrets_are_cut_out_as_whole_words(secret, text, shown):
    assert mask(text, [secret]) == shown


def test_short_secret_that_is_part_of_the_path_stays():
    assert mask("key 'lake/t' in bucket 'lake'", ["lake"], "s3://lake/t").count("lake") == 2


@pytest.mark.parametrize("name", ["secret_key", "proxy_options", "endpoint_override"])
def test_passwords_of_settings_are_secrets(name):
    value = "very-secret" if name == "secret_key" else "http://me:very-secret@host:1"
    assert mask("it is very-secret", secret_values(S3, {name: value})) == "it is ***"


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("cannot open very-secret"),
        FileNotFoundError(errno.ENOENT, "gone", "/x?sig=very-secret"),
        IsADirectoryError(errno.EISDIR, "very-secret"),
        NotADirectoryError("very-secret"),
        NotImplementedError("very-secret"),
        ImportError("very-secret"),
        PermissionError("very-secret"),
        ValueError("very-secret"),
        KeyError("very-secret"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "very-secret"),
        InvalidOptionError("very-secret"),
        MissingFileError("very-secret"),
        StorageAccessError("s3://lake/t", "very-secret"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_passes_with_a_secret(error):
    def fail():
        raise error from ValueError("very-secret")

    with pytest.raises(Exception, match=r"\*\*\*") as caught:
        RetryPolicy(1, ["very-secret"]).run(fail, "s3://lake/t")
    shown = caught.value
    assert "very-secret" not in f"{shown} {shown!r} {shown.__cause__!r}"
    assert shown.__suppress_context__
    assert str(pickle.loads(pickle.dumps(shown))) == str(shown)
    if isinstance(error, OSError) and not isinstance(error, PermissionError):
        assert isinstance(shown, type(error))
