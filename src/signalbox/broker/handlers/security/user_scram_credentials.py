"""DescribeUserScramCredentials (key 50) and AlterUserScramCredentials (key 51): SCRAM credentials of users (KIP-554).
Version 0 of both.

DescribeUserScramCredentials needs DESCRIBE on the cluster and is handled by any broker. It returns mechanisms and
iterations, never data from which a password can be guessed. AlterUserScramCredentials needs ALTER and is handled by the
active controller. Users of a login module are not listed: they are in that broker's configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import require_on_cluster
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import user_of
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.security.sasl.stored_credential import MECHANISM_CODES, BadCredential, decode_credential

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_Info = DescribeUserScramCredentialsResponse.CredentialInfo


class DescribeUserScramCredentialsHandler:
    """A null or empty list of users means all users that have a credential."""

    def __init__(self, stored: ConfigRepository, authorizer: Authorizer) -> None:
        self._stored = stored
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE)
        return self._describe([user.name for user in request.body.users or ()])

    async def _describe(self, users: list[str]) -> FinalResponse:
        stored = {user: configs for path, configs in (await self._stored.current()).items() if (user := user_of(path))}
        if not users:
            described = (_described(user, stored[user]) for user in sorted(stored))
            return DescribeUserScramCredentialsResponse(results=[result for result in described if result is not None])
        times = Counter(users)
        return DescribeUserScramCredentialsResponse(
            results=[_named(user, times[user], stored.get(user, {})) for user in times]
        )


class AlterUserScramCredentialsHandler:
    def __init__(self, controller: ActiveController, authorizer: Authorizer) -> None:
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
        return self._controller.handle(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, request.body, request.context)


def _named(user: str, times: int, configs: Mapping[str, str]) -> _Result:
    if not user:
        return _rejected(user, Error.RESOURCE_NOT_FOUND, "Username must not be empty")
    if times > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _rejected(user, Error.DUPLICATE_RESOURCE, text)
    text = f"Attempt to describe a user credential that does not exist: {user}"
    return _described(user, configs) or _rejected(user, Error.RESOURCE_NOT_FOUND, text)


def _described(user: str, configs: Mapping[str, str]) -> _Result | None:
    """None for a user without SCRAM credentials."""
    texts = {code: configs[mechanism] for code, mechanism in MECHANISM_CODES.items() if mechanism in configs}
    if not texts:
        return None
    try:
        infos = [_Info(mechanism=code, iterations=decode_credential(text).iterations) for code, text in texts.items()]
    except BadCredential as error:
        return _rejected(user, Error.UNKNOWN_SERVER_ERROR, f"the stored credential of {user} is corrupt: {error}")
    return _Result(user=user, credential_infos=infos)


def _rejected(user: str, error: Error, message: str) -> _Result:
    return _Result(user=user, error_code=error, error_message=message)
