"""Create-, Renew- and ExpireDelegationToken as decisions, and the removal of expired tokens (KIP-48, KIP-373).

No response of this module contains an HMAC: the response is stored for retries (`forwarded_response.py`), and the store
must not contain a secret. The handler adds the HMAC. Times and errors are those of Kafka 3.9 with ZooKeeper.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import uuid_text
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.records import TokenRemoved, TokenSet
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import USER_TYPE, KafkaPrincipal

NO_TIME = -1  # the times in a response with an error
_LAST_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request about a token, and its requester."""

    requester: KafkaPrincipal
    body: Any

    @property
    def owner(self) -> KafkaPrincipal:
        """The owner of the token: the requester unless the request names another."""
        name = self.body.owner_principal_name
        return KafkaPrincipal(self.body.owner_principal_type or "", name) if name else self.requester

    @property
    def problem(self) -> Error | None:
        """INVALID_PRINCIPAL_TYPE if the owner or a renewer of a new token is not a user: tokens are for users."""
        types = (self.owner.type, *(renewer.principal_type for renewer in self.body.renewers))
        return None if all(each == USER_TYPE for each in types) else Error.INVALID_PRINCIPAL_TYPE


def create_delegation_token(context: ControllerContext, inputs: Inputs, request: TokenRequest) -> Decision:
    """A new token; the handler has checked that the requester may have it."""
    if inputs.token_secret is None:
        return Decision(response=rejected_creation(request, Error.DELEGATION_TOKEN_AUTH_DISABLED))
    if request.problem is not None:
        return Decision(response=rejected_creation(request, request.problem))
    settings, now_ms, wanted_ms = inputs.settings, inputs.now_ms(), request.body.max_lifetime_ms
    longest_ms = settings.delegation_token_max_lifetime_ms
    max_ms = min(now_ms + (min(wanted_ms, longest_ms) if wanted_ms > 0 else longest_ms), _LAST_MS)
    token = DelegationToken(
        token_id=uuid_text(inputs.new_uuid()),
        owner=request.owner,
        requester=request.requester,
        renewers=tuple(KafkaPrincipal(each.principal_type, each.principal_name) for each in request.body.renewers),
        issue_ms=now_ms,
        expiry_ms=min(max_ms, now_ms + settings.delegation_token_expiry_time_ms),
        max_ms=max_ms,
    )
    response = _creation(
        request,
        issue_timestamp_ms=token.issue_ms,
        expiry_timestamp_ms=token.expiry_ms,
        max_timestamp_ms=token.max_ms,
        token_id=token.token_id,
    )
    return Decision(records=(TokenSet(token),), response=response)


def renew_delegation_token(context: ControllerContext, inputs: Inputs, request: TokenRequest) -> Decision:
    """Another expiry time, at most the end of the token's maximum lifetime. Yields."""
    try:
        token = _token(context, inputs, request)
        now_ms = _time_of(token, inputs)
    except KafkaError as rejection:
        return Decision(response=rejected_renewal(rejection.error))
    period_ms = request.body.renew_period_ms
    if period_ms < 0:
        period_ms = inputs.settings.delegation_token_expiry_time_ms
    renewed = replace(token, expiry_ms=min(token.max_ms, now_ms + period_ms))
    return Decision((TokenSet(renewed),), RenewDelegationTokenResponse(expiry_timestamp_ms=renewed.expiry_ms))


def expire_delegation_token(context: ControllerContext, inputs: Inputs, request: TokenRequest) -> Decision:
    """Removes the token at once if the period is negative, even an expired one; else sets another expiry time.
    Yields."""
    try:
        token = _token(context, inputs, request)
        period_ms = request.body.expiry_time_period_ms
        if period_ms < 0:
            gone = ExpireDelegationTokenResponse(expiry_timestamp_ms=inputs.now_ms())
            return Decision((TokenRemoved(token.token_id),), gone)
        now_ms = _time_of(token, inputs)
    except KafkaError as rejection:
        return Decision(response=rejected_expiry(rejection.error))
    ended = replace(token, expiry_ms=min(token.max_ms, now_ms + period_ms))
    return Decision((TokenSet(ended),), ExpireDelegationTokenResponse(expiry_timestamp_ms=ended.expiry_ms))


def expire_tokens(context: ControllerContext, inputs: Inputs) -> Decision:
    """Remove expired tokens. Yields."""
    now_ms = inputs.now_ms()
    gone = []
    for token in context.tokens.values():
        yield_if_due()
        if token.has_expired(now_ms):
            gone.append(TokenRemoved(token.token_id))
    return Decision(tuple(gone))


def rejected_creation(request: TokenRequest, error: Error) -> CreateDelegationTokenResponse:
    """An error instead of a token, with the owner and the requester."""
    return _creation(
        request,
        error_code=error,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def rejected_renewal(error: Error) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIME)


def rejected_expiry(error: Error) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIME)


def _creation(request: TokenRequest, **fields: Any) -> CreateDelegationTokenResponse:
    owner, requester = request.owner, request.requester
    return CreateDelegationTokenResponse(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        **fields,
    )


def _token(context: ControllerContext, inputs: Inputs, request: TokenRequest) -> DelegationToken:
    """The token with the request's HMAC, if the requester may change it; else KafkaError. Yields."""
    secret = inputs.token_secret
    if secret is None:
        raise KafkaError(Error.DELEGATION_TOKEN_AUTH_DISABLED)
    shown = bytes(request.body.hmac)
    for token in context.tokens.values():
        yield_if_due()
        if hmac.compare_digest(secret.hmac(token.token_id), shown):
            break
    else:
        raise KafkaError(Error.DELEGATION_TOKEN_NOT_FOUND)
    if not token.is_of(request.requester):
        raise KafkaError(Error.DELEGATION_TOKEN_OWNER_MISMATCH)
    return token


def _time_of(token: DelegationToken, inputs: Inputs) -> int:
    """The present time; KafkaError if the token has expired."""
    now_ms = inputs.now_ms()
    if token.has_expired(now_ms):
        raise KafkaError(Error.DELEGATION_TOKEN_EXPIRED)
    return now_ms
