"""DescribeUserScramCredentials (key 50) and AlterUserScramCredentials (key 51): users who log in by SCRAM (KIP-554).
Versions 0.

Describing needs DESCRIBE on the cluster and is answered by any broker: mechanisms and iterations, never what a password
can be guessed from. Altering needs ALTER and is the active controller's. Users of a login module are not listed: they
are that broker's configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import require_on_cluster
from signalbox.broker.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController, StoredConfigs
from signalbox.metadata.entity_config import user_of
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.security.sasl.stored_credential import MECHANISM_CODES, BadCredential, decode_credential

_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_Info = DescribeUserScramCredentialsResponse.CredentialInfo


class DescribeUserScramCredentialsHandler:
    """No user named, null or none: all that have a credential."""

    def __init__(self, stored: StoredConfigs, authorizer: Authorizer) -> None:
        self._stored = stored
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        require_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE)
        return self._describe([user.name for user in request.body.users or ()])

    async def _describe(self, asked: list[str]) -> FinalAnswer:
        stored = {user: found for path, found in (await self._stored.current()).items() if (user := user_of(path))}
        if not asked:
            found = (_described(user, stored[user]) for user in sorted(stored))
            return DescribeUserScramCredentialsResponse(results=[each for each in found if each is not None])
        times = Counter(asked)
        return DescribeUserScramCredentialsResponse(
            results=[_named(user, times[user], stored.get(user, {})) for user in times]
        )


class AlterUserScramCredentialsHandler:
    def __init__(self, controller: ActiveController, authorizer: Authorizer) -> None:
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        require_cluster_right(self._authorizer, request.context, ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
        return self._controller.handle(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, request.body, request.context)


def _named(user: str, times: int, configs: Mapping[str, str]) -> _Result:
    if not user:
        return _refused(user, Error.RESOURCE_NOT_FOUND, "Username must not be empty")
    if times > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return _refused(user, Error.DUPLICATE_RESOURCE, text)
    text = f"Attempt to describe a user credential that does not exist: {user}"
    return _described(user, configs) or _refused(user, Error.RESOURCE_NOT_FOUND, text)


def _described(user: str, configs: Mapping[str, str]) -> _Result | None:
    """None for a user who has configs of other kinds only."""
    texts = {code: configs[mechanism] for code, mechanism in MECHANISM_CODES.items() if mechanism in configs}
    if not texts:
        return None
    try:
        infos = [_Info(mechanism=code, iterations=decode_credential(text).iterations) for code, text in texts.items()]
    except BadCredential as error:
        return _refused(user, Error.UNKNOWN_SERVER_ERROR, f"what is stored of {user} is damaged: {error}")
    return _Result(user=user, credential_infos=infos)


def _refused(user: str, error: Error, message: str) -> _Result:
    return _Result(user=user, error_code=error, error_message=message)
