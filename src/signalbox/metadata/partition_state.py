"""`/brokers/topics/<topic>/partitions/<p>/state`: leader, ISR, epochs. Its version is the partition epoch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from signalbox.metadata.json_text import BadEntry, decode_json, whole_number

NO_LEADER = -1


class LeaderRecoveryState(IntEnum):
    """Whether the leader came from an unclean election and may hold a shorter log (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What the controller decided last. `leader` is -1 when nobody can lead."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    partition_epoch: int
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    def encode(self) -> bytes:
        """The JSON payload. The partition epoch is not in it: it is the entry's version."""
        # Put together by hand: a broker's death writes thousands of these at once, and all of it is numbers.
        recovering = self.recovery is LeaderRecoveryState.RECOVERING
        return (
            f'{{"version":1,"leader":{self.leader},"leader_epoch":{self.leader_epoch},'
            f'"controller_epoch":{self.controller_epoch},"isr":[{",".join(map(str, self.isr))}]'
            + (',"leader_recovery_state":1}' if recovering else "}")
        ).encode()


def decode_partition_state(path: str, data: bytes | None, entry_version: int) -> PartitionState:
    """The state in an entry; BadEntry names what is wrong."""
    payload = decode_json(data, path)
    try:
        return PartitionState(
            leader=whole_number(payload["leader"], NO_LEADER),
            leader_epoch=whole_number(payload["leader_epoch"]),
            isr=tuple(map(whole_number, payload["isr"])),
            controller_epoch=whole_number(payload["controller_epoch"]),
            partition_epoch=entry_version,
            recovery=LeaderRecoveryState(whole_number(payload.get("leader_recovery_state", 0))),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} is not a partition's state: {error!r}") from error
