"""What a response of the coordinator changes for a member: a table, and the member's state. No I/O, no clock.

The table has the Java client's behavior: after ILLEGAL_GENERATION a member keeps its id and joins again, after
UNKNOWN_MEMBER_ID it joins as a new one; in both cases its partitions are lost, another member may have them already.
A code without a row is retried when it is retriable, else it is final.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from signalbox.client.group_consumer.member_subscription import NO_GENERATION
from signalbox.protocol.error_table import Error

NO_MEMBER_ID = ""


class Step(Enum):
    JOIN = "JoinGroup"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"


class Reaction(Enum):
    ACCEPT = "the response is applied"
    RETRY = "the same request again, after the retry backoff"
    FIND_COORDINATOR = "the coordinator is looked up again, then the same request"
    TAKE_MEMBER_ID = "the member joins with the id in the response (KIP-394)"
    REJOIN = "the member keeps id, generation and partitions, and joins again"
    REJOIN_WITHOUT_GENERATION = "the member keeps its id, its partitions are lost, and it joins again"
    REJOIN_AS_NEW = "the member id is dropped, the partitions are lost, and the member joins again"
    FAIL = "the error is final: `poll` raises it"


_S, _R = Step, Reaction

_COORDINATOR_MOVED = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)

REACTIONS: dict[tuple[Step, Error], Reaction] = {
    **{(step, Error.NONE): _R.ACCEPT for step in Step},
    **{(step, error): _R.FIND_COORDINATOR for step in Step for error in _COORDINATOR_MOVED},
    **{(step, Error.UNKNOWN_MEMBER_ID): _R.REJOIN_AS_NEW for step in Step},
    **{(step, Error.ILLEGAL_GENERATION): _R.REJOIN_WITHOUT_GENERATION for step in Step},
    **{(step, Error.REBALANCE_IN_PROGRESS): _R.REJOIN for step in Step},
    (_S.JOIN, Error.MEMBER_ID_REQUIRED): _R.TAKE_MEMBER_ID,
}


def reaction_to(step: Step, error: Error) -> Reaction:
    """What the member does after the response of `step`."""
    return REACTIONS.get((step, error), Reaction.RETRY if error.retriable else Reaction.FAIL)


@dataclass(slots=True)
class Membership:
    """One member of one group. `needs_join`: the member has to take part in a rebalance. `lost`: it has lost its
    partitions, without having been asked to revoke them. `waits`: JoinGroup or SyncGroup is in flight; as long as the
    coordinator holds back the response, the session cannot expire."""

    group_instance_id: str | None = None
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    protocol: str | None = None
    needs_join: bool = True
    lost: bool = False
    waits: bool = False

    @property
    def is_member(self) -> bool:
        """Whether the coordinator has this member in its current generation, as far as the member knows."""
        return self.generation != NO_GENERATION

    @property
    def identity(self) -> tuple[str, int]:
        """(member id, generation): a response to a request that was sent with another identity changes nothing."""
        return self.member_id, self.generation

    def react(self, reaction: Reaction, member_id: str = NO_MEMBER_ID) -> None:
        """Apply a reaction; `member_id` is the one in a JoinGroup response."""
        if reaction is Reaction.TAKE_MEMBER_ID:
            self.member_id = member_id
        elif reaction is Reaction.REJOIN:
            self.needs_join = True
        elif reaction is Reaction.REJOIN_WITHOUT_GENERATION:
            self._lose()
        elif reaction is Reaction.REJOIN_AS_NEW:
            self._lose()
            self.member_id = NO_MEMBER_ID

    def joined(self, member_id: str, generation: int, protocol: str | None) -> None:
        """The coordinator has the member in a new generation. The rebalance is over only after `synced`."""
        self.member_id, self.generation, self.protocol = member_id, generation, protocol

    def synced(self) -> None:
        """The member has its assignment."""
        self.needs_join = False

    def left(self) -> None:
        """The member has left, because its `max.poll.interval.ms` has passed."""
        self._lose()
        self.member_id = NO_MEMBER_ID

    def unsubscribed(self) -> None:
        """The member has left with its partitions revoked: it has lost nothing."""
        self.left()
        self.lost = False

    def _lose(self) -> None:
        self.lost = self.lost or self.is_member
        self.generation, self.protocol = NO_GENERATION, None
        self.needs_join = True
