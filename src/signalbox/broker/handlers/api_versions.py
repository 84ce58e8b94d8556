"""ApiVersions (key 18): the API versions of this listener, and the check of the client's identity fields. Versions 0-5.

Order of checks (KIP-511, KIP-1242): for an unsupported version, a response of version 0 with error 35 and the supported
range; for an invalid software name, or only one of cluster id and node id, INVALID_REQUEST with an empty table; for
another cluster or node, REBOOTSTRAP_REQUIRED with an empty table. The checks are the same before and after
authentication, and the response never says whether cluster or node was wrong. The connection stays open in all cases.

From version 3 on the response contains the supported and the finalized features (KIP-584).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from signalbox.broker.api_request import ApiRequest, EncodedBody, HandlerResult, RawResponse
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.routing.advertised_versions import AdvertisedVersions, ListenerKind, Ranges
from signalbox.broker.routing.misroutes import Identity, MisrouteLog
from signalbox.common.limits import MAX_CLIENT_SOFTWARE_LENGTH
from signalbox.common.visible_text import clip
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES, FinalizedFeatures
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.security.request_context import RequestContext

_NAMES_SOFTWARE_FROM = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a response depends on; the same object as long as nothing has changed."""

    ranges: Ranges
    features: FinalizedFeatures


class ApiVersionsHandler:
    """Compares the client's identity with this node's, and returns the advertised ranges, cached as bytes."""

    def __init__(
        self,
        advertised: AdvertisedVersions,
        identity: Identity,
        misroutes: MisrouteLog,
        cache: MetadataCache,
        software: ClientSoftware,
    ) -> None:
        self._advertised = advertised
        self._cache = cache
        self._offers: dict[ListenerKind, Offer] = {}
        self._identity = identity
        self._misroutes = misroutes
        self._software = software
        self._bodies: dict[tuple[int, ListenerKind], tuple[object, EncodedBody]] = {}

    def __call__(self, request: ApiRequest) -> HandlerResult:
        row = API_TABLE[ApiKey.API_VERSIONS]
        version = request.header.api_version
        if not row.min_version <= version <= row.max_version:
            return self._unsupported(request)
        body = request.body
        error = self._check(request, body)
        if error is not Error.NONE:
            return ApiVersionsResponse(error_code=error)
        context = request.context
        # A client that has not logged in may send 32 KiB, which the connection would keep.
        longest = MAX_CLIENT_SOFTWARE_LENGTH
        named = (clip(body.client_software_name, longest), clip(body.client_software_version, longest))
        if named[0] and named != (context.client_software_name, context.client_software_version):
            context.client_software_name, context.client_software_version = named
            self._software.named(context)
        return self.table(version, context)

    def _check(self, request: ApiRequest, body: ApiVersionsRequest) -> Error:
        names_software = request.header.api_version >= _NAMES_SOFTWARE_FROM
        if names_software and not (
            _SOFTWARE.fullmatch(body.client_software_name) and _SOFTWARE.fullmatch(body.client_software_version)
        ):
            return Error.INVALID_REQUEST
        if (body.cluster_id is None) != (body.node_id == -1):
            return Error.INVALID_REQUEST
        if body.cluster_id is None:
            return Error.NONE
        expected = (body.cluster_id, body.node_id)
        if expected == self._identity:
            return Error.NONE
        self._misroutes.rejected(request, expected, actual=self._identity)
        return Error.REBOOTSTRAP_REQUIRED

    def offer(self, context: RequestContext) -> Offer:
        """The ranges and features that are advertised now on the connection's listener."""
        return self._offer(self._advertised.kind_of(context))

    def _offer(self, kind: ListenerKind) -> Offer:
        ranges, features = self._advertised.ranges(kind), self._cache.image.features
        offer = self._offers.get(kind)
        if offer is None or offer.ranges is not ranges or offer.features is not features:
            offer = self._offers[kind] = Offer(ranges, features)
        return offer

    def table(self, version: int, context: RequestContext) -> EncodedBody:
        """The response without an error on the connection's listener."""
        kind = self._advertised.kind_of(context)
        offer = self._offer(kind)
        cached = self._bodies.get((version, kind))
        if cached is not None and cached[0] is offer:
            return cached[1]
        named, finalized = ApiVersionsResponse.SupportedFeatureKey, ApiVersionsResponse.FinalizedFeatureKey
        response = ApiVersionsResponse(
            api_keys=[
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in offer.ranges.items()
            ],
            supported_features=[
                named(name=name, min_version=low, max_version=high) for name, (low, high) in SUPPORTED_FEATURES.items()
            ],
            finalized_features_epoch=offer.features.epoch,
            finalized_features=[
                finalized(name=name, max_version_level=level, min_version_level=level)
                for name, level in offer.features.levels.items()
            ],
        )
        encoded = EncodedBody([response.encode(version)])
        self._bodies[version, kind] = (offer, encoded)
        return encoded

    def _unsupported(self, request: ApiRequest) -> RawResponse:
        row = API_TABLE[ApiKey.API_VERSIONS]
        own = ApiVersionsResponse.ApiVersion(
            api_key=ApiKey.API_VERSIONS, min_version=row.min_version, max_version=row.max_version
        )
        body = ApiVersionsResponse(error_code=Error.UNSUPPORTED_VERSION, api_keys=[own]).encode(0)
        return RawResponse(encode_response_header(ApiKey.API_VERSIONS, 0, request.header.correlation_id) + body)
