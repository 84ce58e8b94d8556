"""The pages /ready and /health of a node, beside its metrics.

/ready: 200 if the node serves its part of the cluster, else 503 with one reason per line: for load balancers, and for
programs that restart one node after the other. /health: 200 as long as the node's event loop responds, with everything
that /ready depends on as JSON: for people, and for programs that restart a node that hangs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import NamedTuple

from signalbox.server.advertised.address_states import AddressState


class Phase(StrEnum):
    """Where a node is between its start and its stop."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class HttpResponse(NamedTuple):
    """The status line's code and text, and a body."""

    status: str
    content_type: str
    body: bytes


@dataclass(slots=True)
class Health:
    """`reasons` return why the node is not ready, nothing if it is; `addresses` the states of advertised addresses."""

    node_id: int
    cluster_id: str
    phase: Phase = Phase.STARTING
    reasons: list[Callable[[], Sequence[str]]] = field(default_factory=list)
    addresses: Callable[[], Sequence[AddressState]] = list

    def started(self) -> None:
        self.phase = Phase.RUNNING

    def stopping(self) -> None:
        self.phase = Phase.STOPPING

    def not_ready_reasons(self) -> list[str]:
        """One sentence each; none if the node is ready."""
        if self.phase is not Phase.RUNNING:
            return [f"the node is {self.phase.value}"]
        return [text for reasons in self.reasons for text in reasons()]

    def ready_page(self) -> HttpResponse:
        reasons = self.not_ready_reasons()
        status = "503 Service Unavailable" if reasons else "200 OK"
        return HttpResponse(status, "text/plain; charset=utf-8", ("\n".join(reasons or ["ready"]) + "\n").encode())

    def health_page(self) -> HttpResponse:
        reasons = self.not_ready_reasons()
        page = {
            "node_id": self.node_id,
            "cluster_id": self.cluster_id,
            "phase": self.phase.value,
            "ready": not reasons,
            "not_ready_reasons": reasons,
            "advertised_addresses": [{**asdict(row), "state": row.state.name.lower()} for row in self.addresses()],
        }
        return HttpResponse("200 OK", "application/json", json.dumps(page).encode() + b"\n")

    def pages(self) -> dict[bytes, Callable[[], HttpResponse]]:
        """The pages by path."""
        return {b"/ready": self.ready_page, b"/health": self.health_page}
