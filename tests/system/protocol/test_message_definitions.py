"""Every message table against Apache Kafka's own definitions, field by field: order, types, nulls, defaults, tags."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from signalbox.protocol.codec.layout import layout_of
from signalbox.protocol.schema_text import parse_message
from tests.protocol.arbitrary import ALL_MESSAGES
from tests.system.kafka_definitions import Definition, kafka_3_9, kafka_4_4, our_rows
from tests.system.provision import jars

NEEDS = (partial(jars, "kafka39"), partial(jars, "kafka44"))
# Messages that have another form in 4.4. AlterPartition lost versions 0 and 1, and with them the topic's name in every
# version; keys of coordinator records declare their version as an API key (the bytes are the same).
AS_IN_3_9 = ("AlterPartitionRequest", "AlterPartitionResponse", "OffsetCommitKey", "GroupMetadataKey")
# Low versions that 4.x has removed and that Signalbox supports as 3.9 does.
KEPT_FROM_3_9 = ("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken")


def definitions_of(name: str) -> list[Definition]:
    """The definition of 4.4, then that of 3.9; only that of 3.9 if 4.4 has the message in another form."""
    releases = (kafka_3_9(),) if name in AS_IN_3_9 else (kafka_4_4(), kafka_3_9())
    return [Definition(release[name]) for release in releases if name in release]


@pytest.mark.parametrize("made", ALL_MESSAGES, ids=lambda made: made.__name__)
def test_same_fields_as_kafka_at_every_version(made: Any) -> None:
    found = definitions_of(made.__name__)
    assert made.schema.api_key == found[0].api_key
    for version in range(made.min_version, made.max_version + 1):
        reference = next(definition for definition in found if version in definition.versions)
        layout = layout_of(made.schema, version)
        assert layout.flexible == (version in reference.flexible)
        assert our_rows(layout) == reference.rows(version), f"version {version}"


@pytest.mark.parametrize("made", ALL_MESSAGES, ids=lambda made: made.__name__)
def test_versions_are_the_stable_ones_of_4_4_and_what_is_kept_of_3_9(made: Any) -> None:
    """A response has the versions of its request."""
    found = definitions_of(made.__name__.replace("Response", "Request"))
    lowest = found[-1] if made.__name__.startswith(KEPT_FROM_3_9) else found[0]
    assert (made.min_version, made.max_version) == (lowest.versions.lowest, found[0].stable.highest)


def test_a_changed_schema_would_be_noticed() -> None:
    """The comparison detects a changed type, order, default, tag and null."""
    table = "X versions 0 flexible 0+\n\nA 0+ int32\nB 0+ string?\nC 0+ int8 = 3 tag 0"
    definition = Definition(
        {
            "type": "data",
            "validVersions": "0",
            "flexibleVersions": "0+",
            "fields": [
                {"name": "A", "type": "int32", "versions": "0+"},
                {"name": "B", "type": "string", "versions": "0+", "nullableVersions": "0+"},
                {"name": "C", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 0, "default": "3"},
            ],
        }
    )
    assert our_rows(layout_of(parse_message(table), 0)) == definition.rows(0)
    for changed in (
        "int32|int64",
        "string?|string",
        "= 3|= 4",
        "tag 0|tag 1",
        "A 0+ int32\nB 0+ string?|B 0+ string?\nA 0+ int32",
    ):
        before, after = changed.split("|")
        assert our_rows(layout_of(parse_message(table.replace(before, after)), 0)) != definition.rows(0), changed
