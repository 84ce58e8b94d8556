"""Confirms that a broker whose connections closed is dead: a TCP connect to each of its addresses ends with
ECONNREFUSED. A closed connection is only a hint; the probe confirms it at once. A stopped process (SIGSTOP) is not
dead: the kernel still accepts its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from signalbox.common.endpoint import Endpoint

_PROBE_TIMEOUT_SECONDS = 1.0


async def _is_closed_port(endpoint: Endpoint) -> bool:
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
        closed_ports = await asyncio.gather(*map(_is_closed_port, endpoints))
        return bool(closed_ports) and all(closed_ports)
