"""Checks once per table that the store rejects a conditional put of an object that exists.

A store that ignores `If-None-Match: *` accepts both of two commits with one number, and one of them is lost without an
error. Neither Arrow nor delta-rs can show this, so two requests are signed here (AWS Signature Version 4).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import quote, urlsplit

from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.open_table import StoreError
from signalbox.pipeline.object_store.settings import REQUEST_TIMEOUT_SECONDS, StoreSettings

_BODY = b"signalbox: may be deleted"


def signed(
    settings: StoreSettings, method: str, path: str, headers: Mapping[str, str], body: bytes, now: datetime
) -> dict[str, str]:
    """The headers of a request with its signature. `headers` have lower-case names, `host` among them; `path` is
    quoted."""
    assert settings.access_key is not None
    assert settings.secret_key is not None
    payload = hashlib.sha256(body).hexdigest()
    time = now.strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "x-amz-content-sha256": payload, "x-amz-date": time}
    if settings.session_token is not None:
        sent["x-amz-security-token"] = settings.session_token
    names = ";".join(sorted(sent))
    canonical = "\n".join([method, path, "", *(f"{name}:{sent[name]}" for name in sorted(sent)), "", names, payload])
    scope = (time[:8], settings.region, "s3", "aws4_request")
    text = "\n".join(["AWS4-HMAC-SHA256", time, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{settings.secret_key}".encode()
    for part in (*scope, text):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"{settings.access_key}/{'/'.join(scope)}"
    sent["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={key.hex()}"
    return sent


def _request(settings: StoreSettings, method: str, location: S3Location, headers: Mapping[str, str]) -> int:
    """The status of a request for an object."""
    address = urlsplit(settings.endpoint or f"https://s3.{settings.region}.amazonaws.com")
    in_host = settings.virtual_hosted or settings.endpoint is None
    host = f"{location.bucket}.{address.netloc}" if in_host else address.netloc
    path = quote(f"/{location.key}" if in_host else f"/{location.path}")
    body = _BODY if method == "PUT" else b""
    connect = HTTPConnection if address.scheme == "http" else HTTPSConnection
    connection = connect(host, timeout=REQUEST_TIMEOUT_SECONDS)
    try:
        now = datetime.now(UTC)
        connection.request(method, path, body, signed(settings, method, path, {**headers, "host": host}, body, now))
        return connection.getresponse().status
    finally:
        connection.close()


def conditional_put_statuses(settings: StoreSettings, location: S3Location) -> list[int]:
    """The statuses of two conditional puts of one object, which is deleted then."""
    statuses = [_request(settings, "PUT", location, {"if-none-match": "*"}) for _ in range(2)]
    _request(settings, "DELETE", location, {})
    return statuses


def reject_unconditional_store(warehouse: TableLocation) -> None:
    """Raises StoreError if the warehouse's store accepts two conditional puts of one object. Other failures are left to
    the requests that follow; a login that is not in the environment cannot be checked."""
    settings = StoreSettings.of_environment(os.environ)
    if not isinstance(warehouse, S3Location) or settings.access_key is None:
        return
    location = warehouse / f".signalbox-conditional-write-{uuid.uuid4().hex}"
    with suppress(OSError, HTTPException):
        if conditional_put_statuses(settings, location) == [200, 200]:
            raise StoreError(
                f"{warehouse}: the store ignores conditional writes (If-None-Match: *), so that one of two commits "
                "at the same time would be lost: use a store that supports them"
            )
