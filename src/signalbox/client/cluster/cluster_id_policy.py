"""Which cluster a client may use: `signalbox.cluster.id.policy` = follow | pin:<id> | pin-first.

KIP-1242 does not protect the bootstrap: a client accepts a bootstrap server of another cluster (misroute stories 1 to
3). A pinned client rejects it. `follow` keeps Kafka's behavior: after a rebootstrap it may use another cluster.
"""

from __future__ import annotations


class ClusterIdPolicy:
    """The policy, and the cluster id that is pinned so far."""

    def __init__(self, text: str = "follow") -> None:
        self.text = text
        self._pin_first = text == "pin-first"
        self.pinned: str | None = text.removeprefix("pin:") if text.startswith("pin:") else None
        if text not in ("follow", "pin-first") and not self.pinned:
            raise ValueError(f"signalbox.cluster.id.policy {text!r} is none of follow, pin-first, pin:<cluster id>")

    def accepts(self, cluster_id: str | None) -> bool:
        """Whether Metadata of this cluster may be applied. A response without a cluster id never matches a pin."""
        return self.pinned is None or cluster_id == self.pinned

    def adopted(self, cluster_id: str | None) -> None:
        """Metadata of this cluster was applied: `pin-first` pins the first cluster id."""
        if self._pin_first and self.pinned is None:
            self.pinned = cluster_id
