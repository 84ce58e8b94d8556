"""The controller is killed with SIGKILL while a client produces; another controller is elected, no record is lost."""

from __future__ import annotations

import time
from typing import Any

from signalbox.cli.demo.failover_timeline import longest_silence
from signalbox.cli.demo.misroute import read_numbers
from signalbox.cli.demo.stage import Stage

TOPIC = "failover"
_SECONDS = 8.0
_KILL_AFTER_S = 2.0
_ELECTION_S = 20.0


def kill_the_controller(stage: Stage) -> None:
    """Produce numbered records for some seconds, kill the controller meanwhile, check the acknowledged records."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    controller = _wait_for_controller(stage)
    stage.check("one broker is the active controller", controller > 0, f"broker {controller}")
    bootstrap = stage.cluster.bootstrap()
    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "demo-admin"})
    new = NewTopic(TOPIC, 3, replication_factor=3, config={"min.insync.replicas": "2"})
    admin.create_topics([new])[TOPIC].result(20)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "client.id": "demo-failover"}
    )
    acknowledged: dict[int, float] = {}
    errors: list[str] = []

    def delivered(number: int) -> Any:
        def callback(error: Any, message: Any) -> None:
            if error is None:
                acknowledged[number] = time.monotonic()
            else:
                errors.append(str(error))

        return callback

    killed, number = 0.0, 0
    started = time.monotonic()
    while time.monotonic() - started < _SECONDS:
        producer.produce(TOPIC, str(number).encode(), str(number % 31).encode(), on_delivery=delivered(number))
        number += 1
        producer.poll(0.001)
        if not killed and time.monotonic() - started > _KILL_AFTER_S:
            stage.say(f"SIGKILL to broker {controller}, the active controller")
            stage.cluster.kill(controller)
            killed = time.monotonic()
    producer.flush(60)
    successor = _wait_for_controller(stage)
    times = sorted(acknowledged.values())
    silent_from, silent_to = longest_silence(times, _SECONDS)
    gap = silent_to - silent_from
    stage.check("another controller took over", successor not in (-1, controller), f"broker {successor}")
    stage.check("every record was acknowledged", len(acknowledged) == number and not errors, f"{number:,}")
    consumed = [value for values in read_numbers(stage, TOPIC, number).values() for value in values]
    all_kept = set(acknowledged) <= set(consumed) and len(consumed) == len(set(consumed))
    stage.check("nothing acknowledged is missing, nothing is there twice", all_kept, f"{len(consumed):,} records")
    stage.say(f"longest silence between two acknowledgements: {gap:.2f} s")
    stage.facts["failover"] = {
        "killed": controller,
        "successor": successor,
        "gap_s": gap,
        "records": number,
        "killed_s": killed - started,
        "acknowledged_s": [at - started for at in times],
    }
    stage.cluster.start_broker(controller)
    stage.say(f"broker {controller} is back")


def _wait_for_controller(stage: Stage) -> int:
    deadline = time.monotonic() + _ELECTION_S
    while time.monotonic() < deadline:
        controller_id = stage.controller_id()
        if controller_id > 0:
            return controller_id
        time.sleep(0.1)
    return -1
