"""CreateDelegationToken (key 38), RenewDelegationToken (39), ExpireDelegationToken (40), DescribeDelegationToken (41):
tokens by which a program logs in for a user (KIP-48, KIP-373). Versions 0-3, 0-2, 0-2, 0-3.

All four are rejected on a connection with security protocol PLAINTEXT, on a TLS connection without a client
certificate, and for a principal that logged in with a token. The broker that the client is connected to checks this,
and the right to create a token for another user (CREATE_TOKENS on USER:<owner>); then it forwards. The controller
checks the principal again, but not the connection, which is the forwarding broker's, as in Kafka's KRaft controllers.

DescribeDelegationToken is handled by any broker. It returns the principal's own tokens, tokens that the principal may
renew, and other tokens with DESCRIBE on the token or DESCRIBE_TOKENS on USER:<owner>. Without
`delegation.token.secret.key` all four return DELEGATION_TOKEN_AUTH_DISABLED.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.forwarding.filtering_forwarder import Rejection
from signalbox.broker.ports import ActiveController
from signalbox.common.cooperative_task import yielding
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.entities.token_control import TokenRequest
from signalbox.controller.error_responses import reject
from signalbox.metadata.token_repository import TokenRepository
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.delegation_token import DelegationToken, TokenSecret
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal

_NAMES_REQUESTER_FROM = 3  # earlier versions have no requester fields


class ChangeTokenHandler:
    """One of the three APIs that change tokens."""

    def __init__(
        self, api_key: ApiKey, controller: ActiveController, authorizer: Authorizer, secret: TokenSecret | None
    ) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer
        self._secret = secret

    def __call__(self, request: ApiRequest) -> HandlerResult:
        rejected = self.rejected(request)
        return rejected if isinstance(rejected, Message) else self._change(request)

    def rejected(self, request: ApiRequest) -> Rejection:
        """The error response when the request is not allowed on this connection or for this principal, or is invalid;
        else {}."""
        token_request = TokenRequest(request.context.principal, request.body)
        error = self._problem(request, token_request)
        return {} if error is None else self._completed(request, reject(self._api_key, token_request, error))

    def _problem(self, request: ApiRequest, token_request: TokenRequest) -> Error | None:
        if not _is_allowed(request):
            return Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        if self._api_key != ApiKey.CREATE_DELEGATION_TOKEN:
            return None
        owner, context = token_request.owner, request.context
        if owner != token_request.requester and not self._authorizer.authorize(
            context, AclOperation.CREATE_TOKENS, ResourceType.USER, str(owner)
        ):
            return Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        return token_request.problem

    async def _change(self, request: ApiRequest) -> FinalResponse:
        token_request = TokenRequest(request.context.principal, request.body)
        return self._completed(request, await self._controller.handle(self._api_key, token_request, request.context))

    def _completed(self, request: ApiRequest, response: Any) -> Message:
        """The controller's response with the HMAC added, and without fields that the version does not have."""
        if self._api_key == ApiKey.CREATE_DELEGATION_TOKEN:
            if self._secret is not None and response.error_code == Error.NONE:
                response.hmac = self._secret.hmac(response.token_id)
            if request.header.api_version < _NAMES_REQUESTER_FROM:
                response.token_requester_principal_type = response.token_requester_principal_name = ""
        completed: Message = response
        return completed


class DescribeDelegationTokenHandler:
    """`tokens` is None when delegation tokens are disabled: without a secret."""

    def __init__(
        self,
        tokens: TokenRepository | None,
        authorizer: Authorizer,
        secret: TokenSecret | None,
        scheduler: TaskScheduler,
    ) -> None:
        self._tokens = tokens
        self._authorizer = authorizer
        self._scheduler = scheduler
        self._secret = secret

    def __call__(self, request: ApiRequest) -> HandlerResult:
        if not _is_allowed(request):
            return DescribeDelegationTokenResponse(error_code=Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        if self._tokens is None or self._secret is None:
            return DescribeDelegationTokenResponse(error_code=Error.DELEGATION_TOKEN_AUTH_DISABLED)
        return self._describe(request, self._tokens, self._secret)

    async def _describe(self, request: ApiRequest, tokens: TokenRepository, secret: TokenSecret) -> FinalResponse:
        owners = request.body.owners
        if owners is not None and not owners:
            return DescribeDelegationTokenResponse()
        owner_principals = (
            None if owners is None else [KafkaPrincipal(owner.principal_type, owner.principal_name) for owner in owners]
        )
        stored: Mapping[str, DelegationToken] = await tokens.current()
        names_requester = request.header.api_version >= _NAMES_REQUESTER_FROM

        def described() -> DescribeDelegationTokenResponse:
            return DescribeDelegationTokenResponse(
                tokens=[
                    _described(token, secret, names_requester)
                    for token in yielding(stored.values())
                    if owner_principals is None or any(map(token.is_of, owner_principals))
                    if self._may_describe(request, token)
                ]
            )

        return await self._scheduler.result_of(described)

    def _may_describe(self, request: ApiRequest, token: DelegationToken) -> bool:
        context, authorize = request.context, self._authorizer.authorize
        return (
            token.is_of(context.principal)
            or authorize(context, AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
            or authorize(context, AclOperation.DESCRIBE_TOKENS, ResourceType.USER, str(token.owner))
        )


def _is_allowed(request: ApiRequest) -> bool:
    """Kafka's allowTokenRequests; for a forwarded request, only its check of the principal."""
    context = request.context
    if context.principal.token_authenticated:
        return False
    if request.forwarded_by is not None:
        return True
    return context.security_protocol is not SecurityProtocol.PLAINTEXT and not (
        context.security_protocol is SecurityProtocol.SSL and context.principal == ANONYMOUS
    )


def _described(token: DelegationToken, secret: TokenSecret, names_requester: bool) -> Any:
    message_type = DescribeDelegationTokenResponse
    return message_type.DescribedDelegationToken(
        principal_type=token.owner.type,
        principal_name=token.owner.name,
        token_requester_principal_type=token.requester.type if names_requester else "",
        token_requester_principal_name=token.requester.name if names_requester else "",
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=secret.hmac(token.token_id),
        renewers=[
            message_type.DescribedDelegationTokenRenewer(principal_type=renewer.type, principal_name=renewer.name)
            for renewer in token.renewers
        ],
    )
