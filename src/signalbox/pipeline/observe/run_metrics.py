"""Prometheus metrics of a run, on a page of its own: lag, rows, rejected records, seconds per batch.

They are made from the run's events, so that all runs of a process share a page, whatever engine reads the topic. The
page is served at the loopback address: a run is a job of one machine, and the page has no login.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from signalbox.pipeline.events import PipelineEvent, Step

ADDRESS = "127.0.0.1"
_SECONDS = (0.25, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600)


class MetricsPortError(RuntimeError):
    """The page cannot be served at its port."""


class RunMetrics:
    """An EventListener: every event of a run becomes numbers. One per process, also for several tables at once."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lock = Lock()

        def counter(name: str, meaning: str) -> Counter:
            return Counter(f"signalbox_pipeline_{name}", meaning, ["table"], registry=self.registry)

        self._rows = counter("rows", "Rows that the run has added to the table.")
        self._rejected = counter("rejected_records", "Records that the run has kept aside as bad.")
        self._late = counter("late_records", "Rejected records whose event time was before the watermark.")
        self._duplicates = counter("duplicate_records", "Records that the run has dropped because they repeat a row.")
        self._batches = counter("batches", "Batches that the run has committed.")
        self._repeated = counter("repeated_batches", "Batches that the table held already, from a run that died.")
        self._changes = {
            Step.SCHEMA_CHANGED: counter("schema_changes", "Columns that were added or widened, or are left null now."),
            Step.TYPE_CHANGED: counter("type_changes", "Types that changed and that the table does not follow."),
        }
        self._lag = Gauge(
            "signalbox_pipeline_lag_records",
            "Records up to the last known end of the topic that no batch has read.",
            ["table"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "signalbox_pipeline_batch_seconds",
            "Seconds from the start of a batch until all its tables were committed.",
            ["table"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def __call__(self, event: PipelineEvent) -> None:
        table = event.pipeline
        with self._lock:
            if event.known_records >= 0:
                self._lag.labels(table).set(event.known_records - event.consumed_records)
            if event.step in self._changes:
                self._changes[event.step].labels(table).inc()
            if event.step != Step.BATCH_DONE:
                return
            self._batches.labels(table).inc()
            self._repeated.labels(table).inc(event.skipped)
            self._rows.labels(table).inc(max(0, event.rows))
            self._rejected.labels(table).inc(max(0, event.dead_rows))
            self._late.labels(table).inc(max(0, event.late_rows))
            self._duplicates.labels(table).inc(max(0, event.duplicate_rows))
            self._seconds.labels(table).observe(event.seconds)

    @contextmanager
    def served(self, port: int) -> Iterator[int]:
        """Serves the page until the end of the block; yields its port (0 takes a free one). MetricsPortError."""
        try:
            server, thread = start_http_server(port, addr=ADDRESS, registry=self.registry)
        except OSError as error:
            raise MetricsPortError(f"metrics cannot be served at {ADDRESS}:{port}: {error.strerror}") from error
        try:
            yield int(server.server_port)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
