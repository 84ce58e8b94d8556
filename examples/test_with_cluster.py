"""A test suite of your own against three real brokers: the fixture comes with the package."""

from confluent_kafka import Consumer, Producer


def test_what_goes_in_comes_out(signalbox_bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": signalbox_bootstrap, "acks": "all"})
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0
    consumer = Consumer(
        {"bootstrap.servers": signalbox_bootstrap, "group.id": "kitchen", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None
    assert message.value() == b"one coffee"
