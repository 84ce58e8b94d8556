from __future__ import annotations

import pytest

from signalbox.client.application_rows import CONSUMER_CONFIG, PRODUCER_CONFIG
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.failures import ConfigRejected
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.producer import ProducerSettings
from signalbox.common.config.config_table import ConfigRow


@pytest.mark.parametrize("row", [*PRODUCER_CONFIG, *CONSUMER_CONFIG], ids=lambda row: row.name)
def test_every_key_is_explained_and_its_default_is_allowed(row: ConfigRow) -> None:
    assert row.doc.endswith(".")
    assert row.default is None or row.validator is None or row.validator(row.default) is None


def test_defaults_of_fields_and_of_keys_are_the_same() -> None:
    assert ProducerSettings.from_properties({}) == ProducerSettings()
    assert ConsumerSettings.from_properties({}) == ConsumerSettings(auto_offset_reset="latest")
    found = GroupConsumerSettings.from_properties({"group.id": "g"})
    assert list(found.partition_assignment_strategy) == ["range", "cooperative-sticky"]
    assert found == GroupConsumerSettings(group_id="g", partition_assignment_strategy=["range", "cooperative-sticky"])


def test_keys_reach_their_fields() -> None:
    producer = ProducerSettings.from_properties({"batch.size": "7", "buffer.memory": "8", "max.request.size": "9"})
    assert (producer.batch_size_bytes, producer.buffer_memory_bytes, producer.max_request_size_bytes) == (7, 8, 9)
    given = {
        "group.id": "g",
        "group.instance.id": "i",
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": "6000",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "client.rack": "r",
        "bootstrap.servers": "h:1",
    }
    member = GroupConsumerSettings.from_properties(given)
    assert (member.group_instance_id, member.session_timeout_ms, member.client_rack) == ("i", 6_000, "r")
    assert member.cooperative
    assert not member.enable_auto_commit
    assert (member.fetch.auto_offset_reset, member.fetch.isolation_level) == ("earliest", "read_committed")
    transactional = {"transactional.id": "t", "transaction.timeout.ms": "9"}
    producer = ProducerSettings.from_properties(transactional)
    assert (producer.transactional_id, producer.transaction_timeout_ms) == ("t", 9)


def test_every_fault_is_named() -> None:
    with pytest.raises(ConfigRejected) as raised:
        ProducerSettings.from_properties({"compression.type": "zip", "linger.ms": "soon"})
    assert "compression.type" in str(raised.value)
    assert "linger.ms" in str(raised.value)
    with pytest.raises(ConfigRejected, match=r"isolation\.level is 'committed', not one of"):
        ConsumerSettings(isolation_level="committed")
    with pytest.raises(ConfigRejected, match=r"group\.id is empty"):
        GroupConsumerSettings.from_properties({})
