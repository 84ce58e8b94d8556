"""The sending half alone: when a response is sent at once and when it waits."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from signalbox.common.file_slice import FileSlice
from tests.transport.loopback import data_channel, framed, read_frame, until


def test_a_small_answer_leaves_before_the_call_returns() -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            iterations = loop.iterations
            owner.send(b"now")
            assert owner.channel.bytes_out == 7
            assert client.recv(100) == framed(b"now")
            assert loop.iterations == iterations

    asyncio.run(main())


def test_answers_to_frames_of_one_read_leave_together() -> None:
    async def main() -> None:
        async with data_channel(budget_us=1_000_000) as (_, owner, client):
            sent: list[int] = []

            def answer(frame: memoryview, _buffer: object) -> None:
                sent.append(owner.channel.bytes_out)
                owner.send(bytes(frame))

            owner.channel.on_frame = answer
            client.send(b"".join(framed(bytes([number])) for number in range(20)))
            assert [await read_frame(client) for _ in range(20)] == [bytes([number]) for number in range(20)]
            assert sent == [0] * 20

    asyncio.run(main())


def test_queued_bytes_keep_their_order(tmp_path: Path) -> None:
    async def main() -> None:
        content = os.urandom(8_000_000)
        (tmp_path / "log").write_bytes(content)
        with (tmp_path / "log").open("rb") as file:
            async with data_channel() as (_, owner, client):
                owner.channel.send_slice(
                    (len(content) + 1).to_bytes(4), FileSlice(file.fileno(), 0, len(content)), b"t"
                )
                assert owner.channel.queued_bytes > 0
                owner.send(b"second")
                owner.send(b"third, ", FileSlice(file.fileno(), 0, 5))
                assert await read_frame(client) == content + b"t"
                assert await read_frame(client) == b"second"
                assert await read_frame(client) == b"third, " + content[:5]

    asyncio.run(main())


def test_a_dead_peer_does_not_close_the_channel_under_its_caller() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            owner.mute_on_frame = True
            client.send(framed(b"x"))
            await owner.frames.get()
            client.close()
            for _ in range(3):
                owner.send(b"into the void")
                assert not owner.closed.done()
                await asyncio.sleep(0)
                if owner.channel.closed:
                    break
            await until(lambda: owner.channel.closed)
            assert await owner.closed

    asyncio.run(main())


@pytest.mark.parametrize("size", [0, 100, 20_000, 40_000])
def test_any_mixture_of_chunks(tmp_path: Path, size: int) -> None:
    async def main() -> None:
        content = os.urandom(50_000)
        (tmp_path / "log").write_bytes(content)
        with (tmp_path / "log").open("rb") as file:
            async with data_channel() as (_, owner, client):
                owner.send(b"a", FileSlice(file.fileno(), 3, size), bytearray(b"b"), memoryview(b"c"))
                assert await read_frame(client) == b"a" + content[3 : 3 + size] + b"bc"

    asyncio.run(main())
