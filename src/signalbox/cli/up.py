"""`signalbox up`: a whole cluster on this host with the embedded store. Ctrl-C, or `signalbox down`, is a controlled
shutdown of all nodes. Here are its options; `local_cluster/cluster_run.py` runs the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_MOST_BROKERS = 100  # higher ids are those of dedicated controllers

Drill = Annotated[
    bool,
    typer.Option(
        help="Put a relay at the advertised address of each broker, which `signalbox drill` rewires; two more ports"
        " per broker."
    ),
]
MoreListeners = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=PROTOCOL",
        help="One more listener of clients, with relays of its own (with --drill); can be repeated.",
    ),
]


def up(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of the cluster: metadata store, a folder per node (default: ~/.local/share/signalbox/up).",
        ),
    ] = None,
    brokers: Annotated[int, typer.Option(min=1, max=_MOST_BROKERS, help="Number of brokers.")] = 3,
    controllers: Annotated[
        int, typer.Option(min=0, help="Number of dedicated controllers; 0: a broker is the controller.")
    ] = 0,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="First port: three per broker (CLIENT, REPLICATION, CONTROL), one per controller, then a metrics page"
            " per node; 0: free ports.",
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
    drill: Drill = False,
    listener: MoreListeners = None,
    override: Annotated[
        list[str] | None, typer.Option(help="key=value for every server.properties; can be repeated.")
    ] = None,
) -> None:
    """Start a cluster on this host; Ctrl-C or `signalbox down` stops it.

    Example: signalbox up --brokers 1 --topic flights:6 --detach
    """
    from signalbox.cli.connect import pairs
    from signalbox.cli.local_cluster.cluster_run import ClusterPlan, run_cluster

    run_cluster(
        ClusterPlan(
            folder=data,
            brokers=brokers,
            controllers=controllers,
            port=port,
            topics=topic or [],
            advertised_host=advertised_host,
            detached=detached,
            drill=drill,
            listeners=pairs(listener, "--listener"),
            overrides=pairs(override, "--override"),
        )
    )
