"""Delegation tokens: created once, renewed, expired later, expired at once. A token is identified by its renewer.

Only the days of its timestamps are compared, rounded up to a whole day: a run does not last that long.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from signalbox.metadata import layout
from signalbox.metadata.entries.delegation_token import decode_token
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tools.chaos.changes.kind import Ask
from tools.chaos.changes.model import NOT_THERE, Change, State, fact, with_facts

_DAY_MS = 86_400_000
_FIRST_DAYS = 1  # `delegation.token.expiry.time.ms` as it is
_MOST_DAYS = 1_000
_AT_ONCE = -1
_USER = "User"
_LASTS, _EXPIRES = "lasts days", "expires in days"


class Tokens:
    name = "token"
    prefix = "changed-token-"
    roots = (layout.DELEGATION_TOKENS,)

    def __init__(self) -> None:
        self._hmacs: dict[str, bytes] = {}

    def draw(self, entity: str, state: State, random: Random) -> Change | None:
        hmac = self._hmacs.get(entity)
        if hmac is None:
            return _creation(entity, random.randint(_MOST_DAYS, 10 * _MOST_DAYS))
        if state == NOT_THERE:
            return None
        days = random.randint(1, _MOST_DAYS)
        number = random.random()
        if number < 0.25:
            return _end(hmac)
        return _renewal(hmac, days) if number < 0.65 else _other_end(hmac, days)

    def on_response(self, entity: str, response: Any) -> Error:
        if hmac := getattr(response, "hmac", b""):
            self._hmacs[entity] = bytes(hmac)
        return Error.of(response.error_code)

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        states: dict[str, State] = {}
        for path, entry in tree.items():
            if path != layout.DELEGATION_TOKENS:
                token = decode_token(path, entry.data)
                names = [renewer.name for renewer in token.renewers]
                self._take(states, names, token.issue_ms, token.expiry_ms, token.max_ms)
        return states

    def described(self, ask: Ask) -> dict[str, State]:
        answer = ask(DescribeDelegationTokenRequest(owners=None))
        if answer.error_code:
            raise ConnectionError(f"DescribeDelegationToken was answered {Error.of(answer.error_code).name}")
        states: dict[str, State] = {}
        for row in answer.tokens:
            names = [renewer.principal_name for renewer in row.renewers]
            self._take(states, names, row.issue_timestamp, row.expiry_timestamp, row.max_timestamp)
        return states

    def _take(self, states: dict[str, State], renewers: list[str], issue_ms: int, expiry_ms: int, max_ms: int) -> None:
        for name in renewers:
            if name.startswith(self.prefix):
                facts: dict[str, str | None] = {
                    _LASTS: str((max_ms - issue_ms) // _DAY_MS),
                    _EXPIRES: str(-((int(time.time() * 1000) - expiry_ms) // _DAY_MS)),
                }
                if name in states:
                    facts["a second token"] = ""
                states[name] = with_facts(NOT_THERE, facts)


def _creation(name: str, days: int) -> Change:
    renewer = CreateDelegationTokenRequest.CreatableRenewers(principal_type=_USER, principal_name=name)
    request = CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name=None, renewers=[renewer], max_lifetime_ms=days * _DAY_MS
    )
    made = with_facts(NOT_THERE, {_LASTS: str(days), _EXPIRES: str(_FIRST_DAYS)})

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        if state == NOT_THERE:
            yield made, Error.NONE

    return Change(f"create for {days} days", request, transitions, names_entity=True)


def _renewal(hmac: bytes, days: int) -> Change:
    request = RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=days * _DAY_MS)
    return Change(f"renew for {days} days", request, lambda state: _ended_in(state, days))


def _other_end(hmac: bytes, days: int) -> Change:
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=days * _DAY_MS)
    return Change(f"end in {days} days", request, lambda state: _ended_in(state, days))


def _ended_in(state: State, days: int) -> Iterable[tuple[State, Error]]:
    if state == NOT_THERE:
        yield state, Error.DELEGATION_TOKEN_NOT_FOUND
    else:
        yield with_facts(state, {_EXPIRES: str(min(days, int(fact(state, _LASTS) or 0)))}), Error.NONE


def _end(hmac: bytes) -> Change:
    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield NOT_THERE, Error.DELEGATION_TOKEN_NOT_FOUND if state == NOT_THERE else Error.NONE

    return Change("end", ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=_AT_ONCE), transitions)
