"""The demo's steps, on a cluster of its own."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from signalbox.cli.demo.control_plane import reject_data, watch_latency
from signalbox.cli.demo.failover import kill_the_controller
from signalbox.cli.demo.flights import load_flights
from signalbox.cli.demo.forwarding import create_through_another_broker
from signalbox.cli.demo.misroute import swap_addresses
from signalbox.cli.demo.page import page_faults, write_page
from signalbox.cli.demo.records import produce_flights, read_back
from signalbox.cli.demo.stage import Stage, listing
from signalbox.cli.demo.tables import make_tables
from signalbox.pipeline.options import OptionError
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.switchboard_thread import SwitchboardThread

_BROKERS = (1, 2, 3)


def run_demo(folder: Path, *, keep: bool) -> None:
    """Runs all steps in `folder`; exit code 1 at the first check that fails. `keep`: the cluster runs until Ctrl-C."""
    console = Console()
    with SwitchboardThread() as switchboard:
        stage = Stage(console, folder, demo_cluster(folder, switchboard), switchboard)
        started = time.monotonic()
        try:
            page = _run_steps(stage)
            _summary(stage, time.monotonic() - started, page)
            if keep:
                _hold(stage)
        except (RuntimeError, OptionError) as failure:  # of a check, the cluster or the pipeline
            console.print(str(failure), style="red", markup=False, soft_wrap=True)
            _print_totals(stage, failed=1)
            raise typer.Exit(1) from None
        finally:
            stage.cluster.stop()


def demo_cluster(folder: Path, switchboard: SwitchboardThread) -> ProcessCluster:
    """Three brokers, each with a fourth listener, ROUTED, which clients reach only through the switchboard."""
    per_broker = {}
    for node_id in _BROKERS:
        host, port = switchboard.add_line(f"broker-{node_id}")
        listeners = ",".join(f"{name}://127.0.0.1:0" for name in ("CLIENT", "REPLICATION", "CONTROL", "ROUTED"))
        per_broker[node_id] = {
            "listeners": listeners,
            "advertised.listeners": listeners.replace("ROUTED://127.0.0.1:0", f"ROUTED://{host}:{port}"),
            "listener.security.protocol.map": ",".join(
                f"{name}:PLAINTEXT" for name in ("CLIENT", "REPLICATION", "CONTROL", "ROUTED")
            ),
        }
    overrides = {"group.initial.rebalance.delay.ms": "1000"}
    return ProcessCluster(folder / "cluster", len(_BROKERS), overrides=overrides, per_broker=per_broker)


def _run_steps(stage: Stage) -> Path:
    with stage.step("Three brokers, three processes, listeners CLIENT, REPLICATION, CONTROL (forced)"):
        stage.cluster.start()
        for node_id, broker in stage.cluster.brokers.items():
            host, _, port = str(broker.ready["bound"]["ROUTED"]).rpartition(":")
            stage.switchboard.set_home(f"broker-{node_id}", (host, int(port)))
        ids = {broker.ready["cluster_id"] for broker in stage.cluster.brokers.values()}
        stage.check("one cluster id on all brokers", len(ids) == 1, listing(ids))
    with stage.step("Topic flights through a broker that is not the controller"):
        create_through_another_broker(stage)
        with watch_latency(stage, "idle"):
            time.sleep(1.5)
    with stage.step("Real input: the flights that left New York in 2013"):
        flights = load_flights()
        stage.say(f"{len(flights.rows):,} flights loaded")
        with watch_latency(stage, "while producing"):
            produce_flights(stage, flights)
        read_back(stage, flights)
    with stage.step("The control plane rejects data"):
        reject_data(stage)
    with stage.step("Two brokers' addresses are swapped"):
        swap_addresses(stage)
    with stage.step("The controller is killed while producing goes on"):
        kill_the_controller(stage)
    with stage.step("Spark: flights and audit trail become tables"):
        figures = make_tables(stage, flights)
    with stage.step("Report"):
        page = write_page(stage, figures)
        faults = page_faults(page, stage)
        stage.check(
            "the report shows every check and loads nothing from elsewhere", not faults, listing(faults or [page])
        )
    return page


def _summary(stage: Stage, seconds: float, page: Path) -> None:
    table = Table("step", "what was checked", "seen", title=f"{len(stage.checks)} checks held in {seconds:.0f} s")
    last = ""
    for check in stage.checks:
        table.add_row("" if check.step == last else check.step, check.claim, check.seen)
        last = check.step
    stage.console.print(table)
    stage.console.print(f"report: {page}", soft_wrap=True, highlight=False)
    _print_totals(stage, failed=0)


def _print_totals(stage: Stage, failed: int) -> None:
    """Prints the last line, as all targets except benchmarks do: the first check that fails ends the demo."""
    stage.console.print(f"{len(stage.checks)} passed, {failed} failed", highlight=False)


def _hold(stage: Stage) -> None:
    stage.console.print(f"bootstrap.servers={stage.cluster.bootstrap()}   Ctrl-C stops the cluster", soft_wrap=True)
    stage.console.print(f"try: kcat -b {stage.cluster.bootstrap().split(',')[0]} -L", soft_wrap=True, highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        stage.console.print("stopping")
