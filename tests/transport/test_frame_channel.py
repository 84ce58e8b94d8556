"""Each kind of channel has the whole interface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.frame_channel import FrameChannel
from signalbox.transport.outbound_stream import OutboundStream
from signalbox.transport.stream_channel import StreamChannel
from tests.transport.loopback import socket_pair

NAMES = {*FrameChannel.__annotations__, *(name for name in vars(FrameChannel) if not name.startswith("_"))}


@pytest.mark.parametrize("kind", ["data", "stream", "outbound"])
def test_every_name_of_the_interface_is_there(kind: str) -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        server, client = await socket_pair()
        kinds: dict[str, Callable[[], FrameChannel]] = {
            "data": lambda: DataChannel(loop, server),
            "stream": lambda: StreamChannel(BufferPool(), lambda _: None),
            "outbound": lambda: OutboundStream(1_000),
        }
        channel = kinds[kind]()
        assert NAMES
        assert [name for name in NAMES if not hasattr(channel, name)] == []
        assert (channel.peer_certificate, channel.queued_bytes, channel.fault) == (None, 0, "")
        channel.max_frame_bytes = 77
        assert channel.max_frame_bytes == 77
        channel.mute()
        assert channel.muted
        channel.close("done")
        assert channel.closed
        server.close()
        client.close()
        loop.close()

    asyncio.run(main())
