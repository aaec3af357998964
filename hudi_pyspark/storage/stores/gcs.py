"""Google Cloud Storage."""

import os
import re
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from hudi_pyspark.errors import StorageAccessError
from hudi_pyspark.storage import hosts
from hudi_pyspark.storage.file_systems import ArrowFileSystem, FileSystem
from hudi_pyspark.storage.stores.setting import Form, Setting
from hudi_pyspark.storage.stores.store import Authority, Store

_RETRY_SECONDS = 10  # for which its client repeats a request; its default is 15 minutes
_METADATA_SERVICE = "metadata.google.internal"  # answers on machines of Google, which have accounts
_KEY_FILE = (
    "the key of a service account is read from a file whose path is in the environment variable "
    "GOOGLE_APPLICATION_CREDENTIALS; set it on every machine, or give access_token"
)
_KEY_FILE_NAMES = (
    "service_account",
    "service_account_path",
    "service_account_key",
    "application_credentials",
)


def _connect(_scheme: str, authority: str, arguments: dict[str, Any]) -> FileSystem:
    protocol, separator, host = str(arguments.get("endpoint_override", "")).partition("://")
    if separator:
        arguments.update(scheme=protocol, endpoint_override=host)
    if not (arguments.get("access_token") or arguments.get("anonymous") or _has_identity()):
        raise StorageAccessError(
            f"gs://{authority}",
            "there are no credentials. Give the storage option access_token (or "
            "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, an account of "
            "the machine), or anonymous=true for a public bucket",
        )
    limit = timedelta(seconds=arguments.pop("retry_time_limit", _RETRY_SECONDS))
    expires_at = arguments.pop("credential_token_expiration", None) or time.time() + 3600
    if "access_token" in arguments:  # pyarrow requires the time when a token expires
        end = datetime.fromtimestamp(float(expires_at), timezone.utc)
        arguments["credential_token_expiration"] = end
    return ArrowFileSystem(pafs.GcsFileSystem(retry_time_limit=limit, **arguments))


def _has_identity() -> bool:
    """Return whether Google's client will find credentials.

    The client itself waits a minute if the machine is not one of Google.
    """
    home = os.environ.get("HOME")  # all that the client looks at
    folder = os.environ.get("APPDATA") or (f"{home}/.config" if home else "")
    has_login = Path(folder, "gcloud/application_default_credentials.json").exists()
    is_named = bool(os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"))
    if is_named or (folder and has_login) or hosts.is_proxied():
        return True
    service = os.environ.get("GCE_METADATA_ROOT") or _METADATA_SERVICE
    return not hosts.connection_problem(service, 80, 1)


GCS = Store(
    scheme="gs",
    other_schemes=("gcs",),
    authority=Authority.BUCKET,
    has_empty_folders=False,
    connect=_connect,
    settings=(
        Setting("project_id", "fs.gs.project.id gcs.project-id"),
        Setting("endpoint_override", "gcs.service.host", Form.ENDPOINT),
        Setting("target_service_account"),
        Setting("scheme", form=Form.PROTOCOL),
        Setting("anonymous", "google_skip_signature skip_signature", Form.SWITCH),
        Setting("access_token", "gcs.oauth2.token", is_secret=True),
        Setting("credential_token_expiration", form=Form.SECONDS),
        Setting("retry_time_limit", form=Form.SECONDS),
    ),
    prefixes=("gcs.", "google_"),
    refused_settings={
        f"{prefix}{name}": _KEY_FILE for name in _KEY_FILE_NAMES for prefix in ("", "google_")
    },
    variables=("GOOGLE_",),
    endpoint_of=lambda arguments: str(arguments.get("endpoint_override") or ""),
    endpoint_setting="endpoint_override",
    answer=re.compile(
        r"google::cloud::Status\((\w+):(?:.*(?:http_status_code=|HTTP status code: )(\d+))?",
        re.DOTALL,
    ),
    hadoop_prefix="fs.gs.",
)
