"""`signalbox up`: a whole cluster on this host with the embedded store. Ctrl-C is a controlled shutdown of all
nodes."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from signalbox.cli.connect import show
from signalbox.testing.broker_logins import names_own_security
from signalbox.testing.process_cluster import FIRST_CONTROLLER_ID, BrokerProcess, ClusterFailed, ProcessCluster


def up(
    data: Annotated[Path, typer.Option(help="Directory of the cluster: metadata store and one directory per broker.")],
    brokers: Annotated[int, typer.Option(min=1, max=FIRST_CONTROLLER_ID - 1, help="Number of brokers.")] = 3,
    controllers: Annotated[
        int, typer.Option(min=0, help="Number of dedicated controllers; 0: a broker is the controller.")
    ] = 0,
    port: Annotated[
        int,
        typer.Option(
            help="First port: three ports per broker (CLIENT, REPLICATION, CONTROL), one per controller; 0: free ports."
        ),
    ] = 19092,
    override: Annotated[
        list[str] | None, typer.Option(help="key=value for every server.properties; can be repeated.")
    ] = None,
) -> None:
    """Start a cluster on this host; Ctrl-C stops it."""
    console = Console()
    pairs = [text.partition("=") for text in override or []]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        console.print(f"--override takes key=value, not {wrong[0]!r}", style="red", markup=False)
        raise typer.Exit(2)
    own_security = names_own_security(key for key, _, _ in pairs)
    cluster = ProcessCluster(
        data.absolute(),
        brokers,
        first_port=port,
        overrides={"signalbox.advertised.check": "warn", **{key: value for key, _, value in pairs}},
        controllers=controllers,
        secured=not own_security,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for note in _notes(cluster, own_security):
            console.print(note, style="yellow", markup=False, soft_wrap=True)
        with console.status(f"starting {len(cluster.nodes)} nodes in {data}"):
            cluster.start()
        if controllers:
            show(_controllers(cluster))
        show(_overview(cluster))
        console.print(
            f"bootstrap.servers=[bold]{cluster.bootstrap()}[/bold]   Ctrl-C stops the cluster", soft_wrap=True
        )
        sys.stdout.flush()
        _watch(cluster, console)
    except ClusterFailed as failure:
        console.print(str(failure), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        with console.status("controlled shutdown"):
            cluster.stop()
        console.print("stopped")
    finally:
        cluster.stop(graceful=False)  # after a second Ctrl-C no process may be left running


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


def _overview(cluster: ProcessCluster) -> Table:
    table = Table("broker", "CLIENT", "REPLICATION", "CONTROL", "metrics", "process")
    for broker in cluster.brokers.values():
        assert broker.process is not None
        listeners = broker.ready["listeners"]  # an edited server.properties may have other listeners
        table.add_row(
            str(broker.node_id),
            listeners.get("CLIENT", "-"),
            ":" + listeners.get("REPLICATION", "-").rpartition(":")[2],
            ":" + listeners.get("CONTROL", "-").rpartition(":")[2],
            str(broker.ready.get("metrics", "")).removeprefix("http://"),
            str(broker.process.pid),
        )
    return table


def _controllers(cluster: ProcessCluster) -> Table:
    """A table apart from the brokers': clients do not connect to controllers."""
    table = Table("controller", "CONTROLLER", "metrics", "process")
    for controller in cluster.controllers.values():
        assert controller.process is not None
        table.add_row(
            str(controller.node_id),
            controller.address("CONTROLLER"),
            str(controller.ready.get("metrics", "")).removeprefix("http://"),
            str(controller.process.pid),
        )
    return table


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
