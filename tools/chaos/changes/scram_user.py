"""SCRAM credentials: both mechanisms written in one request, one or both deleted. Iterations tell credentials apart.

The users have the names of those with quotas (`quota.py`): both kinds of change meet in one entry of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from signalbox.metadata import layout
from signalbox.metadata.entries.entity_config import decode_configs, user_of
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from signalbox.security.sasl.scram_messages import MIN_ITERATIONS
from signalbox.security.sasl.stored_credential import MAX_ITERATIONS, MECHANISM_CODES, decode_credential
from tools.chaos.changes.kind import Ask
from tools.chaos.changes.model import NOT_THERE, Change, State, fact, with_facts

_SALT_BYTES = 16
_SALTED_BYTES = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}
_CODES = {mechanism: code for code, mechanism in MECHANISM_CODES.items()}


class ScramUsers:
    name = "scram"
    prefix = "changed-user-"
    roots = (f"{layout.CONFIG}/users",)

    def draw(self, entity: str, state: State, random: Random) -> Change:
        there = sorted(name for name, _ in state)
        if there and random.random() < 0.4:
            return _deletion(entity, there if random.random() < 0.5 else [random.choice(there)])
        return _setting(entity, random)

    def on_response(self, entity: str, response: Any) -> Error:
        return Error.of(response.results[0].error_code)

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        states = {}
        for path, entry in tree.items():
            user = user_of(path.removeprefix(layout.CONFIG + "/"))
            if user is not None and user.startswith(self.prefix):
                configs = decode_configs(path, entry.data)
                states[user] = with_facts(
                    NOT_THERE,
                    {each: str(decode_credential(configs[each]).iterations) for each in _CODES if each in configs},
                )
        return states

    def described(self, ask: Ask) -> dict[str, State]:
        answer = ask(DescribeUserScramCredentialsRequest(users=None))
        if answer.error_code:
            raise ConnectionError(f"DescribeUserScramCredentials was answered {Error.of(answer.error_code).name}")
        return {
            row.user: with_facts(
                NOT_THERE, {MECHANISM_CODES[each.mechanism]: str(each.iterations) for each in row.credential_infos}
            )
            for row in answer.results
            if row.user.startswith(self.prefix)
        }


def _setting(name: str, random: Random) -> Change:
    iterations = random.randint(MIN_ITERATIONS, MAX_ITERATIONS)
    upsertions = [
        AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=name,
            mechanism=code,
            iterations=iterations,
            salt=random.randbytes(_SALT_BYTES),
            salted_password=random.randbytes(_SALTED_BYTES[mechanism]),
        )
        for mechanism, code in _CODES.items()
    ]

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield with_facts(state, dict.fromkeys(_CODES, str(iterations))), Error.NONE

    request = AlterUserScramCredentialsRequest(upsertions=upsertions, deletions=[])
    return Change(f"set credentials of {iterations} iterations", request, transitions)


def _deletion(name: str, mechanisms: list[str]) -> Change:
    deletions = [
        AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=name, mechanism=_CODES[mechanism])
        for mechanism in mechanisms
    ]

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if any(fact(state, mechanism) is None for mechanism in mechanisms):
            yield state, Error.RESOURCE_NOT_FOUND
        else:
            yield with_facts(state, dict.fromkeys(mechanisms)), Error.NONE

    request = AlterUserScramCredentialsRequest(upsertions=[], deletions=deletions)
    return Change(f"delete {' and '.join(mechanisms)}", request, transitions)
