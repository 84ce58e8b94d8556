"""Failures of a store become one sentence that names the table and what to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.open_table import (
    StoreError,
    file_system,
    open_table,
    storage_options,
    store_error,
    store_faults,
    table_exists,
)
from signalbox.pipeline.sinks.delta_log import ensure_table, read_table
from tests.pipeline.object_store.flaky_store import flaky_store
from tests.pipeline.object_store.store_server import SECRET_KEY, StoreServer, compiled_server
from tests.pipeline.sinks.test_delta_log import struct

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P10")
TABLE = S3Location("lake", "flights")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation", "there is no bucket lake: create it"),
        ("PUT http://169.254.169.254/latest/api/token", "there is no login: set AWS_ACCESS_KEY_ID"),
        ("403 Forbidden <Code>SignatureDoesNotMatch</Code>", "the store rejects the login"),
        ("AWS Error ACCESS_DENIED during PutObject", "the user of AWS_ACCESS_KEY_ID has no access"),
        ("301 Moved Permanently", "another region than us-east-1: set AWS_REGION"),
        ("AWS Error SLOW_DOWN during PutObject operation", "the store answers with errors"),
        ("Server returned non-2xx status code 503 Service Unavailable", "the store answers with errors"),
        ("client error (Connect) tcp connect error", "cannot be reached, or does not answer in time"),
        ("AWS Error NETWORK_CONNECTION during CreateMultipartUpload", "check AWS_ENDPOINT_URL"),
    ],
)
def test_the_reason_of_a_failure(text: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    error = store_error(TABLE, text)
    assert error is not None
    assert str(error).startswith("s3://lake/flights: ")
    assert reason in str(error)


def test_other_failures_stay_as_they_are(tmp_path: Path) -> None:
    assert store_error(TABLE, "Invalid JSON in log entry") is None
    with pytest.raises(DeltaError, match="Invalid"), store_faults(TABLE):
        raise DeltaError("Invalid JSON in log entry")
    with pytest.raises(OSError, match="timed out"), store_faults(tmp_path):
        raise OSError("timed out")


def test_a_folder_needs_no_settings(tmp_path: Path) -> None:
    assert storage_options(tmp_path) is None
    assert not table_exists(tmp_path)
    ensure_table(tmp_path / "t", struct(a="long"))
    assert (table_exists(tmp_path / "t"), open_table(tmp_path / "t").version()) == (True, 0)
    assert file_system(tmp_path).get_file_info("t").is_file is False


def test_a_store_that_cannot_be_used_is_named(
    store: StoreServer, store_warehouse: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not table_exists(store_warehouse / "t")
    ensure_table(store_warehouse / "t", struct(a="long"))
    assert read_table(store_warehouse / "t").num_rows == 0
    with pytest.raises(StoreError, match="s3://no-bucket/t: there is no bucket no-bucket: create it"):
        table_exists(S3Location("no-bucket", "t"))
    with monkeypatch.context() as other:
        other.setenv("AWS_SECRET_ACCESS_KEY", "0ther")
        with pytest.raises(StoreError, match="the store rejects the login") as rejected:
            open_table(store_warehouse / "t")
        assert "0ther" not in str(rejected.value)
        assert SECRET_KEY not in str(rejected.value)
    with monkeypatch.context() as other:
        other.setenv("AWS_MAX_ATTEMPTS", "2")
        other.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        with pytest.raises(StoreError, match=r"the store http://127.0.0.1:1 cannot be reached"):
            open_table(store_warehouse / "t")


def test_a_store_that_is_overloaded_for_a_while_delays_and_one_that_stays_so_ends_the_request(
    store: StoreServer, store_warehouse: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = store_warehouse / "t"
    ensure_table(table, struct(a="long"))
    with flaky_store(store.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        proxy.set(failing=3)
        assert open_table(table).version() == 0
        assert proxy.set()["rejected"] == 3
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
        proxy.set(failing=1000)
        with pytest.raises(StoreError, match="the store answers with errors"):
            open_table(table)
        proxy.set()
        assert open_table(table).version() == 0
