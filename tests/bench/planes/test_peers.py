"""A load whose responses are smaller than its name says ends with an error: it would be a light load."""

from __future__ import annotations

import asyncio

import pytest
from bench.planes.peers import Asked

_PAYLOAD = b"response"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(1)
    writer.write(len(_PAYLOAD).to_bytes(4) + _PAYLOAD)
    await writer.drain()
    writer.close()


async def _ask(at_least: int) -> bytes:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    async with server:
        peer = await Asked.dial(server.sockets[0].getsockname()[1])
        try:
            return await peer.ask(b"?", at_least)
        finally:
            peer.writer.close()


@pytest.mark.parametrize("at_least", [0, len(_PAYLOAD)])
def test_a_response_that_is_large_enough_is_returned(at_least: int) -> None:
    assert asyncio.run(_ask(at_least)) == _PAYLOAD


def test_a_response_that_is_too_small_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="8 bytes, not of 9 or more"):
        asyncio.run(_ask(len(_PAYLOAD) + 1))
