"""Shared by the steps of the demo: the running cluster, the folder, facts for the report, counted checks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from signalbox.cli.broker_page import read_page
from signalbox.client.failures import ClientFailure
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.switchboard_thread import SwitchboardThread


class CheckFailed(RuntimeError):
    """A check of a step failed."""


class StepFailed(RuntimeError):
    """A client, a socket or a file failed in a step."""


@dataclass
class Check:
    """One check that passed: the expected result and the observed one."""

    step: str
    claim: str
    seen: str


@dataclass
class Stage:
    """The state that is passed from step to step."""

    console: Console
    folder: Path
    cluster: ProcessCluster
    switchboard: SwitchboardThread
    checks: list[Check] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    _step: str = ""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Prints a step's title, and its duration at its end. An error of a client, a socket or a file becomes
        StepFailed with the step's title."""
        self._step = title
        self.console.print(f"[bold]{len(self.seconds) + 1}. {title}[/bold]")
        started = time.monotonic()
        try:
            yield
        except _client_errors() as error:
            raise StepFailed(f"{title}: {str(error) or type(error).__name__}") from error
        self.seconds[title] = time.monotonic() - started
        self.console.print(f"   [dim]{self.seconds[title]:.1f} s[/dim]")

    def check(self, claim: str, holds: bool, seen: object) -> None:
        """Print and count a check; CheckFailed if `holds` is false."""
        self.console.print(f"   {'[green]✓[/green]' if holds else '[red]✗[/red]'} {claim}: {seen}", highlight=False)
        if not holds:
            raise CheckFailed(f"{self._step}: {claim}: {seen}")
        self.checks.append(Check(self._step, claim, str(seen)))

    def say(self, line: str) -> None:
        self.console.print(f"   {line}", highlight=False, markup=False)

    def metric(self, node_id: int, name: str, **labels: str) -> float:
        """The sum of a broker's samples of one metric with these labels."""
        text = read_page(str(self.cluster.brokers[node_id].ready["metrics"]))
        total = 0.0
        for line in text.splitlines():
            sample, _, value = line.rpartition(" ")
            if sample.split("{")[0] == name and all(f'{key}="{label}"' in sample for key, label in labels.items()):
                total += float(value)
        return total

    def controller_id(self) -> int:
        """The id of the broker that reports itself as the active controller; -1 while there is none."""
        for node_id, broker in self.cluster.brokers.items():
            if broker.running and self.metric(node_id, "kafka_controller_kafkacontroller_activecontrollercount"):
                return node_id
        return -1


def _client_errors() -> tuple[type[Exception], ...]:
    """The errors of the three clients of the demo, and of sockets and files."""
    from confluent_kafka import KafkaException
    from kafka.errors import KafkaError as KafkaPythonError

    return OSError, ClientFailure, KafkaError, KafkaException, KafkaPythonError


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 request`, `2,000 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listing(values: Iterable[Any]) -> str:
    """Values in order, comma-separated; `none` without any."""
    return ", ".join(sorted(map(str, values))) or "none"
