"""Partition states: the payload is Kafka's, the partition epoch is the version of the entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.partition_state import LeaderRecoveryState, PartitionState, decode_partition_state

STATE = PartitionState(leader=1, leader_epoch=3, isr=(1, 2), controller_epoch=4, partition_epoch=9)


def test_payload_is_kafkas() -> None:
    assert STATE.encode() == b'{"version":1,"leader":1,"leader_epoch":3,"controller_epoch":4,"isr":[1,2]}'


def test_recovering_is_written_only_when_it_is_so() -> None:
    recovering = replace(STATE, recovery=LeaderRecoveryState.RECOVERING)
    assert recovering.encode().endswith(b'"leader_recovery_state":1}')
    assert decode_partition_state("/s", recovering.encode(), 9) == recovering


def test_round_trip() -> None:
    assert decode_partition_state("/s", STATE.encode(), 9) == STATE


def payload(**changed: str) -> bytes:
    fields = {"leader": "1", "leader_epoch": "3", "isr": "[1,2]", "controller_epoch": "4", **changed}
    return "{{{}}}".format(",".join(f'"{name}":{value}' for name, value in fields.items())).encode()


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"{}",
        payload(isr="1"),
        payload(isr='"12"'),
        payload(isr='["1"]'),
        payload(isr="[-1]"),
        payload(leader='"1"'),
        payload(leader="-2"),
        payload(leader="true"),
        payload(leader_epoch="-1"),
        payload(leader_epoch="2147483648"),
        payload(controller_epoch="1.5"),
        payload(leader_recovery_state="2"),
    ],
)
def test_bad_payloads_are_named(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/s"):
        decode_partition_state("/s", data, 0)


@pytest.mark.spec("D3")
def test_keys_beyond_kafka_are_written_only_with_a_value() -> None:
    extended = replace(STATE, unverified=(2,), unclean_epoch=3)
    assert extended.encode() == STATE.encode()[:-1] + b',"unverified_isr":[2],"unclean_leader_epoch":3}'
    assert decode_partition_state("/s", extended.encode(), 9) == extended
    assert extended.verified_isr == (1,)
    every = replace(extended, recovery=LeaderRecoveryState.RECOVERING)
    assert decode_partition_state("/s", every.encode(), 9) == every
