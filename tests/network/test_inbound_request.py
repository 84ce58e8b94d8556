from __future__ import annotations

import asyncio
import time

from signalbox.protocol.api_table import ApiKey
from tests.network.serving import EchoSink, serving


def test_the_fields_of_a_request() -> None:
    async def main() -> None:
        async with serving(sink=EchoSink(lambda _: True)) as served:
            client = await served.dial()
            await client.send(client.request(ApiKey.DELETE_TOPICS, 4, b"body"))
            request = await served.sink.held.get()
            assert bytes(request.frame[request.body_offset :]) == b"body"
            assert request.context is request.connection.context
            assert request.header.client_id == "raw"
            assert 0 <= time.monotonic() - request.received_at < 30
            request.frame[request.body_offset] = 0x42
            request.respond([b"a", memoryview(b"b"), bytearray(b"c")])
            assert await client.answer() == b"abc"
            await client.send(client.request(ApiKey.DELETE_TOPICS, 4))
            (await served.sink.held.get()).close_connection("bye")
            assert await client.ended()
            assert await served.watcher.ended.get() == "bye"

    asyncio.run(main())
