"""Delegation tokens: Create-, Renew-, Expire- and DescribeDelegationToken (KIP-48, KIP-373)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field

from signalbox.client.admin_call import AdminCall
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
        made = CreateDelegationTokenRequest
        principals = map(parse_principal, renewers)
        request = made(
            owner_principal_type="" if for_whom is None else for_whom.type,
            owner_principal_name="" if for_whom is None else for_whom.name,
            renewers=[
                made.CreatableRenewers(principal_type=each.type, principal_name=each.name) for each in principals
            ],
            max_lifetime_ms=max_lifetime_ms,
        )
        told = await self._ask(request, timeout_ms)
        return TokenDescription(
            token_id=told.token_id,
            hmac=base64.b64encode(told.hmac).decode(),
            owner=_text(told.principal_type, told.principal_name),
            requester=_text(told.token_requester_principal_type, told.token_requester_principal_name),
            renewers=tuple(renewers),
            issue_ms=told.issue_timestamp_ms,
            expiry_ms=told.expiry_timestamp_ms,
            max_ms=told.max_timestamp_ms,
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
        made = DescribeDelegationTokenRequest
        named = [
            made.DescribeDelegationTokenOwner(principal_type=each.type, principal_name=each.name)
            for each in map(parse_principal, owners)
        ]
        told = await self._ask(made(owners=named or None), timeout_ms)
        return [
            TokenDescription(
                token_id=each.token_id,
                hmac=base64.b64encode(each.hmac).decode(),
                owner=_text(each.principal_type, each.principal_name),
                requester=_text(each.token_requester_principal_type, each.token_requester_principal_name),
                renewers=tuple(_text(renewer.principal_type, renewer.principal_name) for renewer in each.renewers),
                issue_ms=each.issue_timestamp,
                expiry_ms=each.expiry_timestamp,
                max_ms=each.max_timestamp,
            )
            for each in told.tokens
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
