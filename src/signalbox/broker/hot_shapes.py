"""What the hot path remembers of one connection's requests at one version of one API.

A shape is found by the bytes that stand between the correlation id and what varies. Learning one costs a full
decode, so a connection whose requests do not repeat is looked at more and more seldom. Shapes are capped: the oldest
goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from signalbox.common.limits import MAX_HOT_SHAPES_PER_CONNECTION
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.security.principal import KafkaPrincipal

Shape = TypeVar("Shape")
KEY_AT = 8  # API key, version and correlation id come first
_LONGEST_PAUSE = 1024


HasQuota = Callable[[str, KafkaPrincipal, str | None], bool]  # the quota's key, who, with which client id


def nobody_has_quota(quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
    """Without client quotas. Clients with one are left to the generic path, which measures and throttles."""
    return False


def is_flexible(api_key: ApiKey, version: int) -> bool:
    """Whether lengths are varints and tagged fields follow (KIP-482)."""
    flexible_from = API_TABLE[api_key].flexible_from
    return flexible_from is not None and version >= flexible_from


class HotShapes(Generic[Shape]):
    """Shapes by key; `ends` are the places in a frame where a key may end."""

    __slots__ = ("_pause", "_skip", "by_key", "ends")

    def __init__(self) -> None:
        self.by_key: dict[bytes, Shape] = {}
        self.ends: tuple[int, ...] = ()
        self._pause = self._skip = 0

    def may_learn(self) -> bool:
        """Whether a frame that fits no shape is worth a look. Looks in vain make pauses longer."""
        if self._skip:
            self._skip -= 1
            return False
        self._skip = self._pause = min(max(1, self._pause * 2), _LONGEST_PAUSE)
        return True

    def remember(self, key: bytes, shape: Shape) -> None:
        """Keep `shape`; the oldest goes when there are too many."""
        if len(self.by_key) < MAX_HOT_SHAPES_PER_CONNECTION:
            self._skip = self._pause = 0
        elif key not in self.by_key:
            del self.by_key[next(iter(self.by_key))]
        self.by_key[key] = shape
        self._note_ends()

    def forget(self, key: bytes) -> None:
        """The shape holds no more; the next frame of its kind may be learnt at once."""
        self.by_key.pop(key, None)
        self._note_ends()
        self._skip = self._pause = 0

    def _note_ends(self) -> None:
        self.ends = tuple({KEY_AT + len(key) for key in self.by_key})
