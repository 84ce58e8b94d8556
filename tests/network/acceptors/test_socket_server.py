from __future__ import annotations

import asyncio
import os
import socket

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.network.acceptors.binding import BindError
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.listeners.listener_security import ListenerSecurity
from signalbox.network.ports import NetworkPorts
from signalbox.protocol.api_table import ApiKey
from signalbox.transport.data_loop import DataLoop
from tests.network.serving import EVERY_API, EchoSink, configured, serving
from tests.transport.loopback import until

TWO = {
    "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "CLIENT",
    "control.plane.listener.name": "CONTROL",
}


def test_ports_are_known_before_anything_is_served() -> None:
    async def main() -> None:
        table, settings = configured(TWO)
        loop = DataLoop(asyncio.get_running_loop())
        server = SocketServer(table, settings, NetworkPorts(request_sink=EchoSink(), served_versions=EVERY_API), loop)
        ports = await server.start_listening()
        assert {row.name: row.port for row in server.table} == ports
        assert [endpoint.port for endpoint in server.table.advertised_endpoints()] == list(ports.values())
        early = socket.create_connection(("127.0.0.1", ports["CLIENT"]))
        for _ in range(5):
            await asyncio.sleep(0)
        assert list(server.connections()) == []
        await server.enable()
        while not list(server.connections()):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await server.stop()
        assert early.recv(1) == b""
        early.close()
        loop.close()

    asyncio.run(main())


def test_a_port_in_use_names_the_listener_and_leaves_nothing_bound() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            given = TWO | {"listeners": f"CLIENT://192.0.2.1:0,CONTROL://127.0.0.1:{port},FREE://127.0.0.1:0"}
            given["listener.security.protocol.map"] += ",FREE:PLAINTEXT"
            table, settings = configured(given)
            loop = DataLoop(asyncio.get_running_loop())
            server = SocketServer(
                table, settings, NetworkPorts(request_sink=EchoSink(), served_versions=EVERY_API), loop
            )
            before = len(os.listdir("/proc/self/fd"))
            with pytest.raises(BindError) as rejected:
                await server.start_listening()
            assert [fault.entry for fault in rejected.value.faults] == [
                "CLIENT://192.0.2.1:0",
                f"CONTROL://127.0.0.1:{port}",
            ]
            assert len(os.listdir("/proc/self/fd")) == before
            loop.close()

    asyncio.run(main())


def test_connections_are_announced_audited_and_counted() -> None:
    async def main() -> None:
        async with serving(TWO) as served:
            client, control = await served.dial("CLIENT"), await served.dial("CONTROL")
            await client.ask(ApiKey.METADATA, 1)
            await control.ask(ApiKey.UPDATE_METADATA, 1)
            assert {event.plane for event in served.recorder.of(AuditKind.CONNECTION_OPEN)} == {"data", "control"}
            gauges = served.recorder.gauges
            assert gauges["Connectionsdata"]() == gauges["Connectionscontrol"]() == 1
            assert gauges["Requestsdata"]() == gauges["Requestscontrol"]() == 1
            assert gauges["RequestQueueSize"]() == gauges["ControlPlaneRequestQueueSize"]() == 0
            assert 0 <= gauges["NetworkProcessorAvgIdlePercent"]() <= 1
            assert 0 <= gauges["ControlPlaneRequestHandlerAvgIdlePercent"]() <= 1
            assert gauges["MemoryPoolUsed"]() == 0
            client.close()
            (event,) = await served.recorder.until(AuditKind.CONNECTION_CLOSE)
            assert event.reason == "the peer closed the connection"
            assert event.request_bytes > 0
            assert event.response_bytes > 0
            assert await served.watcher.ended.get() == event.reason
            assert len(served.watcher.open) == 2
            assert gauges["Connectionsdata"]() == 0

    asyncio.run(main())


def test_a_thousand_connects_and_leaves() -> None:
    async def main() -> None:
        async with serving() as served:
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(20):
                clients = await asyncio.gather(*(served.dial() for _ in range(50)))
                answers = await asyncio.gather(*(client.ask(ApiKey.METADATA, 1, b"x") for client in clients))
                assert set(answers) == {b"\0\0\0\1x"}
                for client in clients:
                    client.close()
            await served.recorder.until(AuditKind.CONNECTION_CLOSE, 1000)
            assert list(served.server.connections()) == []
            assert len(os.listdir("/proc/self/fd")) <= before

    asyncio.run(main())


def test_the_waiting_time_of_new_connections_in_the_kernel_is_measured() -> None:
    async def main() -> None:
        async with serving(TWO | {"listener.name.client.max.connections": "1"}) as served:
            client = await served.dial("CLIENT")
            await client.ask(ApiKey.METADATA, 1)
            blocked = served.recorder.gauges["AcceptorBlockedPercent"]
            await until(lambda: blocked() == 0)
            waiting = await served.dial("CLIENT")
            await until(lambda: blocked() > 0.5)
            client.close()
            await waiting.ask(ApiKey.METADATA, 1)
            await until(lambda: blocked() == 0)

    asyncio.run(main())


def test_stopping_in_two_steps() -> None:
    async def main() -> None:
        async with serving(TWO) as served:
            client = await served.dial("CLIENT")
            await client.ask(ApiKey.METADATA, 1)
            await served.server.stop_accepting()
            with pytest.raises(ConnectionRefusedError):
                await served.dial("CLIENT")
            assert await client.ask(ApiKey.METADATA, 1, b"still") == b"\0\0\0\2still"
            await served.server.stop()
            assert await client.ended()

    asyncio.run(main())


def test_protected_connections_on_top_of_the_limit_cost_idle_clients() -> None:
    given = {
        "listeners": "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT",
        "inter.broker.listener.name": "REPLICATION",
        "max.connections": "2",
    }

    async def main() -> None:
        async with serving(given) as served:
            oldest, second = await served.dial("CLIENT"), await served.dial("CLIENT")
            await oldest.ask(ApiKey.METADATA, 1)
            await second.ask(ApiKey.METADATA, 1)
            peer = await served.dial("REPLICATION")
            await peer.ask(ApiKey.METADATA, 1)
            assert await oldest.ended()
            assert await second.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\2x"
            assert await peer.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\2x"

    asyncio.run(main())


def test_listeners_are_added_and_removed_while_others_serve() -> None:
    async def main() -> None:
        async with serving(TWO) as served:
            stays = await served.dial("CLIENT")
            await stays.ask(ApiKey.METADATA, 1)
            more = {
                "listeners": TWO["listeners"] + ",GUEST://127.0.0.1:0",
                "listener.security.protocol.map": TWO["listener.security.protocol.map"] + ",GUEST:PLAINTEXT",
            }
            table, settings = configured(TWO | more)
            served.server.add_listeners(table, settings, {"GUEST": ListenerSecurity()})
            served.ports["GUEST"] = served.server.table.row("GUEST").port
            assert served.server.table.row("CLIENT").port == served.ports["CLIENT"]
            guest = await served.dial("GUEST")
            await guest.ask(ApiKey.METADATA, 1)
            assert served.recorder.of(AuditKind.CONNECTION_OPEN)[-1].listener == "GUEST"
            served.server.add_listeners(*configured(TWO), {})
            assert "GUEST" not in served.server.table
            await guest.ask(ApiKey.METADATA, 1)  # served until it is removed
            await served.server.remove_listeners(0)
            assert await guest.ended()
            await stays.ask(ApiKey.METADATA, 1)
            with pytest.raises(ConnectionError):
                await served.dial("GUEST")
            for dialled in (stays, guest):
                dialled.close()

    asyncio.run(main())


def test_listeners_that_cannot_be_bound_change_nothing() -> None:
    async def main() -> None:
        async with serving(TWO) as served:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                more = {
                    "listeners": TWO["listeners"] + f",A://127.0.0.1:0,B://127.0.0.1:{taken.getsockname()[1]}",
                    "listener.security.protocol.map": TWO["listener.security.protocol.map"]
                    + ",A:PLAINTEXT,B:PLAINTEXT",
                }
                before, descriptors = served.server.table, len(os.listdir("/proc/self/fd"))
                with pytest.raises(BindError, match="B"):
                    served.server.add_listeners(*configured(TWO | more), {})
                assert served.server.table is before
                assert len(os.listdir("/proc/self/fd")) == descriptors

    asyncio.run(main())
