"""One writer per controller epoch, judged by the sessions that the store's own history names. Pure.

Who claims `/controller_epoch` is the controller until somebody else does. Everything that is the controller's to write
must be written by that very session: a broker that lost its session and claims anew is another writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from signalbox.metadata import layout

# What every broker writes: its registration, its claim, the news of its directories, the secret when it comes first.
_OF_ALL = (layout.BROKER_IDS, layout.CONTROLLER, layout.BROKER_SEQUENCE, layout.LOG_DIR_EVENTS, layout.SALT_SECRET)
# News of changes, not the changes: the controller writes them with what changed, every broker clears old ones away.
_NEWS = (layout.CONFIG_CHANGES, layout.ACL_CHANGES, layout.EXTENDED_ACL_CHANGES, layout.TOKEN_CHANGES)
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Written:
    """One entry that was made, written or deleted. `order` grows with every commit; all of one commit share it."""

    order: int
    session_id: int
    path: str


@dataclass(frozen=True, slots=True)
class Writers:
    """`epochs`: the broker (-1: not known) of each epoch from 1 on; `commits` are those of controllers."""

    epochs: tuple[int, ...]
    commits: int
    intruders: tuple[str, ...]


def judge_writers(history: Iterable[Written]) -> Writers:
    """Walk through a store's history from its beginning, in order."""
    brokers: dict[int, int] = {}
    epochs: list[int] = []
    commits: set[int] = set()
    intruders: list[str] = []
    controller = 0
    # The entry is first made, as epoch 0 of nobody.
    for written in history:
        if written.path.startswith(layout.BROKER_IDS + "/"):
            # The controller removes the dead: only the first to write a registration need be its broker.
            brokers.setdefault(written.session_id, int(written.path.rpartition("/")[2]))
        if written.path == layout.CONTROLLER_EPOCH:
            controller = written.session_id
            epochs.append(written.session_id)
        elif epochs and _is_the_controllers(written.path):  # before the first claim all brokers lay the ground
            commits.add(written.order)
            if written.session_id != controller:
                intruders.append(
                    f"commit {written.order} to {written.path} by {_named(brokers, written.session_id)} in epoch "
                    f"{len(epochs) - 1}, whose controller is {_named(brokers, controller)}"
                )
    return Writers(tuple(brokers.get(each, -1) for each in epochs[1:]), len(commits), _some(intruders))


def _is_the_controllers(path: str) -> bool:
    return not any(path == each or path.startswith(each + "/") for each in _OF_ALL + _NEWS)


def _named(brokers: Mapping[int, int], session_id: int) -> str:
    return f"broker {brokers.get(session_id, '?')} (session {session_id:x})"


def _some(cases: Sequence[str]) -> tuple[str, ...]:
    more = len(cases) - _EXAMPLES
    return (*cases[:_EXAMPLES], *([f"and {more} more"] if more > 0 else []))
