"""The content of an Envelope: the client's principal, its address and its request (KIP-590, F3).

Unwrapping is pure: it returns the inner request or the Envelope-level error, in the order of Kafka's checks.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest
from signalbox.common.ids import FORWARDING_ID_TAG, decode_forwarding_id
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_request_header
from signalbox.security.principal import PrincipalDeserializationError, PrincipalSerde

Decode = Callable[[int, bytes | memoryview, int, int], Any]


def unwrap(envelope: ApiRequest, decode: Decode, serde: PrincipalSerde) -> ApiRequest:
    """The inner request with the original principal and address.

    Without a principal (null) the request is the sending broker's own, with the principal of its connection: a
    dedicated controller accepts such requests only in an Envelope (F15; Kafka rejects a null principal with error 97).

    KafkaError carries the Envelope's error code: PRINCIPAL_DESERIALIZATION_FAILURE, INVALID_REQUEST (an invalid
    address, an API that may not be forwarded) or UNSUPPORTED_VERSION (a header or body that does not parse).
    """
    body = envelope.body
    principal = envelope.context.principal
    if body.request_principal is not None:
        try:
            principal = serde.deserialize(body.request_principal)
        except PrincipalDeserializationError as error:
            raise KafkaError(Error.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from error
    address = _address(body.client_host_address)
    try:
        header, offset = decode_request_header(body.request_data)
    except DecodeError as error:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"the inner header does not parse: {error}") from error
    row = API_TABLE.get(header.api_key)
    if row is None or not row.min_version <= header.api_version <= row.max_version:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"API {header.api_key} v{header.api_version} is not known here")
    if not row.forwardable:
        raise KafkaError(Error.INVALID_REQUEST, f"{row.name} may not be forwarded")
    try:
        inner = decode(header.api_key, body.request_data, header.api_version, offset)
    except DecodeError as error:
        raise KafkaError(Error.UNSUPPORTED_VERSION, f"the inner {row.name} does not parse: {error}") from error
    outer = envelope.context
    context = outer.forwarded(principal, address, bytes(body.client_host_address), header.api_key)
    context.forwarding_id = decode_forwarding_id((body.unknown_tags or {}).get(FORWARDING_ID_TAG))
    return ApiRequest(
        header, inner, context, body.request_data, envelope.received_at, forwarded_by=str(outer.principal)
    )


def _address(raw: bytes) -> str:
    try:
        address = ipaddress.ip_address(bytes(raw))
    except ValueError as error:
        raise KafkaError(
            Error.INVALID_REQUEST, f"a client address has 4 or 16 bytes, this one has {len(raw)}"
        ) from error
    # An IPv4 client on an IPv6 socket has a mapped address; ACLs contain the IPv4 address.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
