"""A participant in a process of its own, to be killed or stopped by a test.

Arguments: the store's file, the session timeout in ms. Prints "ready" when it owns `/mine`. On "lock" it takes the
database's write lock and keeps it; on "commit" it tries to write `/late` and prints the result.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path

from signalbox.metadata.store.port import Create, StoreError
from signalbox.metadata.store.sqlite import SqliteMetadataStore


def say(word: str) -> None:
    print(word, flush=True)


async def take_part(path: Path, session_timeout_ms: int) -> None:
    store = SqliteMetadataStore(path, session_timeout_ms)
    await store.open_session()
    await store.commit([Create("/mine", b"", of_session=True)])
    say("ready")
    loop = asyncio.get_running_loop()
    while command := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        if command == "lock":
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("BEGIN IMMEDIATE")
            say("locked")
        elif command == "commit":
            try:
                await store.commit([Create("/late")])
                say("committed")
            except StoreError as error:
                say(type(error).__name__)
    await store.close()


if __name__ == "__main__":
    asyncio.run(take_part(Path(sys.argv[1]), int(sys.argv[2])))
