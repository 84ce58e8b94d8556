"""The numbers of config requests are those of Kafka's clients."""

from __future__ import annotations

from confluent_kafka.admin import AlterConfigOpType
from kafka.admin import ConfigResourceType as Theirs

from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType


def test_resource_types_have_the_numbers_of_kafka_python() -> None:
    ours = {each.name: each.value for each in ConfigResourceType}
    theirs = {each.name: each.value for each in Theirs}
    assert {name: ours[name] for name in ours.keys() & theirs} == {name: theirs[name] for name in ours.keys() & theirs}
    assert {"TOPIC", "BROKER"} <= theirs.keys()


def test_operations_have_the_numbers_of_librdkafka() -> None:
    assert {each.name: each.value for each in AlterConfigOpType} == {each.name: each.value for each in AlterConfigOp}
