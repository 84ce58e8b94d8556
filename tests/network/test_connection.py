"""What a peer can send on a connection, and how the server responds."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.network.connection import Connection
from signalbox.protocol.api_table import ApiKey
from tests.network.serving import Dialled, EchoSink, serving
from tests.transport.loopback import framed, until

PLAIN = {"listeners": "PLAINTEXT://127.0.0.1:0"}
CONTROL = {
    "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "CLIENT",
    "control.plane.listener.name": "CONTROL",
}
FORCED = CONTROL | {"control.plane.force.controller.requests.enable": "true"}


def test_a_request_and_its_answer() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            assert await client.ask(ApiKey.METADATA, 9, b"body") == b"\0\0\0\1\0body"
            (request,) = served.sink.seen
            assert request.header == (3, 9, 1, "raw")
            context = request.context
            assert context.listener_name == "PLAINTEXT"
            assert (context.client_address, context.client_address_bytes) == ("127.0.0.1", b"\x7f\0\0\1")
            assert context.privileged
            assert not context.control_plane
            assert str(context.principal) == "User:ANONYMOUS"
            port = client.sock.getsockname()[1]
            assert context.connection_id == f"127.0.0.1:{served.ports['PLAINTEXT']}-127.0.0.1:{port}-0-0"

    asyncio.run(main())


def test_the_frame_is_kept_byte_for_byte_and_can_be_written() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            sent = client.request(ApiKey.CREATE_TOPICS, 7, b"\0" + random.Random(1).randbytes(300_000))
            await client.send(sent)
            await client.answer()
            frame = served.sink.seen[0].frame
            assert not memoryview(frame).readonly

    async def kept() -> None:
        async with serving(sink=EchoSink(lambda _: True)) as served:
            client = await served.dial()
            for size in (10, 300_000):
                sent = client.request(ApiKey.CREATE_TOPICS, 7, b"\0" + random.Random(1).randbytes(size))
                await client.send(sent)
                request = await served.sink.held.get()
                assert bytes(request.frame) == sent[4:]
                served.sink.echo(request)
                await client.answer()

    asyncio.run(main())
    asyncio.run(kept())


@pytest.mark.parametrize("listener", ["CLIENT", "CONTROL"])
def test_pipelined_requests_are_answered_in_order_one_at_a_time(listener: str) -> None:
    async def main() -> None:
        sink = EchoSink(lambda request: request.header.correlation_id % 3 == 1)
        async with serving(CONTROL, sink=sink) as served:
            client = await served.dial(listener)
            await client.send(b"".join(client.request(ApiKey.METADATA, 1, bytes([n])) for n in range(30)))
            answers = []
            for _ in range(10):
                request = await sink.held.get()
                assert sink.held.empty()
                assert len(sink.seen) == request.header.correlation_id
                sink.echo(request)
                answers += [await client.answer() for _ in range(3)]
            assert [answer[4] for answer in answers] == list(range(30))

    asyncio.run(main())


@pytest.mark.parametrize("listener", ["CLIENT", "CONTROL"])
def test_a_throttled_connection_is_answered_at_once_and_read_later(listener: str) -> None:
    async def main() -> None:
        sink = EchoSink(lambda request: request.header.correlation_id == 1)
        async with serving(CONTROL, sink=sink) as served:
            client = await served.dial(listener)
            await client.send(client.request(ApiKey.METADATA, 1, b"1") + client.request(ApiKey.METADATA, 1, b"2"))
            request = await sink.held.get()
            loop = asyncio.get_running_loop()
            begun = loop.time()
            request.throttle(200)
            sink.echo(request)
            assert await client.answer() == b"\0\0\0\1" + b"1"
            assert len(sink.seen) == 1
            assert await client.answer() == b"\0\0\0\2" + b"2"
            assert loop.time() - begun >= 0.2

    asyncio.run(main())


def test_no_answer_lets_the_next_request_through() -> None:
    async def main() -> None:
        async with serving(sink=EchoSink(lambda request: request.header.correlation_id == 1)) as served:
            client = await served.dial()
            await client.send(client.request(ApiKey.PRODUCE, 9, b"\0acks=0"))
            (await served.sink.held.get()).respond_nothing()
            assert await client.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\2x"

    asyncio.run(main())


def test_an_answer_after_the_close_is_dropped_and_a_second_one_is_a_bug() -> None:
    async def main() -> None:
        async with serving(sink=EchoSink(lambda _: True)) as served:
            client = await served.dial()
            await client.send(client.request(ApiKey.METADATA, 1))
            request = await served.sink.held.get()
            request.close_connection("the client must negotiate again")
            assert await client.ended()
            request.respond([b"too late"])
            request.respond_nothing()
            other = await served.dial()
            await other.send(other.request(ApiKey.METADATA, 1))
            request = await served.sink.held.get()
            request.respond([b"once"])
            with pytest.raises(RuntimeError, match="answered twice"):
                request.respond([b"twice"])
            assert await other.answer() == b"once"

    asyncio.run(main())


def test_a_client_id_that_is_not_utf_8_costs_nothing() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            await client.send(framed(b"\0\x03\0\x01\0\0\0\x07\0\x02\xff\xfe"))
            assert await client.answer() == b"\0\0\0\x07"
            assert served.sink.seen[0].header.client_id == "\ufffd\ufffd"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (framed(b""), "garbled"),
        (framed(b"\0\x03\0"), "garbled"),
        (framed(b"\0\x03\0\x01\0\0\0\x07\x7f\xffshort"), "garbled"),
        (framed(b"\0\x03\0\x09\0\0\0\x07\0\0\xff\xff\xff\xff\x0f"), "garbled"),
        (framed(b"\x03\xe8\0\0\0\0\0\x07\0\x03abc"), "unknown_api"),
        (framed(b"\0\x03\0\x63\0\0\0\x07\0\x03abc\0"), "unsupported_version"),
        (framed(b"\0\x03\xff\xff\0\0\0\x07\0\x03abc"), "unsupported_version"),
        (framed(b"\0\0\0\x02\0\0\0\x07\0\x03abc"), "unsupported_version"),
        (b"\xff\xff\xff\xff", "frame_size"),
        (b"\x7f\xff\xff\xff", "frame_size"),
        (bytes.fromhex("16030102000100"), "tls_on_plaintext"),
        (b"GET / HTTP/1.1\r\n\r\n", "frame_size"),
    ],
)
@pytest.mark.parametrize("listener", ["CLIENT", "CONTROL"])
def test_an_invalid_request_closes_only_its_connection(frame: bytes, kind: str, listener: str) -> None:
    async def main() -> None:
        async with serving(CONTROL) as served:
            bystander, attacker = await served.dial(listener), await served.dial(listener)
            assert await bystander.ask(ApiKey.METADATA, 1, b"before")
            await attacker.send(frame)
            assert await attacker.ended()
            assert await bystander.ask(ApiKey.METADATA, 1, b"after") == b"\0\0\0\2after"
            (event,) = await served.recorder.until(AuditKind.REJECTED)
            assert event.reason
            assert served.recorder.counts["Rejections", listener, kind] == 1
            plane = served.server.planes["data" if listener == "CLIENT" else "control"]
            assert plane.rejected_requests == 1

    asyncio.run(main())


def test_an_unknown_version_of_api_versions_is_for_the_broker_to_answer() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            await client.ask(ApiKey.API_VERSIONS, 77, b"\0")
            assert served.sink.seen[0].header.api_version == 77

    asyncio.run(main())


FOUR = (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN)


def test_c4_a_forced_control_plane_accepts_only_the_four_apis() -> None:
    async def main() -> None:
        async with serving(FORCED) as served:
            client = await served.dial("CONTROL")
            for api in (*FOUR, ApiKey.API_VERSIONS):
                await client.ask(api, 1, b"x")
            assert [request.header.api_key for request in served.sink.seen] == [*FOUR, ApiKey.API_VERSIONS]
            assert all(request.context.control_plane for request in served.sink.seen)
            for number, api in enumerate((ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.ENVELOPE), 1):
                intruder = await served.dial("CONTROL")
                await intruder.send(intruder.request(api, 0 if api is not ApiKey.PRODUCE else 3))
                assert await intruder.ended()
                event = (await served.recorder.until(AuditKind.REJECTED, number))[-1]
                assert event.client_id == "raw"
                assert event.client_address == "127.0.0.1"
                assert event.listener == "CONTROL"
                assert event.plane == "control"
                assert event.api == api.name.title().replace("_", "")
                assert "control.plane.force.controller.requests.enable" in event.reason
            assert served.recorder.counts["Rejections", "CONTROL", "control_plane_forced"] == 3
            assert served.recorder.gauges["RejectedRequestscontrol"]() == 3
            assert len(served.sink.seen) == 5

    asyncio.run(main())


def test_a_control_plane_that_is_not_forced_accepts_data_requests() -> None:
    async def main() -> None:
        async with serving(CONTROL) as served:
            client = await served.dial("CONTROL")
            assert await client.ask(ApiKey.PRODUCE, 3, b"x") == b"\0\0\0\1x"
            assert served.sink.seen[0].context.privileged
            assert served.sink.seen[0].context.control_plane
            assert served.server.planes["control"].requests == 1
            assert served.server.planes["data"].requests == 0

    asyncio.run(main())


class RecordingFastPath:
    """A fast path that takes Produce; even correlation ids are answered later."""

    def __init__(self) -> None:
        self.deferred: asyncio.Queue[tuple[Connection, bytes]] = asyncio.Queue()
        self.taken = 0
        self.forgotten: list[Connection] = []

    def try_frame(self, connection: Connection, frame: memoryview) -> bool:
        if frame[1] != ApiKey.PRODUCE:
            return False
        frame[0] = 0  # the frame must be writable
        self.taken += 1
        answer = bytes(frame[4:8]) + b"fast"
        if frame[7] % 2:
            connection.respond([answer])
        else:
            connection.defer()
            self.deferred.put_nowait((connection, answer))
        return True

    def forget(self, connection: Connection) -> None:
        self.forgotten.append(connection)


def test_the_fast_path_keeps_the_order_of_all_requests() -> None:
    async def main() -> None:
        fast_path = RecordingFastPath()
        async with serving(CONTROL, fast_path=fast_path) as served:
            client = await served.dial("CLIENT")
            apis = [ApiKey.PRODUCE, ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.PRODUCE]
            await client.send(b"".join(client.request(api, 3, b"x") for api in apis))
            assert (await client.answer())[3:] == b"\1fast"
            for _ in range(2):
                connection, answer = await fast_path.deferred.get()
                assert connection.busy
                connection.respond([answer])
            answers = [await client.answer() for _ in range(4)]
            assert [answer[3] for answer in answers] == [2, 3, 4, 5]
            await client.send(client.request(ApiKey.PRODUCE, 3, bytes(2_000_000)))
            await fast_path.deferred.get()
            assert fast_path.taken == 5
            assert served.loop.pool.used_bytes > 0
            connection.respond_nothing()
            assert served.loop.pool.used_bytes == 0
            assert served.server.planes["data"].requests == 6
            client.close()
            await served.watcher.ended.get()
            assert fast_path.forgotten == [connection]

    asyncio.run(main())


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.METADATA])
def test_the_frame_of_a_client_that_left_is_given_back_when_its_request_ends(api: ApiKey) -> None:
    async def main() -> None:
        fast_path = RecordingFastPath()
        async with serving(sink=EchoSink(lambda _: True), fast_path=fast_path) as served:
            client = await served.dial()
            client.request(api, 3)  # uses id 1: the next one is even and is answered later
            await client.send(client.request(api, 3, bytes(500_000)))
            waiting = await (fast_path.deferred if api is ApiKey.PRODUCE else served.sink.held).get()
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.close()
            await served.watcher.ended.get()
            assert served.loop.pool.used_bytes > 0
            if isinstance(waiting, tuple):
                waiting[0].respond([waiting[1]])
            else:
                waiting.respond([b"too late"])
            assert served.loop.pool.used_bytes == 0

    asyncio.run(main())


def test_the_frame_of_a_rejected_request_is_given_back() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            await client.send(framed(b"\x03\xe8\0\0\0\0\0\x07\0\x03abc" + bytes(500_000)))
            assert await client.ended()
            assert served.loop.pool.used_bytes == 0

    asyncio.run(main())


def test_the_control_plane_has_no_fast_path() -> None:
    async def main() -> None:
        fast_path = RecordingFastPath()
        async with serving(CONTROL, fast_path=fast_path) as served:
            client = await served.dial("CONTROL")
            assert await client.ask(ApiKey.PRODUCE, 3, b"x") == b"\0\0\0\1x"
            assert fast_path.taken == 0

    asyncio.run(main())


def test_a_handler_that_breaks_costs_its_own_connection_only() -> None:
    class Broken(EchoSink):
        def submit(self, request: object) -> None:
            raise LookupError("a bug")

    async def main() -> None:
        for listener in ("CLIENT", "CONTROL"):
            async with serving(CONTROL, sink=Broken()) as served:
                client, other = await served.dial(listener), await served.dial(listener)
                await client.send(client.request(ApiKey.METADATA, 1))
                assert await client.ended()
                await other.send(other.request(ApiKey.METADATA, 1)[:5])
                assert served.server.planes["data" if listener == "CLIENT" else "control"].connections == 1

    asyncio.run(main())


def test_sasl_requests_on_a_plaintext_listener_are_out_of_place() -> None:
    async def main() -> None:
        async with serving() as served:
            client = await served.dial()
            assert (await client.ask(ApiKey.SASL_HANDSHAKE, 1, b"\0\x05PLAIN"))[4:6] == b"\0\x22"
            assert (await client.ask(ApiKey.SASL_AUTHENTICATE, 1, b"\0\0\0\0"))[4:6] == b"\0\x22"
            assert await client.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\3x"
            assert len(served.sink.seen) == 1

    asyncio.run(main())


async def fuzz(client: Dialled, random_: random.Random) -> None:
    data = random_.randbytes(random_.randrange(1, 400))
    if random_.random() < 0.7:
        data = framed(b"\0" + bytes([random_.randrange(0, 80)]) + b"\0" + bytes([random_.randrange(0, 12)]) + data)
    await client.send(data)


def test_fuzzed_frames_leave_the_server_standing() -> None:
    async def main() -> None:
        random_ = random.Random(20)
        async with serving(CONTROL) as served:
            for _ in range(300):
                attacker = await served.dial(random_.choice(("CLIENT", "CONTROL")))
                await fuzz(attacker, random_)
                attacker.close()
            client = await served.dial("CLIENT")
            assert await client.ask(ApiKey.METADATA, 1, b"alive") == b"\0\0\0\1alive"
            await until(lambda: len(list(served.server.connections())) == 1)
            assert served.loop.pool.used_bytes == 0

    asyncio.run(main())


@pytest.mark.spec("F15")
def test_a_client_on_a_controllers_listener_is_rejected() -> None:
    given = {
        "process.roles": "controller",
        "controller.listener.names": "CTRL",
        "listeners": "CTRL://127.0.0.1:0",
        "listener.security.protocol.map": "CTRL:PLAINTEXT",
    }

    async def main() -> None:
        async with serving(given) as served:
            broker = await served.dial("CTRL")
            assert await broker.ask(ApiKey.ENVELOPE, 0, b"x") == b"\0\0\0\1\0x"
            context = served.sink.seen[0].context
            assert (context.privileged, context.controller_plane, context.plane) == (True, True, "controller")
            for api in (ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.UPDATE_METADATA):
                client = await served.dial("CTRL")
                await client.send(client.request(api, 5))
                assert await client.ended()
            assert served.recorder.counts["Rejections", "CTRL", "controller_listener"] == 3
            rejected = await served.recorder.until(AuditKind.REJECTED, 3)
            assert {event.plane for event in rejected} == {"controller"}

    asyncio.run(main())
