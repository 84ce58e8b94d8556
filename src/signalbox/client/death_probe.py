"""Is a broker whose connections closed really gone? Its addresses say so by refusing: a closed connection is
a hint that the controller confirms at once. A stopped process does not refuse: the kernel still accepts for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from signalbox.common.endpoint import Endpoint

_PROBE_TIMEOUT_SECONDS = 1.0


async def _refuses(endpoint: Endpoint) -> bool:
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError):
        return False
    writer.close()
    return False


class DeathProbe:
    """The controller's BrokerProbe."""

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        """Whether every address of the broker refuses connections. No address: nothing is known, so no."""
        answers = await asyncio.gather(*map(_refuses, endpoints))
        return bool(answers) and all(answers)
