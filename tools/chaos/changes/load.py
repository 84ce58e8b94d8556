"""Clients that change metadata: a thread each, entities of one kind in random order, any broker, every fault."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from random import Random

from tools.chaos.changes.caller import AnswerLost, Caller, NotSent
from tools.chaos.changes.kind import Kind
from tools.chaos.changes.model import Change, History

_ENTITIES = 4  # changed in turn; an entity that is closed is replaced
_PAUSE_S = 0.08
_TIMEOUT_S = 5.0

Addresses = Callable[[], Sequence[str]]


class SteadyChanger:
    """The names of its entities contain `number`; `histories` may be read once `stop` has returned. `addresses` gives
    the brokers to choose from, at a listener where `caller.USER` logs in. While a caller holds `held`, no change is
    requested; `set_back` are histories from before the store went back to an older state."""

    def __init__(self, number: int, kind: Kind, addresses: Addresses, seed: int) -> None:
        self.kind = kind
        self.histories: list[History] = []
        self.set_back: list[History] = []
        self.held = threading.Lock()
        self._number = number
        self._addresses = addresses
        self._random = Random(f"{kind.name} {number} {seed}")
        self._callers: dict[str, Caller] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"changes of {kind.name} {number}", daemon=True)
        self._active = [self._new() for _ in range(_ENTITIES)]

    def start(self) -> None:
        """Starts to make changes."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the change in progress."""
        self._stopping.set()
        self._thread.join()
        for caller in self._callers.values():
            caller.close()

    def go_back(self) -> None:
        """The store is an older one from now on: previous changes may be present or not, and are no longer compared."""
        with self.held:
            self.set_back += self.histories
            self.histories = []
            self._active = [self._new() for _ in range(_ENTITIES)]

    def _new(self) -> History:
        history = History(f"{self.kind.prefix}{self._number}-{len(self.set_back) + len(self.histories)}")
        self.histories.append(history)
        return history

    def _run(self) -> None:
        while not self._stopping.wait(self._random.uniform(0, 2 * _PAUSE_S)):
            with self.held:
                self._change_one()

    def _change_one(self) -> None:
        place = self._random.randrange(_ENTITIES)
        if self._active[place].is_closed:
            self._active[place] = self._new()
        history = self._active[place]
        state = self._random.choice(sorted(history.possible(), key=sorted))
        change = self.kind.draw(history.entity, state, self._random)
        if change is None:
            self._active[place] = self._new()
        else:
            self._make(history, change)

    def _make(self, history: History, change: Change) -> None:
        """One attempt at any broker that can be reached."""
        addresses = list(self._addresses())
        self._random.shuffle(addresses)
        for address in addresses:
            try:
                caller = self._callers.get(address) or Caller(address, _TIMEOUT_S, logs_in=True)
            except NotSent:
                continue
            self._callers[address] = caller
            try:
                response = caller.ask(change.request)
            except AnswerLost as error:
                self._callers.pop(address).close()
                history.lose(change, str(error) or "no answer")
            else:
                history.answer(change, self.kind.on_response(history.entity, response))
            return
