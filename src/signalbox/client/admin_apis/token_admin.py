"""Delegation tokens: Create-, Renew-, Expire- and DescribeDelegationToken (KIP-48, KIP-373)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field

from signalbox.client.admin_apis.admin_call import AdminCall
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.security.delegation_token import parse_principal
from signalbox.security.principal import KafkaPrincipal


@dataclass(frozen=True, slots=True)
class TokenDescription:
    """A token as a broker returns it. `hmac` is the password for a login, in base64; it is left out of `repr`."""

    token_id: str
    hmac: str = field(repr=False)
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int


class TokenAdmin(AdminCall):
    """Principals are `User:alice`. Needs a connection that is encrypted or authenticated, but not by a token."""

    async def create_token(
        self,
        renewers: Sequence[str] = (),
        owner: str | None = None,
        max_lifetime_ms: int = -1,
        *,
        timeout_ms: float | None = None,
    ) -> TokenDescription:
        """A new token for the user or, with `owner`, for another one; -1 is the cluster's maximum lifetime. ValueError
        for an invalid principal; KafkaError."""
        for_whom = None if owner is None else parse_principal(owner)
        message_type = CreateDelegationTokenRequest
        principals = map(parse_principal, renewers)
        request = message_type(
            owner_principal_type="" if for_whom is None else for_whom.type,
            owner_principal_name="" if for_whom is None else for_whom.name,
            renewers=[
                message_type.CreatableRenewers(principal_type=principal.type, principal_name=principal.name)
                for principal in principals
            ],
            max_lifetime_ms=max_lifetime_ms,
        )
        response = await self._ask(request, timeout_ms)
        return TokenDescription(
            token_id=response.token_id,
            hmac=base64.b64encode(response.hmac).decode(),
            owner=_text(response.principal_type, response.principal_name),
            requester=_text(response.token_requester_principal_type, response.token_requester_principal_name),
            renewers=tuple(renewers),
            issue_ms=response.issue_timestamp_ms,
            expiry_ms=response.expiry_timestamp_ms,
            max_ms=response.max_timestamp_ms,
        )

    async def renew_token(self, hmac: str, period_ms: int = -1, *, timeout_ms: float | None = None) -> int:
        """Expire after `period_ms`, -1: the cluster's default; returns the expiry time, ms. ValueError if `hmac` is not
        base64; KafkaError."""
        request = RenewDelegationTokenRequest(hmac=_bytes(hmac), renew_period_ms=period_ms)
        return int((await self._ask(request, timeout_ms)).expiry_timestamp_ms)

    async def expire_token(self, hmac: str, period_ms: int = -1, *, timeout_ms: float | None = None) -> int:
        """Expire in `period_ms`, -1: now; returns that time, ms. ValueError if `hmac` is not base64; KafkaError."""
        request = ExpireDelegationTokenRequest(hmac=_bytes(hmac), expiry_time_period_ms=period_ms)
        return int((await self._ask(request, timeout_ms)).expiry_timestamp_ms)

    async def describe_tokens(
        self, owners: Sequence[str] = (), *, timeout_ms: float | None = None
    ) -> list[TokenDescription]:
        """Tokens that these principals own or may renew, of all owners when none are named, as far as the user may
        describe them. ValueError for an invalid principal; KafkaError."""
        message_type = DescribeDelegationTokenRequest
        named = [
            message_type.DescribeDelegationTokenOwner(principal_type=principal.type, principal_name=principal.name)
            for principal in map(parse_principal, owners)
        ]
        response = await self._ask(message_type(owners=named or None), timeout_ms)
        return [
            TokenDescription(
                token_id=token.token_id,
                hmac=base64.b64encode(token.hmac).decode(),
                owner=_text(token.principal_type, token.principal_name),
                requester=_text(token.token_requester_principal_type, token.token_requester_principal_name),
                renewers=tuple(_text(renewer.principal_type, renewer.principal_name) for renewer in token.renewers),
                issue_ms=token.issue_timestamp,
                expiry_ms=token.expiry_timestamp,
                max_ms=token.max_timestamp,
            )
            for token in response.tokens
        ]


def _text(type_: str, name: str) -> str:
    """A principal as text; "" for the requester where an older broker does not return it."""
    return str(KafkaPrincipal(type_, name)) if type_ else ""


def _bytes(hmac: str) -> bytes:
    try:
        return base64.b64decode(hmac, validate=True)
    except (binascii.Error, ValueError):
        # The error's own text would quote the invalid input.
        raise ValueError("an HMAC is base64, as `token create` printed it") from None
