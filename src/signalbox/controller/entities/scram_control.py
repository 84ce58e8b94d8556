"""AlterUserScramCredentials as a decision (KIP-554): each user's changes are all made or none.

The client sends the salted password; the store gets what a server needs to check it, among the user's configs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.records import ConfigsSet
from signalbox.metadata.entries.entity_config import Configs, user_entity
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from signalbox.security.sasl.scram_messages import MIN_ITERATIONS, credential_from_salted
from signalbox.security.sasl.stored_credential import MAX_ITERATIONS, MECHANISM_CODES, encode_credential

_Problem = tuple[Error, str]
_Request = AlterUserScramCredentialsRequest

_NO_NAME: _Problem = (Error.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
_NO_MECHANISM: _Problem = (Error.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
_TOO_FEW: _Problem = (Error.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
_TOO_MANY: _Problem = (Error.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
_TWICE: _Problem = (Error.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
_ABSENT: _Problem = (Error.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")


def alter_user_scram_credentials(
    context: ControllerContext, inputs: Inputs, request: AlterUserScramCredentialsRequest
) -> Decision:
    """Write and delete credentials."""
    problems = dict(_problems(context, request))
    users = dict.fromkeys(user for user, _ in _named(request))
    changed: dict[str, Configs] = {
        user: dict(context.configs.get(user_entity(user), {})) for user in users if user not in problems
    }
    for deletion in request.deletions:
        if deletion.name in changed:
            del changed[deletion.name][MECHANISM_CODES[deletion.mechanism]]
    for upsertion in request.upsertions:
        if upsertion.name in changed:
            changed[upsertion.name][MECHANISM_CODES[upsertion.mechanism]] = _credential(upsertion)
    return Decision(
        records=tuple(ConfigsSet(user_entity(user), configs) for user, configs in changed.items()),
        response=AlterUserScramCredentialsResponse(results=[_result(user, problems.get(user)) for user in users]),
    )


def _named(request: _Request) -> list[tuple[str, int]]:
    """Users with the mechanisms to alter, deletions first."""
    deleted = [(each.name, each.mechanism) for each in request.deletions]
    return deleted + [(each.name, each.mechanism) for each in request.upsertions]


def _problems(context: ControllerContext, request: _Request) -> Iterator[tuple[str, _Problem]]:
    """Users whose changes are rejected. Of several errors of a user the last one is returned, as in Kafka."""
    for deletion in request.deletions:
        configs = context.configs.get(user_entity(deletion.name), {})
        if MECHANISM_CODES.get(deletion.mechanism, "") not in configs:
            yield deletion.name, _ABSENT
    for (name, _), times in Counter(_named(request)).items():
        if times > 1:
            yield name, _TWICE
    for deletion in request.deletions:
        problem = _NO_NAME if not deletion.name else _mechanism_problem(deletion.mechanism)
        if problem is not None:
            yield deletion.name, problem
    for upsertion in request.upsertions:
        problem = _upsertion_problem(upsertion)
        if problem is not None:
            yield upsertion.name, problem


def _upsertion_problem(upsertion: _Request.ScramCredentialUpsertion) -> _Problem | None:
    if not upsertion.name:
        return _NO_NAME
    if (problem := _mechanism_problem(upsertion.mechanism)) is not None:
        return problem
    if upsertion.iterations > MAX_ITERATIONS:
        return _TOO_MANY
    return _TOO_FEW if upsertion.iterations < MIN_ITERATIONS else None


def _mechanism_problem(mechanism: int) -> _Problem | None:
    return None if mechanism in MECHANISM_CODES else _NO_MECHANISM


def _credential(upsertion: _Request.ScramCredentialUpsertion) -> str:
    mechanism = MECHANISM_CODES[upsertion.mechanism]
    salted, salt = bytes(upsertion.salted_password), bytes(upsertion.salt)
    return encode_credential(credential_from_salted(mechanism, salted, salt, upsertion.iterations))


def _result(user: str, problem: _Problem | None) -> AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult:
    error, message = problem or (Error.NONE, None)
    return AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(
        user=user, error_code=error, error_message=message
    )
