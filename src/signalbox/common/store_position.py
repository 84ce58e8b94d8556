"""The position of a metadata store in its history, as brokers keep it in their log directories (decision 0028)."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_CONTROLLER_EPOCH = -1


@dataclass(frozen=True, slots=True)
class StorePosition:
    """`incarnation` is the id of one history of a cluster's metadata, `generation` counts how often its brokers have
    advanced it, `controller_epoch` is the one in `/controller_epoch` (UNKNOWN_CONTROLLER_EPOCH: it cannot be read)."""

    incarnation: str
    generation: int
    controller_epoch: int

    def __str__(self) -> str:
        return f"incarnation={self.incarnation}, generation={self.generation}, controller epoch={self.controller_epoch}"
