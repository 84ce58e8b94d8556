"""`/delegation_token/tokens/<id>`: a token in the payload of Kafka's DelegationTokenManager, and its change
notification, which is the token id as text.

Versions 1 and 2 are read as well: they have no requester, it is the owner then. The HMAC is not stored.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from signalbox.metadata.entries.entity_config import entity_name
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import DELEGATION_TOKENS, TOKEN_CHANGES
from signalbox.security.delegation_token import DelegationToken, parse_principal
from signalbox.security.principal import KafkaPrincipal

_VERSION = 3
_NAMES_REQUESTER_FROM = 3

# Must exist before a token is written; created where delegation tokens are enabled, as by Kafka's token manager.
TOKEN_FOLDERS: tuple[str, ...] = ("/delegation_token", DELEGATION_TOKENS, TOKEN_CHANGES)


def encode_token(token: DelegationToken) -> bytes:
    """The JSON payload, version 3; principals are encoded as by Kafka's Sanitizer."""
    return encode_json(
        {
            "version": _VERSION,
            "owner": entity_name(str(token.owner)),
            "tokenRequester": entity_name(str(token.requester)),
            "renewers": [entity_name(str(renewer)) for renewer in token.renewers],
            "issueTimestamp": token.issue_ms,
            "maxTimestamp": token.max_ms,
            "expiryTimestamp": token.expiry_ms,
            "tokenId": token.token_id,
        }
    )


def decode_token(path: str, data: bytes | None) -> DelegationToken:
    """The token; BadEntry."""
    payload = decode_json(data, path)
    try:
        version = int(payload["version"])
        if not 1 <= version <= _VERSION:
            raise BadEntry(f"{path} has version {version}, 1 to {_VERSION} are read")
        if not path.endswith(f"/{payload['tokenId']}"):
            raise BadEntry(f"{path} holds the token {payload['tokenId']}")
        owner = _principal(payload["owner"])
        return DelegationToken(
            token_id=str(payload["tokenId"]),
            owner=owner,
            requester=_principal(payload["tokenRequester"]) if version >= _NAMES_REQUESTER_FROM else owner,
            renewers=tuple(map(_principal, payload["renewers"])),
            issue_ms=int(payload["issueTimestamp"]),
            expiry_ms=int(payload["expiryTimestamp"]),
            max_ms=int(payload["maxTimestamp"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadEntry):
            raise
        raise BadEntry(f"{path} holds no delegation token: {error!r}") from error


def decode_token_change(path: str, data: bytes | None) -> str:
    """The id of the token that changed; BadEntry."""
    try:
        token_id = (data or b"").decode()
    except UnicodeDecodeError:
        token_id = ""
    if not token_id or "/" in token_id:
        raise BadEntry(f"{path} names no token")
    return token_id


def _principal(text: Any) -> KafkaPrincipal:
    return parse_principal(unquote(str(text)))
