"""Every byte is compared with kio, an independent codec, for every message and version that kio has.

kio must read our bytes and write them again without a change; we decode the same bytes to an equal message. kio has
no ZooKeeper-era control requests, no coordinator records and no ApiVersions 5: those are tested in
`tests/system/protocol/test_message_definitions.py` and by the round trips.
"""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

import kio
import pytest
from kio.serial import entity_reader, entity_writer

from signalbox.protocol.codec.layout import FieldLayout
from signalbox.protocol.error_table import Error
from signalbox.protocol.schema import snake_case
from tests.protocol.arbitrary import ALL_MESSAGES, ALL_VERSIONS, Draw, Values, choice, integer, messages, version_id

WITHOUT_KIO = {
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "ControlledShutdown",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "TransactionLogKey",
    "TransactionLogValue",
}
"""Messages that kio does not have in any version."""


class KioValues(Values):
    """Only values that kio's types can hold: kio decodes codes as enums, times as datetimes and timedeltas."""

    unknown_tags = False

    def integers(self, field: FieldLayout, lowest: int, highest: int) -> Draw:
        if "error_code" in field.attribute:
            return choice(*map(int, Error))
        if field.type_name == "int64" and ("time" in field.attribute or field.attribute.endswith("_ms")):
            return integer(0, 1 << 41)
        return super().integers(field, lowest, highest)


KIO_VALUES = KioValues()


def api_name(made: Any) -> str:
    return str(made.__name__).removesuffix("Request").removesuffix("Response")


def kio_module(made: Any, version: int) -> str:
    """The name of kio's module for this message and version, whether or not there is one."""
    name = made.__name__
    side = "request" if name.endswith("Request") else "response" if name.endswith("Response") else "data"
    return f"kio.schema.{snake_case(api_name(made))}.v{version}.{side}"


def is_in_kio(made: Any, version: int) -> bool:
    """Imports none of the modules: that takes seconds, and every parallel worker collects these tests."""
    return _KIO.joinpath(*kio_module(made, version).split(".")).with_suffix(".py").exists()


_KIO = Path(kio.__file__).parents[1]
COMPARED = [pair for pair in ALL_VERSIONS if api_name(pair[0]) not in WITHOUT_KIO and is_in_kio(*pair)]


def test_every_message_but_the_named_ones_is_compared_with_kio() -> None:
    compared = {made for made, _ in COMPARED}
    assert {api_name(made) for made in ALL_MESSAGES if made not in compared} == WITHOUT_KIO
    assert len(COMPARED) >= 500


@pytest.mark.parametrize("case", COMPARED, ids=version_id)
def test_kio_reads_and_writes_the_same_bytes(case: tuple[Any, int]) -> None:
    made, version = case
    entity_class = getattr(importlib.import_module(kio_module(made, version)), made.__name__)
    read, write = entity_reader(entity_class), entity_writer(entity_class)
    for message, _ in messages(made, version, KIO_VALUES):
        frame = message.encode(version)
        entity, size = read(frame, 0)
        assert size == len(frame)
        buffer = io.BytesIO()
        write(buffer, entity)
        assert buffer.getvalue() == frame
        assert made.decode(frame, version) == message
