from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import MAX_SEND_QUEUE_BYTES, PAUSE_READING_BYTES
from signalbox.transport.channel_output import LARGE_FRAME_BYTES
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.fair_scheduler import TrafficClass
from signalbox.transport.frame_channel import PEER_CLOSED
from tests.transport.large_frames import handle_in_slices
from tests.transport.loopback import Owner, data_channel, framed, read_exactly, read_frame, socket_pair, spin, until


async def client_sends(client: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(client, data)


def test_frames_in_and_answers_out() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            client.send(framed(b"one") + framed(b"two"))
            assert [await owner.frames.get(), await owner.frames.get()] == [b"one", b"two"]
            owner.send(b"answer")
            owner.send(b"in ", memoryview(b"pieces"))
            assert [await read_frame(client), await read_frame(client)] == [b"answer", b"in pieces"]
            assert owner.ready.is_set()
            assert owner.channel.bytes_in == 14
            assert owner.channel.bytes_out == 23
            assert owner.channel.peer_address == client.getsockname()
            assert owner.channel.local_address == client.getpeername()

    asyncio.run(main())


def test_one_byte_at_a_time() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            for byte in framed(b"patience"):
                client.send(bytes([byte]))
                await asyncio.sleep(0)
            assert await owner.frames.get() == b"patience"

    asyncio.run(main())


def test_a_burst_of_requests_is_served_in_several_iterations() -> None:
    """One read returns all of them: asyncio polls the control plane many times before the last one is answered."""

    async def main() -> None:
        async with data_channel() as (_, owner, client):
            numbers: list[int] = []

            def serve(frame: memoryview, buffer: object) -> None:
                spin(0.0001)
                numbers.append(int(bytes(frame)))

            owner.channel.on_frame = serve
            client.send(b"".join(framed(b"%05d" % number) for number in range(500)))
            before, longest = 0, 0
            while len(numbers) < 500:
                await asyncio.sleep(0)
                longest, before = max(longest, len(numbers) - before), len(numbers)
            assert numbers == list(range(500)), "in order"
            assert longest <= 10

            client.send(framed(b"00500"))
            await until(lambda: len(numbers) == 501)

    asyncio.run(main())


@pytest.mark.parametrize("size", [70_000, 300_000, 3_000_000])
def test_large_frames_in_a_row(size: int) -> None:
    async def main() -> None:
        payloads = [os.urandom(size), b"small", os.urandom(size), os.urandom(size + 1), b"", b"end"]
        async with data_channel() as (loop, owner, client):
            sending = asyncio.create_task(
                asyncio.get_running_loop().sock_sendall(client, b"".join(map(framed, payloads)))
            )
            received = [await owner.frames.get() for _ in payloads]
            assert received == payloads
            await sending
            assert loop.pool.used_bytes == 0

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_a_large_frame_is_handled_in_slices_beside_other_connections() -> None:
    async def main() -> None:
        async with data_channel(budget_us=0) as (loop, owner, client):
            await handle_in_slices(loop, owner, lambda frames: client_sends(client, frames))

    asyncio.run(main())


def class_of(owner: Owner) -> TrafficClass:
    assert isinstance(owner.channel, DataChannel)
    return owner.channel.traffic_class


@pytest.mark.spec("C5")
def test_the_last_frames_decide_the_class() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            assert class_of(owner) is TrafficClass.LIGHT
            await client_sends(client, framed(bytes(LARGE_FRAME_BYTES)))
            await owner.frames.get()
            assert class_of(owner) is TrafficClass.HEAVY
            await client_sends(client, framed(b"small"))
            await owner.frames.get()
            assert class_of(owner) is TrafficClass.LIGHT
            owner.send(bytes(LARGE_FRAME_BYTES))
            assert class_of(owner) is TrafficClass.HEAVY
            await read_frame(client)
            owner.send(b"small")
            assert class_of(owner) is TrafficClass.LIGHT
            assert await read_frame(client) == b"small"
            owner.channel.carry_replication()
            owner.send(bytes(LARGE_FRAME_BYTES))
            await read_frame(client)
            assert class_of(owner) is TrafficClass.REPLICATION

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_a_large_frame_that_one_read_brings_makes_the_channel_heavy() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            before = owner.channel.bytes_in
            await client_sends(client, framed(bytes(LARGE_FRAME_BYTES)))  # the loop has not read meanwhile
            await owner.frames.get()
            assert owner.channel.bytes_in - before == LARGE_FRAME_BYTES + 4
            assert class_of(owner) is TrafficClass.HEAVY

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_a_large_frame_that_begins_in_a_backlog_makes_the_channel_heavy() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            owner.mute_on_frame = True
            client.send(framed(b"1") + framed(bytes(2 * LARGE_FRAME_BYTES))[:100])
            assert await owner.frames.get() == b"1"
            assert class_of(owner) is TrafficClass.LIGHT
            owner.channel.unmute()
            await until(lambda: class_of(owner) is TrafficClass.HEAVY)

    asyncio.run(main())


def test_a_muted_channel_delivers_nothing_and_does_not_spin() -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            owner.mute_on_frame = True
            client.send(framed(b"1") + framed(b"2"))
            assert await owner.frames.get() == b"1"
            client.send(framed(b"3"))
            for _ in range(5):
                await asyncio.sleep(0)
            iterations = loop.iterations
            for _ in range(50):
                await asyncio.sleep(0)
            assert loop.iterations == iterations
            assert owner.frames.empty()
            owner.channel.unmute()
            assert await owner.frames.get() == b"2"
            assert owner.frames.empty()
            owner.channel.unmute()
            assert await owner.frames.get() == b"3"

    asyncio.run(main())


@pytest.mark.parametrize("size", [-1, 33 << 20, 2**31 - 1])
def test_an_invalid_frame_size_closes_the_channel(size: int) -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            client.send(size.to_bytes(4, signed=True) + b"whatever")
            assert "bytes" in await owner.closed
            assert owner.channel.fault == "frame_size"
            with pytest.raises((EOFError, ConnectionError)):
                await read_exactly(client, 1)

    asyncio.run(main())


def test_tls_on_a_plaintext_listener_is_detected() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            client.send(bytes.fromhex("160301020001 0001fc0303"))
            assert "the peer sent TLS" in await owner.closed
            assert owner.channel.fault == "tls_on_plaintext"

    asyncio.run(main())


def test_a_peer_that_goes_is_noticed_also_in_the_middle_of_a_frame() -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            client.send(framed(bytes(5000))[:2000])
            await asyncio.sleep(0)
            client.close()
            assert await owner.closed == PEER_CLOSED
            assert owner.channel.closed
            assert loop.pool.used_bytes == 0
            owner.send(b"too late")
            owner.channel.close("again")

    asyncio.run(main())


def test_a_muted_channel_whose_peer_resets_is_closed() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            owner.mute_on_frame = True
            client.send(framed(b"1"))
            await owner.frames.get()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.close()
            assert await owner.closed == PEER_CLOSED

    asyncio.run(main())


def test_a_slow_reader_gets_everything_and_is_seen_to_stall(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "segment"
        content = os.urandom(9_000_000)
        path.write_bytes(content)
        with path.open("rb") as file:
            async with data_channel() as (_, owner, client):
                owner.send(b"head", FileSlice(file.fileno(), 0, len(content)), b"tail")
                await until(lambda: owner.channel.stalled_since is not None)
                assert owner.channel.queued_bytes > 0
                stalled_at = owner.channel.stalled_since
                assert await read_frame(client) == b"head" + content + b"tail"
                assert owner.channel.stalled_since is None
                assert stalled_at is not None
                assert owner.channel.active_at > stalled_at, "taking the answer is no idleness"
                assert owner.channel.queued_bytes == 0

    asyncio.run(main())


def test_a_file_that_was_cut_closes_the_channel(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "segment"
        path.write_bytes(b"short")
        with path.open("rb") as file:
            async with data_channel() as (_, owner, _client):
                owner.send(FileSlice(file.fileno(), 0, 500))
                assert "file ended" in await owner.closed

    asyncio.run(main())


def test_close_after_flush_sends_first() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            owner.send(bytes(5_000_000))
            owner.channel.close_after_flush("served")
            client.send(framed(b"not read"))
            assert len(await read_frame(client)) == 5_000_000
            assert await owner.closed == "served"
            assert owner.frames.empty()

    asyncio.run(main())


def test_the_send_queue_is_bounded() -> None:
    async def main() -> None:
        megabyte = bytes(1 << 20)
        async with data_channel() as (_, owner, _client):
            for _ in range(MAX_SEND_QUEUE_BYTES >> 20):
                assert not owner.channel.closed
                owner.send(b"", megabyte)  # in two chunks, so that nothing is copied
            assert "does not read" in await owner.closed

    asyncio.run(main())


def test_a_peer_that_does_not_read_is_not_read_from_either() -> None:
    """Pipelined requests must not produce responses faster than these are sent."""

    async def main() -> None:
        answer = bytes(1 << 20)
        async with data_channel() as (_, owner, client):
            served: list[bytes] = []

            def serve(frame: memoryview, _buffer: object) -> None:
                served.append(bytes(frame))
                owner.channel.send_frame((answer,))

            owner.channel.on_frame = serve
            requests = [b"%d" % number for number in range(400)]
            await asyncio.get_running_loop().sock_sendall(client, b"".join(map(framed, requests)))
            await until(lambda: owner.channel.stalled_since is not None)
            assert owner.channel.queued_bytes <= PAUSE_READING_BYTES + len(answer) + 4
            assert len(served) < 20
            for _ in requests:
                assert len(await read_frame(client)) == len(answer)
            assert served == requests

    asyncio.run(main())


def test_the_owner_stays_muted_when_the_answers_have_left() -> None:
    async def main() -> None:
        async with data_channel() as (_, owner, client):
            owner.channel.mute()
            owner.send(bytes(2 * PAUSE_READING_BYTES))
            client.send(framed(b"later"))
            assert len(await read_frame(client)) == 2 * PAUSE_READING_BYTES
            await until(lambda: owner.channel.queued_bytes == 0)
            assert owner.channel.muted
            assert owner.frames.empty()
            owner.channel.unmute()
            assert await owner.frames.get() == b"later"

    asyncio.run(main())


def test_closing_from_inside_a_frame_ends_delivery() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        server, client = await socket_pair()
        channel = DataChannel(loop, server)
        owner = Owner(channel)
        seen: list[bytes] = []

        def on_frame(frame: memoryview, _buffer: object) -> None:
            seen.append(bytes(frame))
            channel.close("enough")

        channel.on_frame = on_frame
        channel.start()
        client.send(framed(b"first") + framed(b"second"))
        assert await owner.closed == "enough"
        assert seen == [b"first"]
        client.close()
        loop.close()

    asyncio.run(main())


@pytest.mark.parametrize("size", [10, 60_000, 250_000, 3_000_000])
def test_a_slice_between_head_and_tail(tmp_path: Path, size: int) -> None:
    async def main() -> None:
        content = os.urandom(size + 7)
        (tmp_path / "log").write_bytes(content)
        with (tmp_path / "log").open("rb") as file:
            async with data_channel() as (_, owner, client):
                for _ in range(3):
                    head = (size + 5).to_bytes(4) + b"HH"
                    owner.channel.send_slice(head, FileSlice(file.fileno(), 7, size), b"TTT")
                owner.channel.send_framed((2).to_bytes(4) + b"ok")
                for _ in range(3):
                    assert await read_frame(client) == b"HH" + content[7:] + b"TTT"
                assert await read_frame(client) == b"ok"
                assert owner.channel.queued_bytes == 0

    asyncio.run(main())


def test_a_slice_that_the_file_does_not_hold_closes_the_channel(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "log").write_bytes(b"x" * 10)
        with (tmp_path / "log").open("rb") as file:
            async with data_channel() as (_, owner, _client):
                owner.channel.send_slice((24).to_bytes(4), FileSlice(file.fileno(), 0, 20), b"TTTT")
                assert "sending failed" in await owner.closed

    asyncio.run(main())
