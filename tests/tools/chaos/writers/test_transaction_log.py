"""Bytes as ZooKeeper 3.9 writes them: headers, single writes, multis, rejected ones, the incomplete end of a killed
server's log."""

from __future__ import annotations

import struct
from pathlib import Path

from tools.chaos.writers.one_writer import Written
from tools.chaos.writers.transaction_log import history_of_log

CREATE, DELETE, SET_DATA, MULTI, ERROR, CREATE_SESSION = 1, 2, 5, 14, -1, -10


def text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def part(kind: int, body: bytes) -> bytes:
    return struct.pack(">ii", kind, len(body)) + body


def multi(*parts: bytes) -> bytes:
    return struct.pack(">i", len(parts)) + b"".join(parts)


def transaction(session_id: int, zxid: int, kind: int, body: bytes) -> bytes:
    data = struct.pack(">qiqqi", session_id, 7, zxid, 1_700_000_000_000, kind) + body + b"digest behind it"
    return struct.pack(">qi", 0x1234, len(data)) + data + b"\x42"


HEAD = b"ZKLG" + struct.pack(">iq", 2, 0)


def test_the_session_and_the_paths_of_every_write_below_the_chroot(tmp_path: Path) -> None:
    folder = tmp_path / "version-2"
    folder.mkdir()
    (folder / "log.a").write_bytes(  # 10: after log.1
        HEAD + transaction(-5, 10, DELETE, text("/signalbox/admin/delete_topics/t"))
    )
    (folder / "log.1").write_bytes(
        HEAD
        + transaction(77, 1, CREATE_SESSION, struct.pack(">i", 6_000))
        + transaction(77, 2, CREATE, text("/signalbox/brokers") + text("data"))
        + transaction(77, 3, CREATE, text("/signalbox-too/brokers") + text("of others"))
        + transaction(
            77,
            4,
            MULTI,
            multi(
                part(SET_DATA, text("/signalbox/controller_epoch") + text("2")),
                part(CREATE, text("/signalbox/brokers/topics/t") + text("")),
            ),
        )
        + transaction(78, 5, MULTI, multi(part(ERROR, struct.pack(">i", -101)), part(ERROR, struct.pack(">i", 0))))
        + transaction(78, 6, ERROR, struct.pack(">i", -110))
        + transaction(78, 7, SET_DATA, text("/signalbox/torn") + text("x"))[:-40]
    )
    (folder / "log.2f").write_bytes(HEAD + bytes(64))
    assert list(history_of_log(tmp_path, "/signalbox")) == [
        Written(2, 77, "/brokers"),
        Written(4, 77, "/controller_epoch"),
        Written(4, 77, "/brokers/topics/t"),
        Written(10, -5, "/admin/delete_topics/t"),
    ]
