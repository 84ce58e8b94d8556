"""The Python client: admin, producer, consumer by assignment, group consumer; asyncio, with a synchronous face.

The public names are those of `public_names`; docs/client.md shows them. They are loaded when one of them is used,
because brokers import modules of this package too, and need few of them.

Bottom up: `connection` (asyncio) and `replica_channel` (data loop) share one `handshake`, identity included (KIP-1242).
Brokers use `controller_channel` (to the controller), `broker_channel` and `peer_channels` (from it).
`cluster_client` is below `admin`, `producer`, `consumer` and `group_consumer`; `rebootstrap` decides,
`metadata_updater` executes. `transactions` decides and sends what a producer with a transactional id needs.
`route_probe` finds out which node responds at an address, for `signalbox doctor` too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signalbox.client.public_names import *  # noqa: F403 - the names of its __all__
else:

    def __getattr__(name: str) -> Any:
        if not name.startswith("_"):
            public_names = import_module("signalbox.client.public_names")
            if name in public_names.__all__:
                return getattr(public_names, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(import_module("signalbox.client.public_names").__all__)
