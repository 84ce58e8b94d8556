"""What every channel of the data loop does with a frame that takes several slices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from tests.transport.loopback import Owner, framed, socket_pair, until


async def handle_in_slices(loop: DataLoop, owner: Owner, send: Callable[[bytes], Coroutine[Any, Any, None]]) -> None:
    """Sends two large frames and a small one. The large ones are handled in five slices each, and requests of another
    connection between them; the small one comes afterwards."""
    log: list[str] = []
    server, beside = await socket_pair()
    other = Owner(DataChannel(loop, server))
    other.channel.on_frame = lambda *_: log.append("beside")
    other.channel.start()  # type: ignore[attr-defined]

    def handle(frame: memoryview, buffer: PooledBuffer | None) -> None:
        content = bytes(frame[:5])
        for _ in range(5 if content == b"large" else 1):
            log.append(content.decode())
            if content == b"large":
                beside.send(framed(b"x"))
                yield_if_due()
        if buffer is not None:
            owner.channel.release_buffer(buffer)

    owner.channel.on_frame = handle
    large = framed(b"large" + bytes(1_000_000))
    sending = asyncio.create_task(send(large + large + framed(b"small")))
    await until(lambda: "small" in log)
    await sending
    assert [entry for entry in log if entry != "beside"] == ["large"] * 10 + ["small"]
    assert "beside" in log[log.index("large") : 10]
    other.channel.close("the test is over")
    beside.close()
