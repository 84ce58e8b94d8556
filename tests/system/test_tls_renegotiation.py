"""A client that asks for one TLS handshake after another: by `openssl s_client`, Python's ssl never asks for one."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, STDOUT
from functools import partial

import pytest

from signalbox.common.audit_event import AuditKind
from tests.network.test_tls_attacks import PLANES, under_attack
from tests.system.provision import command

NEEDS = (partial(command, "openssl"),)


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
def test_renegotiation_is_rejected(listener: str) -> None:
    """TLS 1.2 lets a client request one handshake after another on a connection; each costs the broker 1 ms."""

    async def main() -> None:
        async with under_attack(listener) as (served, _):
            client = [command("openssl"), "s_client", "-tls1_2", "-connect", f"127.0.0.1:{served.ports[listener]}"]
            attackers = [
                await asyncio.create_subprocess_exec(*client, stdin=PIPE, stdout=PIPE, stderr=STDOUT) for _ in range(5)
            ]
            for attacker in attackers:
                assert attacker.stdin is not None
                attacker.stdin.write(b"R\n" * 20)
                output, _nothing = await attacker.communicate()
                assert b"RENEGOTIATING" in output
            events = await served.recorder.until(AuditKind.REJECTED, 5)
            assert {event.reason for event in events} == {"the peer asked for a TLS renegotiation, which is rejected"}
            assert served.recorder.counts["Rejections", listener, "tls_renegotiation"] == 5

    asyncio.run(main())
