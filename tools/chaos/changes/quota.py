"""Client quotas of one user each; the SCRAM credentials of the same user are in the same entry of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from signalbox.metadata import layout
from signalbox.metadata.entries.entity_config import decode_configs, user_of
from signalbox.metadata.entries.quota_entity import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, USER, quotas_of
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tools.chaos.changes.kind import Ask
from tools.chaos.changes.model import NOT_THERE, Change, State, with_facts

_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE)  # always set to the same number: one alone is half a change
_ANY_NAME = 2  # Kafka's code of a filter


class Quotas:
    name = "quota"
    prefix = "changed-user-"
    roots = (f"{layout.CONFIG}/users",)

    def draw(self, entity: str, state: State, random: Random) -> Change:
        return _setting(entity, None if state and random.random() < 0.2 else float(random.randint(1, 1 << 30)))

    def on_response(self, entity: str, response: Any) -> Error:
        return Error.of(response.entries[0].error_code)

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        states = {}
        for path, entry in tree.items():
            user = user_of(path.removeprefix(layout.CONFIG + "/"))
            if user is not None and user.startswith(self.prefix):
                states[user] = _state(quotas_of({USER: user}, decode_configs(path, entry.data)))
        return states

    def described(self, ask: Ask) -> dict[str, State]:
        users = DescribeClientQuotasRequest.ComponentData(entity_type=USER, match_type=_ANY_NAME, match=None)
        answer = ask(DescribeClientQuotasRequest(components=[users], strict=True))
        if answer.error_code:
            raise ConnectionError(f"DescribeClientQuotas was answered {Error.of(answer.error_code).name}")
        return {
            row.entity[0].entity_name: _state({each.key: each.value for each in row.values})
            for row in answer.entries
            if row.entity[0].entity_name.startswith(self.prefix)
        }


def _state(quotas: Mapping[str, float]) -> State:
    return with_facts(NOT_THERE, {key: f"{value:.0f}" for key, value in quotas.items()})


def _setting(name: str, rate: float | None) -> Change:
    operations = [AlterClientQuotasRequest.OpData(key=key, value=rate or 0.0, remove=rate is None) for key in _KEYS]
    entity = [AlterClientQuotasRequest.EntityData(entity_type=USER, entity_name=name)]
    request = AlterClientQuotasRequest(entries=[AlterClientQuotasRequest.EntryData(entity=entity, ops=operations)])
    text = None if rate is None else f"{rate:.0f}"

    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield with_facts(state, dict.fromkeys(_KEYS, text)), Error.NONE

    return Change(f"set rates to {text}", request, transitions)
