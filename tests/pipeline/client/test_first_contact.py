"""A run with no broker ends within seconds and names every address."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError

from signalbox.pipeline.client.first_contact import FirstContact, NoContactError
from signalbox.pipeline.topic_client import TopicClient, TopicError
from signalbox.testing.free_ports import free_ports

DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")


def failed(address: str, reason: str, code: int = KafkaError._TRANSPORT) -> KafkaError:
    return KafkaError(code, f"{address}/bootstrap: {reason} (after 0ms in state CONNECT)")


@pytest.mark.spec("P9")
def test_ports_at_which_nothing_listens_are_named_soon() -> None:
    first, second = free_ports(2)
    client = TopicClient(f"127.0.0.1:{first},127.0.0.1:{second}", {}, "test")
    with pytest.raises(TopicError, match="no broker can be used") as rejected:
        client.partitions(["flights"])
    for port in (first, second):
        assert f"127.0.0.1:{port}: Connect to ipv4#127.0.0.1:{port} failed: Connection refused" in str(rejected.value)


def test_a_rejected_login_ends_the_wait() -> None:
    contact = FirstContact()
    contact.on_error(failed("sasl_ssl://b:1", "SASL authentication error", KafkaError._AUTHENTICATION))
    with pytest.raises(NoContactError, match=r"no broker can be used: b:1: SASL authentication error$"):
        contact.wait(Future(), lambda _: None)


def test_one_broker_that_is_down_is_no_failure() -> None:
    contact, answer = FirstContact(), Future[Any]()
    contact.on_error(failed("b:1", "Connection refused"))

    def answered_later(_: float) -> None:
        answer.set_result(1)

    contact.wait(answer, answered_later)


def test_brokers_that_came_up_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    contact, answer, now = FirstContact(), Future[Any](), [100.0]
    monkeypatch.setattr("signalbox.pipeline.client.first_contact.time.monotonic", lambda: now[0])
    contact.on_error(failed("b:1", "Connection refused"))
    contact.on_error(DOWN)

    def slowly(_: float) -> None:
        now[0] += 2
        if now[0] > 120:
            answer.set_result(1)

    contact.wait(answer, slowly)


def test_after_the_first_answer_nothing_is_collected() -> None:
    contact, answer = FirstContact(), Future[Any]()
    answer.set_result(1)
    contact.wait(answer, lambda _: None)
    contact.on_error(DOWN)
    contact.wait(Future(), lambda _: None)
