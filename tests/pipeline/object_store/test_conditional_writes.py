"""A store that would lose commits is found before it has a table."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from signalbox.pipeline.object_store.conditional_writes import (
    conditional_put_statuses,
    reject_unconditional_store,
    signed,
)
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.open_table import StoreError
from signalbox.pipeline.object_store.settings import StoreSettings
from tests.pipeline.json_server import JsonHandler, served
from tests.pipeline.object_store.store_server import StoreServer, compiled_server

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P10")


def test_a_request_has_the_signature_of_awss_example() -> None:
    settings = StoreSettings(access_key="AKIAIOSFODNN7EXAMPLE", secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    headers = {"host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9"}
    sent = signed(settings, "GET", "/test.txt", headers, b"", datetime(2013, 5, 24, tzinfo=UTC))
    assert sent["x-amz-content-sha256"] == hashlib.sha256(b"").hexdigest()
    assert sent["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    )


class _IgnoresConditions(JsonHandler):
    """Accepts every request."""

    requests: list[str] = []

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.requests.append(f"PUT {self.headers['If-None-Match']} {self.headers['X-Amz-Security-Token']}")
        self.answer({})

    def do_DELETE(self) -> None:
        self.requests.append("DELETE")
        self.answer({})


class _Fails(_IgnoresConditions):
    """Is overloaded."""

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({}, status=503)


def _environment(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    login = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c"}
    for name, value in {**login, "AWS_ENDPOINT_URL": address}.items():
        monkeypatch.setenv(name, value)


def test_a_store_that_ignores_conditions_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(_IgnoresConditions) as address:
        _environment(monkeypatch, address)
        with pytest.raises(StoreError, match="s3://lake/tables: the store ignores conditional writes"):
            reject_unconditional_store(S3Location("lake", "tables"))
    assert _IgnoresConditions.requests == ["PUT * c", "PUT * c", "DELETE"]


def test_what_cannot_be_checked_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(_Fails) as address:
        _environment(monkeypatch, address)
        reject_unconditional_store(S3Location("lake"))
    reject_unconditional_store(S3Location("lake"))  # no connection
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    reject_unconditional_store(S3Location("lake"))
    reject_unconditional_store(Path("lake"))


def test_a_store_with_conditions_passes_and_keeps_nothing(store: StoreServer, store_warehouse: S3Location) -> None:
    settings = StoreSettings.of_environment(store.environment)
    assert conditional_put_statuses(settings, store_warehouse / "a b+c") == [200, 412]
    reject_unconditional_store(store_warehouse)
    assert [path for path in (store.folder / store_warehouse.path).rglob("*") if path.is_file()] == []
