"""aiokafka."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.helpers import create_ssl_context

from tests.system.interop_security.access import Access, Seen
from tests.system.interop_security.log_lines import LogLines


class _Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


class Aiokafka:
    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        return asyncio.run(asyncio.wait_for(_round_trip(access, topic, records), 40))

    def rejection(self, access: Access, deadline_s: float) -> str:
        with LogLines("aiokafka") as log:
            error = asyncio.run(_rejection(access, deadline_s))
        return f"{error}: {log.text}" if error else ""

    def close(self) -> None:
        return


async def _round_trip(access: Access, topic: str, records: int) -> Seen:
    settings = _settings(access)
    async with AIOKafkaProducer(**settings, enable_idempotence=True, acks="all") as producer:
        await asyncio.gather(*[await producer.send(topic, str(number).encode()) for number in range(records)])
    consumer = AIOKafkaConsumer(topic, **settings, group_id=f"group-{topic}", auto_offset_reset="earliest")
    read: list[str] = []
    async with consumer:
        while len(read) < records:
            for batch in (await consumer.getmany(timeout_ms=1_000)).values():
                read += [str(record.value, "ascii") for record in batch]
        await consumer.commit()
        listed = topic in await consumer.topics()
    return Seen(read, listed)


async def _rejection(access: Access, deadline_s: float) -> str:
    admin = AIOKafkaAdminClient(**_settings(access), request_timeout_ms=int(deadline_s * 1000))
    try:
        async with asyncio.timeout(deadline_s):
            await admin.start()
            await admin.list_topics()
    except TimeoutError:
        return "timeout"
    except (KafkaError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await admin.close()
    return ""


def _settings(access: Access) -> dict[str, Any]:
    settings: dict[str, Any] = {"bootstrap_servers": access.servers, "security_protocol": access.protocol}
    if access.uses_tls:
        files = {"certfile": access.certificate_file, "keyfile": access.key_file} if access.certificate_file else {}
        settings["ssl_context"] = create_ssl_context(cafile=access.ca_file, **files)
    if access.uses_sasl:
        settings["sasl_mechanism"] = access.mechanism
        if access.mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = _Token(access.token)
        else:
            settings |= {"sasl_plain_username": access.user, "sasl_plain_password": access.password}
    return settings
