"""The pages /ready and /health of a node, beside its metrics.

/ready: 200 if the node serves its part of the cluster, else 503 with one reason per line: for load balancers, and for
programs that restart one node after the other. /health: 200 as long as the process lives, with everything that /ready
depends on as JSON: for people, and for programs that restart a process that responds no more.

Both are served by a thread of their own (`page_thread.py`), so that they respond while the event loop is busy. They
show what the event loop reported last, and for how long it has not responded: a node is not ready when that is longer
than `SILENT_S`, and healthy all the same. What the pages say is in docs/health.md.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import NamedTuple

from signalbox.server.advertised.address_states import AddressState

SILENT_S = 10.0


class Phase(StrEnum):
    """Where a node is between its start and its stop."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class HttpResponse(NamedTuple):
    """The status line's code and text, and a body in parts."""

    status: str
    content_type: str
    body: Sequence[bytes]


class NodeReport(NamedTuple):
    """What the node's event loop says about it. `brokers`: the ids of the live brokers in its metadata; `silent_s`: for
    how long the loop has not responded since."""

    phase: Phase = Phase.STARTING
    reasons: tuple[str, ...] = ("the node is starting",)
    addresses: tuple[AddressState, ...] = ()
    brokers: tuple[int, ...] = ()
    silent_s: float = 0.0

    @property
    def not_ready_reasons(self) -> list[str]:
        """One sentence each; none if the node is ready."""
        if self.silent_s < SILENT_S:
            return list(self.reasons)
        return [f"the event loop has not responded for {self.silent_s:.0f} s", *self.reasons]


LatestReport = Callable[[], Awaitable[NodeReport]]


@dataclass(slots=True)
class Health:
    """`reasons` return why the node is not ready, nothing if it is; `addresses` the states of advertised addresses,
    `brokers` the ids in the node's metadata. Used on the node's event loop only."""

    node_id: int
    cluster_id: str
    phase: Phase = Phase.STARTING
    reasons: list[Callable[[], Sequence[str]]] = field(default_factory=list)
    addresses: Callable[[], Sequence[AddressState]] = list
    brokers: Callable[[], Iterable[int]] = tuple

    def started(self) -> None:
        self.phase = Phase.RUNNING

    def stopping(self) -> None:
        self.phase = Phase.STOPPING

    def report(self) -> NodeReport:
        """The state of now."""
        if self.phase is Phase.RUNNING:
            reasons = [text for reasons in self.reasons for text in reasons()]
        else:
            reasons = [f"the node is {self.phase.value}"]
        return NodeReport(self.phase, tuple(reasons), tuple(self.addresses()), tuple(sorted(self.brokers())))

    def pages(self, latest: LatestReport) -> dict[bytes, Callable[[], Awaitable[HttpResponse]]]:
        """The pages by path, for any thread: `latest` returns the newest report."""

        async def ready() -> HttpResponse:
            return ready_page(await latest())

        async def health() -> HttpResponse:
            return health_page(self.node_id, self.cluster_id, await latest())

        return {b"/ready": ready, b"/health": health}


def ready_page(report: NodeReport) -> HttpResponse:
    reasons = report.not_ready_reasons
    status = "503 Service Unavailable" if reasons else "200 OK"
    return HttpResponse(status, "text/plain; charset=utf-8", [("\n".join(reasons or ["ready"]) + "\n").encode()])


def health_page(node_id: int, cluster_id: str, report: NodeReport) -> HttpResponse:
    """200 whatever the report says."""
    reasons = report.not_ready_reasons
    page = {
        "node_id": node_id,
        "cluster_id": cluster_id,
        "phase": report.phase.value,
        "ready": not reasons,
        "not_ready_reasons": reasons,
        "brokers": list(report.brokers),
        "event_loop_silent_ms": round(report.silent_s * 1000),
        "advertised_addresses": [{**asdict(row), "state": row.state.name.lower()} for row in report.addresses],
    }
    return HttpResponse("200 OK", "application/json", [json.dumps(page).encode() + b"\n"])
