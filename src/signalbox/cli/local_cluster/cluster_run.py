"""The cluster of `signalbox up`: its configuration, its start, what is printed about it, and its end."""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from signalbox.cli.connect import draw_within, fail, tell, terminal_width
from signalbox.cli.local_cluster.cluster_folder import (
    AlreadyRuns,
    ForeignFolder,
    chosen_folder,
    claim,
    default_folder,
    make_folder,
    rotate_logs,
)
from signalbox.cli.local_cluster.cluster_ports import Ports
from signalbox.cli.local_cluster.cluster_start import cause_first, create_topics, parse_topic
from signalbox.cli.local_cluster.detached import Detached, detach
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.common.config.properties_file import Properties
from signalbox.configuration.check.config_warnings import unknown_keys
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.testing.broker_logins import names_own_security
from signalbox.testing.control.drill_relays import KIT, DrillRelays
from signalbox.testing.kafka_cluster.cluster_options import SECURITY_PROTOCOLS
from signalbox.testing.process_cluster import FIRST_CONTROLLER_ID, BrokerProcess, ClusterFailed, ProcessCluster

_NAMES_OF_UP = ("CLIENT", "REPLICATION", "CONTROL", "CONTROLLER", KIT)
_PROTOCOLS = "listener.security.protocol.map"
_OF_UP = {
    "signalbox.advertised.check": "warn",
    "group.initial.rebalance.delay.ms": "0",  # the first member of a group does not wait for others
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The options of `up`. `folder` None: the default one; `port` 0: free ports. `listeners`: further ones of clients,
    with their security protocols."""

    folder: Path | None
    brokers: int
    controllers: int
    port: int
    topics: list[str]
    advertised_host: str | None
    detached: bool
    drill: bool
    listeners: dict[str, str]
    overrides: dict[str, str]


def run_cluster(plan: ClusterPlan) -> None:
    """Run the cluster until Ctrl-C, in the background with `detached`. Wrong options end the command."""
    overrides = plan.overrides
    _warn_of_unknown(overrides)
    try:
        topics = [parse_topic(text) for text in plan.topics]
        folder = chosen_folder(plan.folder)
    except ValueError as error:
        fail(str(error), code=2)
    _reject_listeners(plan.listeners, plan.drill)
    if plan.drill:
        overrides = _for_relays(overrides, plan.advertised_host, plan.listeners)
    ports = Ports.of(plan.port, plan.brokers, plan.controllers, plan.drill, tuple(plan.listeners))
    cluster = _cluster(folder, ports, overrides, plan.advertised_host)
    cluster.more_listeners |= plan.listeners
    properties = {node_id: broker.properties_file for node_id, broker in cluster.brokers.items()}
    relays = DrillRelays(folder, ports.relayed(), properties) if plan.drill else None
    with ExitStack() as stack:
        try:
            make_folder(folder)
            background = detach(folder / "up.log") if plan.detached else None
            stack.enter_context(claim(folder))
        except (AlreadyRuns, ForeignFolder) as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename} cannot be written: {error.strerror}")
        _run(cluster, topics, names_own_security(overrides), background, relays)


def _cluster(folder: Path, ports: Ports, overrides: dict[str, str], advertised_host: str | None) -> ProcessCluster:
    cluster = ProcessCluster(
        folder,
        ports.brokers,
        first_port=ports.first,
        overrides={**_OF_UP, **overrides},
        controllers=ports.controllers,
        secured=not names_own_security(overrides),
    )
    for node_id in cluster.nodes:
        cluster.configure(node_id, ports.of_node(node_id, advertised_host, overrides))
    if ports.drill:
        cluster.more_listeners = {KIT: "PLAINTEXT"}
    return cluster


def _warn_of_unknown(overrides: dict[str, str]) -> None:
    """The same warning is in the logs of the brokers, which are seldom read after a start without faults."""
    origin = "--override"
    for warning in unknown_keys(Properties(origin, overrides, elsewhere=dict.fromkeys(overrides, origin)), NODE_CONFIG):
        typer.secho(f"warning: {warning}", fg="yellow", err=True)


def _reject_listeners(listeners: dict[str, str], drill: bool) -> None:
    if listeners and not drill:
        fail("--listener adds relays: give --drill, too", code=2)
    for name, protocol in listeners.items():
        if not name.isalnum() or name.upper() in _NAMES_OF_UP:
            fail(f"--listener {name}={protocol}: take another name than {', '.join(_NAMES_OF_UP)}", code=2)
        if protocol not in SECURITY_PROTOCOLS:
            fail(f"--listener {name}={protocol}: the protocol is one of {', '.join(SECURITY_PROTOCOLS)}", code=2)


def _for_relays(overrides: dict[str, str], advertised_host: str | None, more: dict[str, str]) -> dict[str, str]:
    """The overrides of a cluster with relays. What users set for themselves and a drill sets, too, ends the command."""
    if advertised_host is not None:
        fail("--drill has relays on this host only: leave out --advertised-host", code=2)
    for key in ("listeners", "advertised.listeners"):
        if key in overrides:
            fail(f"--drill sets {key}: leave out --override {key}", code=2)
    if _PROTOCOLS not in overrides:
        return overrides
    own = "".join(f",{name}:{protocol}" for name, protocol in {KIT: "PLAINTEXT", **more}.items())
    return overrides | {_PROTOCOLS: f"{overrides[_PROTOCOLS]}{own}"}


def _run(
    cluster: ProcessCluster,
    topics: list[NewTopic],
    own_security: list[str],
    background: Detached | None,
    relays: DrillRelays | None,
) -> None:
    """Run the cluster until Ctrl-C or SIGTERM, or until no node is left."""
    console = Console(stderr=shared().as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stack = ExitStack()  # relays end after the brokers: a controlled shutdown moves leaders, and clients follow
    try:
        for note in _notes(cluster, own_security):
            console.print(note, style="yellow", markup=False, soft_wrap=True)
        if relays is not None:
            _open(relays, stack)  # they read the brokers' server.properties
        rotate_logs(node.log_file for node in cluster.nodes.values())
        with console.status(f"starting {len(cluster.nodes)} nodes in {cluster.folder}"):
            cluster.start()
            errors = create_topics(cluster.bootstrap() if relays is None else relays.kit_bootstrap, topics)
        _show(cluster, errors, console, background)
        if relays is not None:
            _say_drill(cluster, relays, console)
        _ready(background, 1 if errors else 0)
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
        stack.close()


def _open(relays: DrillRelays, stack: ExitStack) -> None:
    try:
        stack.enter_context(relays)
    except OSError as error:
        raise ClusterFailed(f"a relay of --drill cannot listen: {error.strerror}; --port 0 takes free ports") from error


def _show(cluster: ProcessCluster, errors: list[str], console: Console, background: Detached | None) -> None:
    for error in errors:
        console.print(error, style="red", markup=False, highlight=False, soft_wrap=True)
    if shared().as_json:
        tell(_document(cluster), "")
        return
    width = terminal_width() if background is None else background.width
    if cluster.controllers:
        draw_within(_controllers(cluster), width)
    draw_within(_overview(cluster), width)
    stop = f"signalbox down --data {shlex.quote(str(cluster.folder))}" if background is not None else "Ctrl-C"
    address = f"bootstrap.servers=[bold]{cluster.bootstrap()}[/bold]"
    console.print(f"{address}   {escape(stop)} stops the cluster", soft_wrap=True)


def _say_drill(cluster: ProcessCluster, relays: DrillRelays, console: Console) -> None:
    at = "" if cluster.folder == default_folder().absolute() else f" --data {shlex.quote(str(cluster.folder))}"
    console.print(
        f"`signalbox drill -h` names the faults, for example: signalbox drill swap 1 2{escape(at)}", soft_wrap=True
    )
    console.print(f"past all faults (listener {KIT}): {relays.kit_bootstrap}", soft_wrap=True)


def _ready(background: Detached | None, code: int) -> None:
    sys.stdout.flush()
    if background is not None:
        background.ready(code)


def _notes(cluster: ProcessCluster, own_security: list[str]) -> Iterator[str]:
    """Write the files; returns notes for the user."""
    for file in cluster.write_files():
        yield (
            f"{file} was edited (or written by an older version) and is used as it is: --port and --override do "
            "not apply to it. Delete it to have it generated again."
        )
    if idle := _idle_brokers(cluster):
        yield (
            f"{cluster.folder} has broker {' and '.join(map(str, idle))}, too, which this command does not start:"
            " partitions whose replicas are all there are offline, groups and transactions included. More --brokers"
            " start them."
        )
    if own_security:
        yield f"Traffic between brokers is not secured by up: --override sets {', '.join(own_security)}."
    elif not cluster.secured:
        yield (
            "Traffic between brokers is not secured by up: an edited server.properties has no logins for it. Delete it "
            "to have all generated with them."
        )


def _idle_brokers(cluster: ProcessCluster) -> list[int]:
    """The ids of brokers that have data in the folder and are none of the cluster's."""
    ids = range(len(cluster.brokers) + 1, FIRST_CONTROLLER_ID)
    return [node_id for node_id in ids if (cluster.folder / f"broker-{node_id}" / "data").is_dir()]


def _document(cluster: ProcessCluster) -> dict[str, object]:
    """What `--json` prints: the addresses that clients, operators and scripts need."""
    nodes = Listing("node", "role", "listeners", "metrics", "process")
    for node in cluster.nodes.values():
        assert node.process is not None
        role = "controller" if node.node_id in cluster.controllers else "broker"
        nodes.add(node.node_id, role, node.ready["listeners"], _metrics_address(node) or None, node.process.pid)
    return {"folder": str(cluster.folder), "bootstrap_servers": cluster.bootstrap(), "nodes": nodes}


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
