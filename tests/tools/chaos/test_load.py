"""The producer records each acknowledgement, and after `stop` no record is in flight."""

from __future__ import annotations

from tools.chaos.group import read_everything
from tools.chaos.ledger import Ledger, RecordId
from tools.chaos.load import SteadyProducer
from tools.chaos.record_check import check_records

from tests.tools.chaos.conftest import PARTITIONS
from tests.waiting import until


def test_every_record_sent_is_acknowledged_where_it_is_found(signalbox_bootstrap: str, topic: str) -> None:
    ledger = Ledger()
    producers = [SteadyProducer(number, signalbox_bootstrap, topic, 400, ledger) for number in range(2)]
    for producer in producers:
        producer.start()
    until(lambda: len(ledger.acknowledged) >= 400, "400 records are acknowledged")
    assert [producer.stop(20) for producer in producers] == [0, 0]
    assert not producers[0].has_lost_its_brokers()
    sent = {RecordId(number, each) for number, producer in enumerate(producers) for each in range(producer.sent)}
    assert ledger.acknowledged.keys() == sent
    assert ledger.rejected == []
    found = read_everything(signalbox_bootstrap, topic, PARTITIONS, 20)
    seen = {(partition, offset): record for partition, rows in found.items() for offset, record in rows}
    assert check_records(ledger.acknowledged, found, seen).holds
    assert sum(len(rows) for rows in found.values()) == len(sent)
