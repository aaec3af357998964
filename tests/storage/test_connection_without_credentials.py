"""Clouds without credentials: one line before a client searches for them."""

import pytest

from hudi_pyspark.errors import StorageAccessError
from hudi_pyspark.storage import ArrowStorage


@pytest.mark.parametrize(
    ("location", "option"),
    [
        ("abfss://box@acme.dfs.core.windows.net/t", "account_key"),
        ("gs://lake/t", "access_token"),
    ],
)
def test_error_names_the_options_that_are_missing(location, option, monkeypatch, tmp_path, capfd):
    for variable in ("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # no az
    monkeypatch.setattr(
        "hudi_pyspark.storage.hosts.connection_problem", lambda *_: "no machine's identity"
    )
    with pytest.raises(StorageAccessError, match=f"there are no credentials.*{option}") as found:
        ArrowStorage.parse(location).read_bytes("f")
    assert "\n" not in str(found.value)
    assert capfd.readouterr().err == ""
