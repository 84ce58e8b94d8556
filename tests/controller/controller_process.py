"""A controller node in a process of its own. Arguments: the store's file, the node id, the session timeout in ms.

Prints "active" when it is the controller; for each topic name read it creates the topic and prints the error's name.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.controller.cluster import start_node


async def take_part(path: str, node_id: int, session_timeout_ms: int) -> None:
    node = await start_node(node_id, SqliteMetadataStore(path, session_timeout_ms))
    await node.until_active()
    print("active", flush=True)
    loop = asyncio.get_running_loop()
    while name := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)
        response: Any = await node.controller.handle(ApiKey.CREATE_TOPICS, request)
        print(Error.of(response.topics[0].error_code).name, flush=True)


if __name__ == "__main__":
    asyncio.run(take_part(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
