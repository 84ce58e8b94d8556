"""One writer per controller epoch, checked by the sessions in the store's own history. Pure.

The session that writes `/controller_epoch` is the controller until another session writes it. Every entry of the
controller must be written by that session: a broker that lost its session and claims again is another writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from signalbox.metadata import layout

# Written by every broker: its registration, its claim, the notifications of its directories, the secret if it is the
# first to start, the generation of the store.
_OF_ALL = (
    *(layout.BROKER_IDS, layout.CONTROLLER, layout.BROKER_SEQUENCE, layout.LOG_DIR_EVENTS),
    *(layout.SALT_SECRET, layout.STORE_INCARNATION),
)
# Notifications of changes: the controller writes them together with the changes, every broker deletes old ones.
_NOTIFICATIONS = (layout.CONFIG_CHANGES, layout.ACL_CHANGES, layout.EXTENDED_ACL_CHANGES, layout.TOKEN_CHANGES)
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Written:
    """One entry that was created, written or deleted. `order` grows with every commit; all of one commit share it."""

    order: int
    session_id: int
    path: str


@dataclass(frozen=True, slots=True)
class Writers:
    """`epochs`: the broker (-1: not known) of each epoch from 1 on; `commits` are those of controllers."""

    epochs: tuple[int, ...]
    commits: int
    intruders: tuple[str, ...]


def check_writers(history: Iterable[Written], store_went_back: bool = False) -> Writers:
    """Checks a store's history from its beginning, in order. If `store_went_back`, the history also holds the writes of
    the command that accepts the older store: its sessions never register, and no broker runs at that time."""
    rows = list(history)
    registered = {row.session_id for row in rows if row.path.startswith(layout.BROKER_IDS + "/")}
    brokers: dict[int, int] = {}
    epochs: list[int] = []
    commits: set[int] = set()
    intruders: list[str] = []
    controller = 0
    # The first write creates the entry, with epoch 0, before any controller exists.
    for written in rows:
        if store_went_back and written.session_id not in registered and written.path != layout.CONTROLLER_EPOCH:
            continue
        if written.path.startswith(layout.BROKER_IDS + "/"):
            # The controller deletes registrations of dead brokers: only the first writer of one must be its broker.
            brokers.setdefault(written.session_id, int(written.path.rpartition("/")[2]))
        if written.path == layout.CONTROLLER_EPOCH:
            controller = written.session_id
            epochs.append(written.session_id)
        elif epochs and _is_the_controllers(written.path):  # before the first claim all brokers create the base paths
            commits.add(written.order)
            if written.session_id != controller:
                intruders.append(
                    f"commit {written.order} to {written.path} by {_named(brokers, written.session_id)} in epoch "
                    f"{len(epochs) - 1}, whose controller is {_named(brokers, controller)}"
                )
    return Writers(tuple(brokers.get(each, -1) for each in epochs[1:]), len(commits), _some(intruders))


def _is_the_controllers(path: str) -> bool:
    return not any(path == each or path.startswith(each + "/") for each in _OF_ALL + _NOTIFICATIONS)


def _named(brokers: Mapping[int, int], session_id: int) -> str:
    return f"broker {brokers.get(session_id, '?')} (session {session_id:x})"


def _some(cases: Sequence[str]) -> tuple[str, ...]:
    more = len(cases) - _EXAMPLES
    return (*cases[:_EXAMPLES], *([f"and {more} more"] if more > 0 else []))
