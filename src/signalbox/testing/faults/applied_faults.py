"""The faults that are applied to a cluster now."""

from __future__ import annotations

from types import TracebackType

from signalbox.testing.faults.fault import Fault, FaultConflict, Undo, check_brokers_exist
from signalbox.testing.faults.fault_text import text_of
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_thread import SwitchboardThread


class AppliedFaults:
    """Faults that were applied together. `remove` takes them back, as the end of a `with` block does."""

    def __init__(self, owner: FaultSet, faults: list[tuple[Fault, Undo]]) -> None:
        self._owner = owner
        self._faults = faults

    def __enter__(self) -> AppliedFaults:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Takes the faults back; a second call does nothing."""
        faults, self._faults = self._faults, []
        self._owner.take_back(faults)


class FaultSet:
    """All faults of one switchboard."""

    def __init__(self, board: SwitchboardThread) -> None:
        self._board = board
        self._applied: list[tuple[Fault, Undo]] = []

    def apply(self, *faults: Fault) -> AppliedFaults:
        """Applies all, or none of them: FaultConflict if one changes what another one has changed."""
        added: list[tuple[Fault, Undo]] = []
        try:
            for fault in faults:
                self._check(fault)
                entry = fault, self._board.execute(fault.apply)
                added.append(entry)
                self._applied.append(entry)
        except BaseException:
            self.take_back(added)
            raise
        return AppliedFaults(self, added)

    def _check(self, fault: Fault) -> None:
        async def check_brokers(board: Switchboard) -> None:
            check_brokers_exist(board, fault)

        self._board.execute(check_brokers)  # an id that does not exist is wrong whatever else is applied
        for other, _ in self._applied:
            common = fault.claims() & other.claims()
            if common:
                changed = ", ".join(sorted(common))
                raise FaultConflict(f"{text_of(fault)} and {text_of(other)}, which is applied, both change {changed}")

    def take_back(self, faults: list[tuple[Fault, Undo]]) -> None:
        """Takes back those of `faults` that are still applied, the last one first, also if one of them cannot be: its
        error is raised after the others are taken back."""
        applied = [entry for entry in reversed(faults) if any(entry is each for each in self._applied)]

        async def undo(_: Switchboard) -> None:
            failures: list[Exception] = []
            for fault, take_back in applied:
                try:
                    await take_back()
                except Exception as error:
                    error.add_note(f"{text_of(fault)} could not be taken back")
                    failures.append(error)
            if failures:
                raise failures[0]

        self._applied = [each for each in self._applied if not any(each is entry for entry in applied)]
        if applied:
            self._board.execute(undo)

    def take_back_all(self) -> None:
        """Takes back every fault."""
        self.take_back(list(self._applied))

    def applied(self) -> list[Fault]:
        """The faults that are applied now, in the order in which they were."""
        return [fault for fault, _ in self._applied]
