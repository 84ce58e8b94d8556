"""Confirms that a broker whose connections closed is dead: all its addresses refuse TCP connections. A closed
connection is only a hint; this confirms it at once. A stopped process does not refuse: the kernel
still accepts for it."""

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
    # A socket that is connected to itself: nothing listens on the port.
    dead = bool(writer.get_extra_info("sockname") == writer.get_extra_info("peername"))
    if dead:
        writer.transport.abort()
    writer.close()
    return dead


class DeathProbe:
    """The controller's BrokerProbe."""

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        """Whether every address of the broker refuses connections. False without addresses: nothing is known then."""
        answers = await asyncio.gather(*map(_refuses, endpoints))
        return bool(answers) and all(answers)
