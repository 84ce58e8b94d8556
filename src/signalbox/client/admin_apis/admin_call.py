"""Base of all admin calls: a request with several entries, retried entry by entry until the deadline.

The requests may go to any node (F13). An entry is retried when its error is in `RETRIED`; the other entries keep their
result. When a connection is lost, the change may have been applied, as in Kafka: a retried creation then returns
"already exists".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, DeadlinePassed
from signalbox.client.rejections import rejection_of
from signalbox.protocol.error_table import Error

Entry = TypeVar("Entry")

RETRIED = frozenset(
    {
        Error.NOT_CONTROLLER,
        Error.LEADER_NOT_AVAILABLE,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.CONCURRENT_TRANSACTIONS,
        Error.UNSTABLE_OFFSET_COMMIT,
        Error.THROTTLING_QUOTA_EXCEEDED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminResult:
    """The result of one entry of a request."""

    name: str
    error: Error = Error.NONE
    message: str | None = None

    def raise_for_error(self) -> None:
        """KafkaError when the broker rejected the entry."""
        if self.error != Error.NONE:
            raise rejection_of(self.error, f"{self.name}: {self.message or self.error.message}")


def result_of(name: str, error_code: int, message: str | None) -> AdminResult:
    error = Error.of(error_code)
    if message is not None:
        message = message.removeprefix(f"{error.name}: ")  # some brokers begin with the name, and so does KafkaError
    return AdminResult(name=name, error=error, message=message)


class AdminCall:
    """Base class of the admin classes: the client, and the retry loop."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client

    async def _ask(self, message: Any, timeout_ms: float | None) -> Any:
        """The response of any node; KafkaError when it has a top-level error. Errors in `RETRIED` are retried."""
        deadline = self.client.deadline(timeout_ms)
        return await self._retry(lambda: self.client.request_any(message, timeout_ms=left_ms(deadline)), deadline)

    async def _retry(self, attempt: Callable[[], Awaitable[Any]], deadline: float) -> Any:
        tries = 0
        while True:
            response = await attempt()
            error = Error.of(getattr(response, "error_code", Error.NONE))
            if error == Error.NONE:
                return response
            tries += 1
            if error not in RETRIED or left_ms(deadline) <= 0:
                raise rejection_of(error, getattr(response, "error_message", None))
            await self.client.pause(tries, deadline)

    async def _known_nodes(self, node_ids: Sequence[int] | None, deadline: float) -> list[int]:
        """The ids of these nodes, all without `node_ids`, once they are known; BROKER_NOT_AVAILABLE for another one."""
        await self.client.some_node(deadline, set())
        nodes = self.client.view.nodes
        for node_id in node_ids or ():
            if node_id not in nodes:
                raise rejection_of(Error.BROKER_NOT_AVAILABLE, f"broker {node_id} is not among the known nodes")
        return sorted(nodes) if node_ids is None else list(node_ids)

    async def _of_each_node(self, message: Any, node_ids: Sequence[int] | None, deadline: float) -> dict[int, Any]:
        """The response of each of these nodes, of all without `node_ids`. KafkaError when one has a top-level error
        that is not in `RETRIED`, ClientFailure when one is down."""

        async def ask(node_id: int) -> Any:
            async def attempt() -> Any:
                return await self.client.request(node_id, message, timeout_ms=left_ms(deadline))

            return await self._retry(attempt, deadline)

        chosen = await self._known_nodes(node_ids, deadline)
        return dict(zip(chosen, await asyncio.gather(*map(ask, chosen)), strict=True))

    async def _each(
        self,
        entries: Sequence[Entry],
        attempt: Callable[[list[Entry], float], Awaitable[Iterable[AdminResult]]],
        name_of: Callable[[Entry], str],
        timeout_ms: float | None,
    ) -> dict[str, AdminResult]:
        """Results by name. `attempt(entries, timeout_ms)` is repeated for the entries whose error is in `RETRIED`."""
        deadline = self.client.deadline(timeout_ms)
        results: dict[str, AdminResult] = {}
        remaining = list(entries)
        tries = 0
        while remaining:
            try:
                attempted = await attempt(remaining, left_ms(deadline))
            except DeadlinePassed:
                if not results:
                    raise
                return results
            for result in attempted:
                results[result.name] = result
            remaining = [entry for entry in remaining if self._is_retried(results.get(name_of(entry)))]
            tries += 1
            if remaining and left_ms(deadline) <= 0:
                break
            await self.client.pause(tries if remaining else 0, deadline)
        return results

    def _wire_timeout_ms(self, left_ms: float) -> int:
        """`timeout_ms` of a request that waits on the broker: below the request timeout, so that a response comes."""
        return max(1, int(min(left_ms, self.client.settings.request_timeout_ms * 0.9)))

    @staticmethod
    def _is_retried(result: AdminResult | None) -> bool:
        return result is not None and result.error in RETRIED


def left_ms(deadline: float) -> float:
    """Milliseconds until `deadline` (loop time), never negative."""
    return max(0.0, (deadline - asyncio.get_running_loop().time()) * 1000)


def only(results: dict[str, AdminResult], name: str) -> AdminResult:
    """The result of the only entry of a request. ClientFailure when it is missing, KafkaError when it was rejected."""
    result = results.get(name)
    if result is None:
        raise ClientFailure(f"the broker did not answer for {name}")
    result.raise_for_error()
    return result
