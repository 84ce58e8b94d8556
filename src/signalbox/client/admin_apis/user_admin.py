"""SCRAM users: DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554). Plain passwords are never sent."""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.client.admin_apis.admin_call import AdminCall, only, result_of
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from signalbox.security.sasl.scram_messages import MIN_ITERATIONS, random_salt, salted_password
from signalbox.security.sasl.stored_credential import MECHANISM_CODES

_CODES = {mechanism: code for code, mechanism in MECHANISM_CODES.items()}


class UserAdmin(AdminCall):
    async def describe_users(
        self, users: Sequence[str] = (), *, timeout_ms: float | None = None
    ) -> dict[str, dict[str, int]]:
        """Iterations by mechanism, by user; all users when none are named. KafkaError for the first one that is
        rejected."""
        names = [DescribeUserScramCredentialsRequest.UserName(name=user) for user in users]
        response = await self._ask(DescribeUserScramCredentialsRequest(users=names or None), timeout_ms)
        for row in response.results:
            result_of(row.user, row.error_code, row.error_message).raise_for_error()
        return {
            row.user: {
                MECHANISM_CODES.get(info.mechanism, str(info.mechanism)): info.iterations
                for info in row.credential_infos
            }
            for row in response.results
        }

    async def set_user(
        self,
        user: str,
        password: str,
        mechanism: str = "SCRAM-SHA-256",
        iterations: int = MIN_ITERATIONS,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Create a user or change its password. ValueError for an unknown mechanism; KafkaError."""
        salt = random_salt()
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=user,
            mechanism=_code(mechanism),
            iterations=iterations,
            salt=salt,
            salted_password=salted_password(mechanism, password, salt, max(iterations, 1)),
        )
        await self._alter(AlterUserScramCredentialsRequest(upsertions=[upsertion]), user, timeout_ms)

    async def delete_user(
        self, user: str, mechanism: str = "SCRAM-SHA-256", *, timeout_ms: float | None = None
    ) -> None:
        """Delete a user's credential. ValueError for an unknown mechanism; KafkaError."""
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=_code(mechanism))
        await self._alter(AlterUserScramCredentialsRequest(deletions=[deletion]), user, timeout_ms)

    async def _alter(self, request: AlterUserScramCredentialsRequest, user: str, timeout_ms: float | None) -> None:
        response = await self._ask(request, timeout_ms)
        only({row.user: result_of(row.user, row.error_code, row.error_message) for row in response.results}, user)


def _code(mechanism: str) -> int:
    if mechanism not in _CODES:
        raise ValueError(f"{mechanism} is no SCRAM mechanism: use {' or '.join(_CODES)}")
    return _CODES[mechanism]
