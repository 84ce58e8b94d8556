"""The end of a run: compares the store with each broker's description, until they agree or time is up."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from signalbox.metadata.store.port import Entry
from tools.chaos.changes.caller import Caller
from tools.chaos.changes.change_check import ChangeCheck, States, check_changes
from tools.chaos.changes.kind import Kind
from tools.chaos.changes.load import SteadyChanger
from tools.chaos.changes.model import History
from tools.chaos.state_reader import StateReader

_POLL_INTERVAL_S = 0.3
_ANSWER_S = 10.0


def check_until_consistent(
    changers: Sequence[SteadyChanger], state: StateReader, brokers: Mapping[int, str], timeout_s: float
) -> list[ChangeCheck]:
    """A result for each kind. A recent decision may not have reached every broker: compares again until all
    agree, for `timeout_s` at most. OSError when a broker does not respond."""
    deadline = time.monotonic() + timeout_s
    of_kind: dict[Kind, list[History]] = defaultdict(list)
    set_back: dict[Kind, list[History]] = defaultdict(list)
    for changer in changers:
        of_kind[changer.kind] += changer.histories
        set_back[changer.kind] += changer.set_back
    while True:
        checks = [
            check_changes(kind.name, of_kind[kind], *_as_they_are(kind, state, brokers), set_back[kind])
            for kind in of_kind
        ]
        if all(check.holds for check in checks) or time.monotonic() > deadline:
            return checks
        time.sleep(_POLL_INTERVAL_S)


def _as_they_are(kind: Kind, state: StateReader, brokers: Mapping[int, str]) -> tuple[States, dict[int, States]]:
    """The entities in the store, and as each broker describes them."""
    tree: dict[str, Entry] = {}
    for root in kind.roots:
        tree |= state.below(root)
    described: dict[int, States] = {}
    for broker_id, address in brokers.items():
        with Caller(address, _ANSWER_S, logs_in=True) as caller:
            described[broker_id] = kind.described(caller.ask)
    return kind.stored(tree), described
