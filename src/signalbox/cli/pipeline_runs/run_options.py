"""Options that the commands with a Spark run share, where a run reports to (lines or bars, and
metrics), and whether it can reach its cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from signalbox.cli import connect
from signalbox.cli.pipeline_runs.progress_bar import shown_progress
from signalbox.cli.shell.instants import instant_ms
from signalbox.pipeline.events import EventListener, PipelineEvent

if TYPE_CHECKING:
    from signalbox.client.cluster_client import ClusterClient
    from signalbox.pipeline.options import RunOptions

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3_600.0}

Warehouse = Annotated[
    str, typer.Option(metavar="LOCATION", help="Folder or s3://bucket/prefix of the tables; a store's login: AWS_….")
]
CheckpointLocation = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Local folder of Spark's checkpoint and the tables' state. Default: the warehouse."
    ),
]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval",
        "--every",
        metavar="TIME",
        help="Run until a signal, a batch at this interval: 10s, 500ms, 2m. Default: exit when all records are read.",
    ),
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark, as in spark-submit.")]
Ui = Annotated[bool, typer.Option("--ui", help="Serve Spark's own pages; the address is printed.")]
Memory = Annotated[str, typer.Option(help="Memory of the driver's JVM.")]
FailOnDataLoss = Annotated[
    bool,
    typer.Option(
        "--fail-on-data-loss/--no-fail-on-data-loss",
        help="End if retention deleted records before they were read; else note the gap and go on behind it.",
    ),
]
MetricsPort = Annotated[
    int | None, typer.Option(help="Serve Prometheus metrics of the run at this port of 127.0.0.1; 0 takes a free one.")
]


def seconds_of(interval: str | None) -> float | None:
    """Seconds of `10s`, `500ms`, `2m`, `1h` or `10`; an invalid text ends the command."""
    if interval is None:
        return None
    match = _DURATION.fullmatch(interval)
    if match is None:
        connect.fail(f"--interval: {interval!r} is no time: expected 10s, 500ms, 2m, 1h or a number of seconds", code=2)
    return float(match[1]) * _UNIT_SECONDS[match[2]]


def position_of(which: str, offsets: str | None, timestamp: str | None) -> str | None:
    """The position of --starting-… or --ending-…, of whose two options one may be set."""
    if offsets is not None and timestamp is not None:
        connect.fail(f"--{which}-offsets and --{which}-timestamp exclude each other", code=2)
    if timestamp is None:
        return offsets
    try:
        return f"@{instant_ms(timestamp)}"
    except ValueError as error:
        connect.fail(f"--{which}-timestamp: {error}", code=2)


def spark_options(conf: list[str] | None, ui: bool) -> Mapping[str, str]:
    """Spark's settings of --conf and --ui."""
    settings = {"spark.ui.enabled": "true"} if ui else {}
    return {**settings, **connect.pairs(conf, "--conf")}


def spark_fields(
    profile: str, commit: str, master: str, memory: str, conf: list[str] | None, ui: bool
) -> dict[str, Any]:
    """The fields of RunOptions that say how Spark runs."""
    return {
        "profile": profile,
        "commit": commit,
        "master": master,
        "memory": memory,
        "spark_options": spark_options(conf, ui),
    }


@dataclass(frozen=True, slots=True)
class RunReport:
    """Where a run reports to."""

    say: Callable[[str], None]
    listener: EventListener


@contextmanager
def reported_run(*, as_json: bool, metrics_port: int | None) -> Iterator[RunReport]:
    """Lines and bars on standard output (standard error beside a JSON result), and the page of metrics."""
    console = connect.errors if as_json else connect.console
    listeners: list[EventListener] = []

    def report(event: PipelineEvent) -> None:
        for listener in listeners:
            listener(event)

    with ExitStack() as stack:
        say, bars = stack.enter_context(shown_progress(console))
        if bars is not None:
            listeners.append(bars)
        if metrics_port is not None:
            from signalbox.pipeline.observe.run_metrics import ADDRESS, RunMetrics

            metrics = RunMetrics()
            listeners.append(metrics)
            say(f"metrics: http://{ADDRESS}:{stack.enter_context(metrics.served(metrics_port))}/metrics")
        yield RunReport(say, report)


def fail_run(error: Exception) -> NoReturn:
    """End the command: with status 2 if an option is wrong, so that a service manager does not start it again."""
    from signalbox.pipeline.options import OptionError

    connect.fail(str(error), code=2 if isinstance(error, OptionError) else 1)


def reject_unreachable(options: RunOptions) -> None:
    """End the command if no broker serves it, before Spark and librdkafka are loaded: librdkafka retries for half a
    minute at a port that will never serve it, and names keys that are not those of --command-config.

    Options with faults are left to the run, which reports all of them; so are properties that only the run's clients
    can use, such as Kerberos."""
    if options.faults() or not _is_usable(options):
        return
    connect.run_client(_first_request)


def _is_usable(options: RunOptions) -> bool:
    from signalbox.client.client_settings import ClientSettings
    from signalbox.client.failures import ConfigRejected

    try:
        ClientSettings.from_properties({**options.client_options, "bootstrap.servers": options.bootstrap_servers})
    except ConfigRejected:
        return False
    return True


async def _first_request(client: ClusterClient) -> None:
    from signalbox.client.admin_apis.cluster_admin import ClusterAdmin

    await ClusterAdmin(client).describe_cluster()
