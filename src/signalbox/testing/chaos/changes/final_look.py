"""The end of a run: what the store holds and what each broker says, until they agree or time is up."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from signalbox.metadata.store.port import Entry
from signalbox.testing.chaos.changes.caller import Caller
from signalbox.testing.chaos.changes.kind import Kind
from signalbox.testing.chaos.changes.load import SteadyChanger
from signalbox.testing.chaos.changes.model import History
from signalbox.testing.chaos.changes.verdict import ChangeVerdict, States, judge_changes
from signalbox.testing.chaos.state_reader import StateReader

_LOOK_S = 0.3
_ANSWER_S = 10.0


def look(
    changers: Sequence[SteadyChanger], state: StateReader, brokers: Mapping[int, str], timeout_s: float
) -> list[ChangeVerdict]:
    """A verdict for each kind. What was just decided may still be on its way to a broker: looks again until all
    agree, for `timeout_s` at most. OSError when a broker does not answer."""
    deadline = time.monotonic() + timeout_s
    of_kind: dict[Kind, list[History]] = defaultdict(list)
    for changer in changers:
        of_kind[changer.kind] += changer.histories
    while True:
        verdicts = [_one(kind, of_kind[kind], state, brokers) for kind in of_kind]
        if all(verdict.holds for verdict in verdicts) or time.monotonic() > deadline:
            return verdicts
        time.sleep(_LOOK_S)


def _one(kind: Kind, histories: Sequence[History], state: StateReader, brokers: Mapping[int, str]) -> ChangeVerdict:
    tree: dict[str, Entry] = {}
    for root in kind.roots:
        tree |= state.below(root)
    described: dict[int, States] = {}
    for broker_id, address in brokers.items():
        with Caller(address, _ANSWER_S, logs_in=True) as caller:
            described[broker_id] = kind.described(caller.ask)
    return judge_changes(kind.name, histories, kind.stored(tree), described)
