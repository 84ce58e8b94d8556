"""`signalbox up`: a whole cluster on this host with the embedded store. Ctrl-C, or `signalbox down`, is a controlled
shutdown of all nodes."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console

from signalbox.cli.connect import draw, fail, pairs
from signalbox.cli.local_cluster.cluster_folder import AlreadyRuns, claim, default_folder, rotate_logs
from signalbox.cli.local_cluster.cluster_start import cause_first, create_topics, parse_topic
from signalbox.cli.local_cluster.detached import Detached, detach
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.testing.broker_logins import names_own_security
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import FIRST_CONTROLLER_ID, BrokerProcess, ClusterFailed, ProcessCluster

_METRICS_PORT = "signalbox.metrics.http.port"
_OF_UP = {
    "signalbox.advertised.check": "warn",
    "group.initial.rebalance.delay.ms": "0",  # the first member of a group does not wait for others
}


@dataclass(frozen=True, slots=True)
class Ports:
    """Three ports per broker (CLIENT, REPLICATION, CONTROL), one per controller, one metrics page per node."""

    first: int
    brokers: int
    controllers: int

    @classmethod
    def of(cls, first: int, brokers: int, controllers: int) -> Ports:
        """`first` 0 takes free ports."""
        return cls(first or consecutive_ports(4 * brokers + 2 * controllers, Random()), brokers, controllers)

    def of_node(self, node_id: int, advertised_host: str | None, overrides: dict[str, str]) -> dict[str, str]:
        """The keys of one node that depend on its ports; `overrides` have their way."""
        is_broker = node_id < FIRST_CONTROLLER_ID
        index = node_id - 1 if is_broker else self.brokers + node_id - FIRST_CONTROLLER_ID
        keys = {_METRICS_PORT: str(self.first + 3 * self.brokers + self.controllers + index)}
        if advertised_host is not None and is_broker:
            client = self.first + 3 * index
            inner = f"REPLICATION://127.0.0.1:{client + 1},CONTROL://127.0.0.1:{client + 2}"
            keys["listeners"] = f"CLIENT://0.0.0.0:{client},{inner}"
            keys["advertised.listeners"] = f"CLIENT://{advertised_host}:{client},{inner}"
        return {key: value for key, value in keys.items() if key not in overrides}


def up(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of the cluster: metadata store, a folder per node (default: ~/.local/share/signalbox/up).",
        ),
    ] = None,
    brokers: Annotated[int, typer.Option(min=1, max=FIRST_CONTROLLER_ID - 1, help="Number of brokers.")] = 3,
    controllers: Annotated[
        int, typer.Option(min=0, help="Number of dedicated controllers; 0: a broker is the controller.")
    ] = 0,
    port: Annotated[
        int,
        typer.Option(
            help="First port: three per broker (CLIENT, REPLICATION, CONTROL), one per controller, then a metrics page"
            " per node; 0: free ports."
        ),
    ] = 19092,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:PARTITIONS[:RF]]", help="A topic to create; can be repeated."),
    ] = None,
    advertised_host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Accept clients of other hosts, which reach this one by HOST."),
    ] = None,
    detached: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when the cluster is ready; `signalbox down` stops it.")
    ] = False,
    override: Annotated[
        list[str] | None, typer.Option(help="key=value for every server.properties; can be repeated.")
    ] = None,
) -> None:
    """Start a cluster on this host; Ctrl-C or `signalbox down` stops it.

    Example: signalbox up --brokers 1 --topic flights:6 --detach
    """
    overrides = pairs(override, "--override")
    try:
        topics = [parse_topic(text) for text in topic or []]
    except ValueError as error:
        fail(str(error), code=2)
    folder = (data or default_folder()).absolute()
    ports = Ports.of(port, brokers, controllers)
    own_security = names_own_security(overrides)
    cluster = ProcessCluster(
        folder,
        brokers,
        first_port=ports.first,
        overrides={**_OF_UP, **overrides},
        controllers=controllers,
        secured=not own_security,
    )
    for node_id in cluster.nodes:
        cluster.configure(node_id, ports.of_node(node_id, advertised_host, overrides))
    background = detach(folder / "up.log") if detached and _made(folder) else None
    with ExitStack() as stack:
        try:
            stack.enter_context(claim(folder))
        except AlreadyRuns as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename} cannot be written: {error.strerror}")
        _run(cluster, topics, own_security, background)


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}")
    return True


def _run(cluster: ProcessCluster, topics: list[NewTopic], own_security: list[str], background: Detached | None) -> None:
    """Run the cluster until Ctrl-C or SIGTERM, or until no node is left."""
    console = Console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for note in _notes(cluster, own_security):
            console.print(note, style="yellow", markup=False, soft_wrap=True)
        rotate_logs(node.log_file for node in cluster.nodes.values())
        with console.status(f"starting {len(cluster.nodes)} nodes in {cluster.folder}"):
            cluster.start()
            errors = create_topics(cluster.bootstrap(), topics)
        _show(cluster, errors, console, background)
        _watch(cluster, console)
    except ClusterFailed as failure:
        cause, *rest = cause_first(str(failure))
        console.print(cause, style="red", markup=False, highlight=False, soft_wrap=True)
        for line in rest:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        with console.status("controlled shutdown"):
            cluster.stop()
        console.print("stopped")
    finally:
        cluster.stop(graceful=False)  # after a second Ctrl-C no process may be left running


def _show(cluster: ProcessCluster, errors: list[str], console: Console, background: Detached | None) -> None:
    if cluster.controllers:
        draw(_controllers(cluster))
    draw(_overview(cluster))
    for error in errors:
        console.print(error, style="red", markup=False, highlight=False, soft_wrap=True)
    stop = f"signalbox down --data {cluster.folder}" if background is not None else "Ctrl-C"
    console.print(f"bootstrap.servers=[bold]{cluster.bootstrap()}[/bold]   {stop} stops the cluster", soft_wrap=True)
    sys.stdout.flush()
    if background is not None:
        background.ready()


def _notes(cluster: ProcessCluster, own_security: list[str]) -> Iterator[str]:
    """Write the files; returns notes for the user."""
    for file in cluster.write_files():
        yield (
            f"{file} was edited (or written by an older version) and is used as it is: --port and --override do "
            "not apply to it. Delete it to have it generated again."
        )
    if own_security:
        yield f"Traffic between brokers is not secured by up: --override sets {', '.join(own_security)}."
    elif not cluster.secured:
        yield (
            "Traffic between brokers is not secured by up: an edited server.properties has no logins for it. Delete it "
            "to have all generated with them."
        )


def _overview(cluster: ProcessCluster) -> Listing:
    table = Listing("broker", "CLIENT", "REPLICATION", "CONTROL", "metrics", "process")
    for broker in cluster.brokers.values():
        assert broker.process is not None
        listeners = broker.ready["listeners"]  # an edited server.properties may have other listeners
        table.add(
            broker.node_id,
            listeners.get("CLIENT", "-"),
            ":" + listeners.get("REPLICATION", "-").rpartition(":")[2],
            ":" + listeners.get("CONTROL", "-").rpartition(":")[2],
            _metrics_address(broker),
            broker.process.pid,
        )
    return table


def _controllers(cluster: ProcessCluster) -> Listing:
    """A table apart from the brokers': clients do not connect to controllers."""
    table = Listing("controller", "CONTROLLER", "metrics", "process")
    for controller in cluster.controllers.values():
        assert controller.process is not None
        address = controller.address("CONTROLLER")
        table.add(controller.node_id, address, _metrics_address(controller), controller.process.pid)
    return table


def _metrics_address(node: BrokerProcess) -> str:
    return str(node.ready.get("metrics", "")).removeprefix("http://")


def _watch(cluster: ProcessCluster, console: Console) -> None:
    """Report each node that ends by itself; return when none is left."""
    ends = select.poll()
    watched: dict[int, BrokerProcess] = {}
    for broker in cluster.nodes.values():
        assert broker.process is not None
        handle = os.pidfd_open(broker.process.pid)
        watched[handle] = broker
        ends.register(handle, select.POLLIN)
    while watched:
        for handle, _ in ends.poll():
            broker = watched.pop(handle)
            ends.unregister(handle)
            os.close(handle)
            assert broker.process is not None
            code = broker.process.wait()
            console.print(f"{broker.name} ended with code {code}; its log: {broker.log_file}", style="red")
    raise typer.Exit(1)
