"""Failures of our own producer as confluent_kafka's: those after which a call is repeated, and those that are final."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException
from tools.chaos.bank.own_producer import OwnProducer

from signalbox.client.producer import ProducerSettings

pytestmark = pytest.mark.system


def test_a_fenced_producer_can_neither_commit_nor_abort(signalbox_bootstrap: str, topic: str) -> None:
    settings = ProducerSettings(transactional_id=topic)
    first, second = (OwnProducer(signalbox_bootstrap, settings, "bank", "bank") for _ in range(2))
    first.init_transactions(30)
    first.begin_transaction()
    first.produce(topic, b"lost", b"key", partition=0)
    second.init_transactions(30)
    for call in (first.commit_transaction, first.abort_transaction):
        with pytest.raises(KafkaException) as fenced:
            call(30)
        assert not fenced.value.args[0].retriable()
    for producer in (first, second):
        producer.close()


def test_a_call_whose_time_is_over_is_repeated(signalbox_bootstrap: str, topic: str) -> None:
    producer = OwnProducer(signalbox_bootstrap, ProducerSettings(transactional_id=topic), "bank", "bank")
    with pytest.raises(KafkaException) as late:
        producer.init_transactions(0)
    assert late.value.args[0].retriable()
    producer.init_transactions(30)
    producer.close()
