"""Which cluster a client may follow: `cluster.id.policy` = follow | pin:<id> | pin-first.

Bootstrap is unprotected by KIP-1242: a seed that leads to another cluster is believed (misroute stories 1 to 3). A
pinned client does not believe it. `follow` keeps Kafka's behaviour: after a rebootstrap it may find itself elsewhere.
"""

from __future__ import annotations


class ClusterIdPolicy:
    """The rule, and what it has been pinned to so far."""

    def __init__(self, text: str = "follow") -> None:
        self.text = text
        self._pin_first = text == "pin-first"
        self.pinned: str | None = text.removeprefix("pin:") if text.startswith("pin:") else None
        if text not in ("follow", "pin-first") and not self.pinned:
            raise ValueError(f"cluster.id.policy {text!r} is none of follow, pin-first, pin:<cluster id>")

    def accepts(self, cluster_id: str | None) -> bool:
        """May Metadata of this cluster be adopted? A broker that names no cluster cannot satisfy a pin."""
        return self.pinned is None or cluster_id == self.pinned

    def adopted(self, cluster_id: str | None) -> None:
        """Metadata of this cluster was adopted: `pin-first` keeps the first id it meets."""
        if self._pin_first and self.pinned is None:
            self.pinned = cluster_id
