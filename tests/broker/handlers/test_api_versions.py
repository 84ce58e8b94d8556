"""ApiVersions: which requests are rejected, the order of the checks, and the response at each version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest, RawResponse
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.common.clock import ManualClock
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.feature_levels import FinalizedFeatures
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import RequestHeader, decode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.broker.handler_requests import RecordingAuditSink, context, request_of, response_to

NAMED: Mapping[str, Any] = {"client_software_name": "test-client", "client_software_version": "1.0"}


def handler(
    sink: RecordingAuditSink | None = None, forced: bool = False, cache: MetadataCache | None = None
) -> ApiVersionsHandler:
    misroutes = MisrouteLog(MetricRegistry(), sink or RecordingAuditSink(), ManualClock())
    advertised, software = AdvertisedVersions(None, forced), ClientSoftware(MetricRegistry())
    return ApiVersionsHandler(advertised, ("cluster", 1), misroutes, cache or MetadataCache(), software)


def ask(
    version: int, who: Any = None, sink: RecordingAuditSink | None = None, forced: bool = False, **fields: Any
) -> Any:
    return response_to(handler(sink, forced), request_of(ApiVersionsRequest(**fields), version, who))


@pytest.mark.parametrize("version", range(6))
def test_the_table(version: int) -> None:
    response = ask(version, **(NAMED if version >= 3 else {}))
    ranges = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert (response.error_code, ranges[ApiKey.API_VERSIONS], ranges[ApiKey.PRODUCE]) == (0, (0, 5), (0, 13))
    assert response.finalized_features_epoch == -1


def test_a_long_name_of_a_software_is_cut() -> None:
    """The connection keeps it, and a client may send 32 KiB before it has logged in."""
    who = context()
    assert ask(3, who, client_software_name="n" * 32_000, client_software_version="v" * 101).error_code == 0
    assert (who.client_software_name, who.client_software_version) == ("n" * 100 + "...", "v" * 100 + "...")


SUPPORTED = [("signalbox.version", 1, 1), ("transaction.version", 1, 2)]


def test_finalized_features_are_returned() -> None:
    cache = MetadataCache()
    made = handler(cache=cache)

    def described(version: int) -> tuple[list[tuple[str, int, int]], int, list[tuple[str, int]]]:
        response = response_to(made, request_of(ApiVersionsRequest(**(NAMED if version >= 3 else {})), version))
        decoded = ApiVersionsResponse.decode(b"".join(map(bytes, response.encode_chunks(version))), version)
        supported = [(each.name, each.min_version, each.max_version) for each in decoded.supported_features]
        levels = [(each.name, each.max_version_level) for each in decoded.finalized_features]
        return supported, decoded.finalized_features_epoch, levels

    assert described(4) == (SUPPORTED, -1, [])
    assert described(2) == ([], -1, [])
    cache.apply_features(FinalizedFeatures({"signalbox.version": 1}, 3, True))
    assert described(4) == (SUPPORTED, 3, [("signalbox.version", 1)])
    cache.apply_features(FinalizedFeatures({}, 4, True))
    assert described(3) == (SUPPORTED, 4, [])


@pytest.mark.parametrize("version", [6, 32767, -1])
def test_an_unknown_version_gets_a_response_of_version_0_without_decoding_the_body(version: int) -> None:
    request = ApiRequest(RequestHeader(ApiKey.API_VERSIONS, version, 7, "c"), None, context(), b"", 0.0)
    response = handler()(request)
    assert isinstance(response, RawResponse)
    assert decode_response_header(response.payload, ApiKey.API_VERSIONS, 0) == (7, 4)
    body = ApiVersionsResponse.decode(response.payload, 0, 4)
    [own] = body.api_keys
    assert (body.error_code, own.api_key, own.min_version, own.max_version) == (35, 18, 0, 5)


@pytest.mark.spec("R1")
@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, Error.NONE),
        ("cluster", 1, Error.NONE),
        ("cluster", -1, Error.INVALID_REQUEST),
        (None, 1, Error.INVALID_REQUEST),
        (None, 0, Error.INVALID_REQUEST),
        ("other", -1, Error.INVALID_REQUEST),  # an incomplete identity is invalid, even with the wrong cluster id
        ("cluster", 2, Error.REBOOTSTRAP_REQUIRED),
        ("other", 1, Error.REBOOTSTRAP_REQUIRED),
        ("Cluster", 1, Error.REBOOTSTRAP_REQUIRED),
        ("", 1, Error.REBOOTSTRAP_REQUIRED),  # an empty cluster id is not null and not this cluster's
        ("", -1, Error.INVALID_REQUEST),
        ("c" * 32_000, 1, Error.REBOOTSTRAP_REQUIRED),
        ("cluster", -2, Error.REBOOTSTRAP_REQUIRED),  # only -1 is no node id
        (None, -2, Error.INVALID_REQUEST),
    ],
)
def test_identities(cluster_id: str | None, node_id: int, error: Error) -> None:
    sink = RecordingAuditSink()
    response = ask(5, sink=sink, cluster_id=cluster_id, node_id=node_id, **NAMED)
    assert response.error_code == error
    assert bool(response.api_keys) == (error is Error.NONE)
    assert len(sink.events) == (error is Error.REBOOTSTRAP_REQUIRED)


@pytest.mark.spec("R2")
def test_before_authentication_as_after_it() -> None:
    unauthenticated = context("ANONYMOUS")  # principal of a SASL connection before authentication
    assert ask(5, unauthenticated, cluster_id="cluster", node_id=2, **NAMED).error_code == Error.REBOOTSTRAP_REQUIRED


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1"), ("x", ""), ("-x", "1"), ("x-", "1"), ("a b", "1"), ("x", "1/2"), ("x\n", "1"), ("ä", "1")],
)
def test_names_that_are_none(version: int, name: str, software_version: str) -> None:
    response = ask(version, client_software_name=name, client_software_version=software_version)
    assert (response.error_code, response.api_keys) == (Error.INVALID_REQUEST, [])


def test_an_invalid_name_is_reported_before_a_wrong_identity() -> None:
    response = ask(5, client_software_name="", cluster_id="other", node_id=9)
    assert response.error_code == Error.INVALID_REQUEST


def test_an_accepted_client_is_recorded_with_its_software() -> None:
    who = context()
    ask(5, who, cluster_id="cluster", node_id=2, **NAMED)
    assert who.client_software_name in ("", "unknown")
    ask(3, who, **NAMED)
    assert (who.client_software_name, who.client_software_version) == ("test-client", "1.0")


@pytest.mark.spec("C4")
def test_a_forced_control_plane_has_a_table_of_its_own() -> None:
    control = ask(3, context(control_plane=True), forced=True, **NAMED)
    assert [row.api_key for row in control.api_keys] == [4, 5, 6, 7, 17, 18, 36]
    assert len(ask(3, forced=True, **NAMED).api_keys) > 30
