"""The metadata stores that a run can use: the brokers' settings for it, the reader of its state, its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tools.chaos.faults.injector import Act
from tools.chaos.faults.store_copies import PutBack, back_up_ensemble, back_up_file
from tools.chaos.faults.store_faults import ensemble_faults, file_faults
from tools.chaos.faults.switchboard_process import SwitchboardProcess
from tools.chaos.plan import Kind
from tools.chaos.state_reader import StateReader, state_in_file, state_in_zookeeper
from tools.chaos.writers.observed_broker import history_of_file, make_observed
from tools.chaos.writers.one_writer import Written
from tools.chaos.writers.transaction_log import history_of_log

_CHROOT = "/signalbox"
_MOST_BROKERS = 9


@dataclass(frozen=True, slots=True)
class Store:
    """`settings` go into each broker's properties, `per_broker` into that broker's, `module` is what brokers run;
    `history` returns the writes and their writers when the run is over; `back_up` copies all of it, and returns a
    function that restores the copy while no broker runs."""

    settings: dict[str, str]
    state: Callable[[], AbstractContextManager[StateReader]]
    acts: Callable[[ProcessCluster], Mapping[Kind, Act]]
    history: Callable[[], Iterable[Written]]
    back_up: Callable[[], PutBack]
    module: str = "signalbox.wiring.serve"
    per_broker: dict[int, dict[str, str]] = field(default_factory=dict)


@contextmanager
def _sqlite(folder: Path, session_ms: int, board: SwitchboardProcess | None = None) -> Iterator[Store]:
    file = folder / "metadata.db"
    make_observed(file)
    yield Store(
        {"signalbox.metadata.store": f"sqlite:{file}", "broker.session.timeout.ms": str(session_ms)},
        partial(state_in_file, file),
        lambda cluster: file_faults(cluster, file),
        partial(history_of_file, file),
        partial(back_up_file, file),
        module="tools.chaos.writers.observed_broker",
    )


@contextmanager
def _zookeeper(folder: Path, session_ms: int, board: SwitchboardProcess | None = None) -> Iterator[Store]:
    """With a switchboard every broker reaches the ensemble by a line of its own."""
    with ensemble(folder) as (server,):
        lines: dict[int, str] = {}
        per_broker = {}
        for broker_id in range(1, _MOST_BROKERS + 1):
            if board is not None:
                lines[broker_id] = f"store of broker {broker_id}"
                host, port = board.add_line(lines[broker_id], ("127.0.0.1", server.port))
                per_broker[broker_id] = {"signalbox.metadata.store": f"zookeeper:{host}:{port}{_CHROOT}"}
        yield Store(
            {
                "signalbox.metadata.store": f"zookeeper:{server.address}{_CHROOT}",
                "zookeeper.session.timeout.ms": str(session_ms),
            },
            partial(state_in_zookeeper, server.address + _CHROOT),
            lambda cluster: ensemble_faults(server, board, lines),
            partial(history_of_log, server.data_folder, _CHROOT),
            partial(back_up_ensemble, server),
            per_broker=per_broker,
        )


STORES: dict[str, Callable[..., AbstractContextManager[Store]]] = {"sqlite": _sqlite, "zookeeper": _zookeeper}
"""By name: starts the store in a folder, with a session timeout in ms and an optional switchboard."""
