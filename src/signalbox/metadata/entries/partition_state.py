"""`/brokers/topics/<topic>/partitions/<p>/state`: leader, ISR, epochs. The entry's version is the partition epoch.

Two keys are not Kafka's: `unverified_isr` and `unclean_leader_epoch`. They are written only with a value, and Kafka's
readers ignore them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from signalbox.metadata.entries.json_text import BadEntry, decode_json, whole_number

NO_LEADER = -1
NO_UNCLEAN_EPOCH = -1


class LeaderRecoveryState(IntEnum):
    """Whether the leader comes from an unclean election and may have a shorter log (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The last decision of the controller. `leader` is -1 when no replica can lead.

    `unverified`: members of the ISR that returned after an unclean shutdown or without a log directory. Their logs may
    have lost records, so they are elected only after the logs of the members have been compared. `unclean_epoch`: the
    leader epoch of the last unclean election; older records that the leader does not have are given up."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    partition_epoch: int
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    unverified: tuple[int, ...] = ()
    unclean_epoch: int = NO_UNCLEAN_EPOCH

    @property
    def verified_isr(self) -> tuple[int, ...]:
        """The members of the ISR that may be elected without a comparison of logs."""
        return tuple(member for member in self.isr if member not in self.unverified) if self.unverified else self.isr

    def encode(self) -> bytes:
        """The JSON payload. The partition epoch is not in it: it is the entry's version."""
        # Without the JSON encoder: a broker failure writes thousands of these at once, and all values are numbers.
        recovering = self.recovery is LeaderRecoveryState.RECOVERING
        return (
            f'{{"version":1,"leader":{self.leader},"leader_epoch":{self.leader_epoch},'
            f'"controller_epoch":{self.controller_epoch},"isr":[{",".join(map(str, self.isr))}]'
            + (',"leader_recovery_state":1' if recovering else "")
            + (f',"unverified_isr":[{",".join(map(str, self.unverified))}]' if self.unverified else "")
            + (f',"unclean_leader_epoch":{self.unclean_epoch}}}' if self.unclean_epoch >= 0 else "}")
        ).encode()


def decode_partition_state(path: str, data: bytes | None, entry_version: int) -> PartitionState:
    """The state in an entry; BadEntry names the fault."""
    payload = decode_json(data, path)
    try:
        return PartitionState(
            leader=whole_number(payload["leader"], NO_LEADER),
            leader_epoch=whole_number(payload["leader_epoch"]),
            isr=tuple(map(whole_number, payload["isr"])),
            controller_epoch=whole_number(payload["controller_epoch"]),
            partition_epoch=entry_version,
            recovery=LeaderRecoveryState(whole_number(payload.get("leader_recovery_state", 0))),
            unverified=tuple(map(whole_number, payload.get("unverified_isr", ()))),
            unclean_epoch=whole_number(payload.get("unclean_leader_epoch", NO_UNCLEAN_EPOCH), NO_UNCLEAN_EPOCH),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} is not a partition's state: {error!r}") from error
