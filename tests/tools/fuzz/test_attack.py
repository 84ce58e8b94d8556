from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle

from tools.fuzz.attack import Attack, FrameStats
from tools.fuzz.frame_stream import Fuzzed

from signalbox.network.connection import InboundRequest
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from tests.network.serving import EchoSink, serving
from tests.transport.loopback import framed

GOOD = Fuzzed("good", framed(encode_request_header(int(ApiKey.METADATA), 1, 5, "x")))
SILENT = Fuzzed("silent", framed(encode_request_header(int(ApiKey.FETCH), 4, 6, "x")))
BAD = Fuzzed("bad", b"\xff\xff\xff\xff")


class Sink(EchoSink):
    """Sends no response to Fetch; responds to Heartbeat with a wrong correlation id."""

    def submit(self, request: InboundRequest) -> None:
        if request.header.api_key == ApiKey.HEARTBEAT:
            request.respond([b"\0\0\0\x63"])
        elif request.header.api_key != ApiKey.FETCH:
            self.echo(request)


def attack(frames: Iterator[Fuzzed], count: int) -> FrameStats:
    async def main() -> FrameStats:
        async with serving(sink=Sink()) as served:
            attacking = Attack([("127.0.0.1", served.ports["PLAINTEXT"])])
            await asyncio.to_thread(attacking.run, frames, count)
            return attacking.stats

    return asyncio.run(main())


def test_the_results_of_frames_are_counted_by_kind() -> None:
    stats = attack(cycle([GOOD, BAD, GOOD, SILENT]), 400)
    assert stats.sent >= 400
    assert stats.answered > 100
    assert stats.closed > 50
    assert stats.parked > 0
    assert stats.misanswered == []
    assert set(stats.by_mutation) == {"good", "bad", "silent"}


def test_an_answer_for_another_request_is_noticed() -> None:
    wrong = Fuzzed("wrong", framed(encode_request_header(int(ApiKey.HEARTBEAT), 1, 7, "x")))
    stats = attack(cycle([wrong]), 60)
    assert stats.misanswered
    assert stats.misanswered[0].startswith("wrong: ")
