"""Clients that keep a data plane busy in ways that a fixed frame cannot: `python -m bench.planes.peers KIND PORT ...`.

Each prints `ready` after its first work, and runs until SIGTERM; then it prints how much it has done (requests,
handshakes, rebalances) as one number.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import socket
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.frames import fetch_at, produce
from signalbox.client.admin import AdminClient
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.heartbeat import HeartbeatRequest
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.protocol.messages.sync_group import SyncGroupRequest
from signalbox.protocol.records.record_batch import Record, encode_batch

_JOIN_VERSION, _SYNC_VERSION, _FIND_VERSION, _HEARTBEAT_VERSION = 9, 5, 3, 4
_ASK_AGAIN_S, _BEGUN_S = 0.1, 60.0
_GROUP = "bench-group"
_SUBSCRIPTION = b"\0\0\0\0\0\1\0\1p\0\0\0\4"  # plus four bytes of user data, which cause a rebalance when they change
_BATCH_BYTES = 1_048_576
_KEYED_RECORDS, _SEGMENT_EVERY_S = 10_000, 0.25
_SLOW_READ_BYTES, _SLOW_READ_EVERY_S = 16_384, 0.01


class Asked:
    """One connection of the protocol; responses come in order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    @classmethod
    async def dial(cls, port: int) -> Asked:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, frame: bytes, at_least: int = 0) -> bytes:
        """The payload of the response. RuntimeError: it has fewer bytes than a load of this name must cause."""
        self.writer.write(frame)
        size = int.from_bytes(await self._reader.readexactly(4))
        if size < at_least:
            raise RuntimeError(f"a response of {size} bytes, not of {at_least} or more")
        return await self._reader.readexactly(size)

    async def request(self, key: ApiKey, version: int, body: object) -> object:
        """The decoded response."""
        encoded = encode_request_header(key, version, 1, "bench") + body.encode(version)  # type: ignore[attr-defined]
        answer = await self.ask(len(encoded).to_bytes(4) + encoded)
        return API_TABLE[key].response.decode_prefix(answer, version, decode_response_header(answer, key, version)[1])[
            0
        ]


class Peers:
    """`done` counts completed work."""

    def __init__(self) -> None:
        self.done = 0

    async def repeat(self, port: int, frame_file: str, connections: str, at_least: str = "0") -> None:
        """Sends the frame of a file repeatedly; each response has at least so many bytes."""
        frame = read_frame(frame_file)

        async def one() -> None:
            peer = await Asked.dial(port)
            while True:
                await peer.ask(frame, int(at_least))
                self.done += 1

        await _together(one for _ in range(int(connections)))

    async def handshakes(self, port: int, connections: str) -> None:
        """TLS connections that are closed right after the handshake."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE

        async def one() -> None:
            while True:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                self.done += 1
                writer.transport.abort()

        await _together(one for _ in range(int(connections)))

    async def slow_consumer(self, port: int, topic: str, connections: str) -> None:
        """A slow consumer: fetches as much as possible and reads the response in small pieces."""
        loop = asyncio.get_running_loop()

        async def one() -> None:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SLOW_READ_BYTES)
            sock.setblocking(False)
            await loop.sock_connect(sock, ("127.0.0.1", port))
            while True:
                await loop.sock_sendall(sock, fetch_at(topic, 0, 0, 52_428_800).data)
                left = int.from_bytes(await loop.sock_recv(sock, 4))
                while left:
                    left -= len(await loop.sock_recv(sock, min(left, _SLOW_READ_BYTES)))
                    self.done += 1
                    await asyncio.sleep(_SLOW_READ_EVERY_S)

        await _together(one for _ in range(int(connections)))

    async def cold(self, port: int, topic: str, offsets: str, folder: str, connections: str) -> None:
        """Fetches of 1 MB anywhere in a log whose pages are evicted from memory all the time."""

        async def evict() -> None:
            while True:
                await asyncio.to_thread(drop_pages, Path(folder))
                await asyncio.sleep(0.02)

        async def one(seed: int) -> None:
            dice, peer = random.Random(seed), await Asked.dial(port)
            while True:
                await peer.ask(fetch_at(topic, 0, dice.randrange(int(offsets)), _BATCH_BYTES).data, _BATCH_BYTES)
                self.done += 1

        await _together([evict, *((lambda seed=seed: one(seed)) for seed in range(int(connections)))])

    async def rebalance(self, port: int, members: str) -> None:
        """A group whose members all rejoin as soon as they have their assignments."""
        peers = [await Asked.dial(port) for _ in range(int(members))]
        await _until_coordinated(peers[0])
        ids = [""] * len(peers)

        async def joined(number: int) -> object:
            metadata = _SUBSCRIPTION + self.done.to_bytes(4)
            protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
            request = JoinGroupRequest(
                group_id=_GROUP, session_timeout_ms=30_000, rebalance_timeout_ms=30_000, member_id=ids[number],
                protocol_type="consumer", protocols=[protocol],
            )  # fmt: skip
            answer = await peers[number].request(ApiKey.JOIN_GROUP, _JOIN_VERSION, request)
            ids[number] = answer.member_id or ids[number]  # type: ignore[attr-defined]
            return answer if answer.error_code == 0 else await joined(number)  # type: ignore[attr-defined]

        async def synced(number: int, generation: object) -> None:
            leads = generation.leader == ids[number]  # type: ignore[attr-defined]
            assignment = SyncGroupRequest.SyncGroupRequestAssignment
            request = SyncGroupRequest(
                group_id=_GROUP, generation_id=generation.generation_id, member_id=ids[number],  # type: ignore[attr-defined]
                protocol_type="consumer", protocol_name="range",
                assignments=[assignment(member_id=each, assignment=bytes(100)) for each in ids] if leads else [],
            )  # fmt: skip
            await peers[number].request(ApiKey.SYNC_GROUP, _SYNC_VERSION, request)

        while True:
            generations = await asyncio.gather(*(joined(number) for number in range(len(peers))))
            newest = max(each.generation_id for each in generations)  # type: ignore[attr-defined]
            if any(each.generation_id != newest for each in generations):  # type: ignore[attr-defined]
                continue
            await asyncio.gather(*(synced(number, each) for number, each in enumerate(generations)))
            self.done += 1

    async def topics(self, port: int, partitions: str) -> None:
        """Topics of many partitions, created and deleted one after the other."""
        async with AdminClient.of(f"127.0.0.1:{port}", api_timeout_ms=60_000) as admin:
            while True:
                await admin.create_topic(f"passing-{self.done}", int(partitions), 1, {})
                await admin.delete_topics([f"passing-{self.done}"])
                self.done += 1

    async def compacted(self, port: int, keys: str) -> None:
        """A compacted topic that the log cleaner is never done with: a segment of new values every quarter of a second,
        and a clean part with all keys that must be rewritten each time."""
        configs = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
        async with AdminClient.of(f"127.0.0.1:{port}", api_timeout_ms=60_000) as admin:
            await admin.create_topic("compacted", 1, 1, configs)
        peer, dice = await Asked.dial(port), random.Random(1)
        batches = -(-int(keys) // _KEYED_RECORDS)
        for number in itertools.count():
            first = number * _KEYED_RECORDS if number < batches else dice.randrange(int(keys) - _KEYED_RECORDS)
            records = [Record(key=b"%d" % (first + each), value=bytes(100)) for each in range(_KEYED_RECORDS)]
            batch = encode_batch(records, timestamp_ms=int(time.time() * 1000))
            await peer.ask(produce("compacted", batch, _KEYED_RECORDS, 1).data)
            if number > batches:
                self.done += 1
                await asyncio.sleep(_SEGMENT_EVERY_S)


def read_frame(path: str) -> bytes:
    return Path(path).read_bytes()


def drop_pages(folder: Path) -> None:
    """Evicts a log's pages from memory; pages that are not on the disk yet stay."""
    for path in folder.glob("*.log"):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


async def _until_coordinated(peer: Asked) -> None:
    """The first request creates the offsets topic; until its partitions have leaders there is no coordinator."""
    while True:
        found = await peer.request(ApiKey.FIND_COORDINATOR, _FIND_VERSION, FindCoordinatorRequest(key=_GROUP))
        joined = await peer.request(ApiKey.HEARTBEAT, _HEARTBEAT_VERSION, HeartbeatRequest(group_id=_GROUP))
        if not found.error_code and joined.error_code == Error.UNKNOWN_MEMBER_ID:  # type: ignore[attr-defined]
            return
        await asyncio.sleep(_ASK_AGAIN_S)


async def _together(makers: object) -> None:
    await asyncio.gather(*(make() for make in makers))  # type: ignore[attr-defined]


async def main(kind: str, port: str, *rest: str) -> None:
    peers = Peers()
    work: Callable[..., Awaitable[None]] = getattr(peers, kind)
    task = asyncio.ensure_future(work(int(port), *rest))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with asyncio.timeout(_BEGUN_S):
        while not peers.done and not task.done():  # noqa: ASYNC110 - counted by the first connection to complete
            await asyncio.sleep(_ASK_AGAIN_S)
    print("ready", flush=True)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    task.cancel()
    print(peers.done, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
