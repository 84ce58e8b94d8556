"""This broker's id and epoch, and the newest controller epoch of an accepted request: control requests are checked
against them. Each registration has a new broker epoch."""

from __future__ import annotations

from collections.abc import Callable


class LocalEpochs:
    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.broker_epoch = -1
        self.controller_epoch = -1
        self.on_broker_epoch: Callable[[int], None] = lambda epoch: None

    def registered(self, broker_epoch: int) -> None:
        """Called by the registrar after each registration."""
        self.broker_epoch = broker_epoch
        self.on_broker_epoch(broker_epoch)

    def accept_controller_epoch(self, controller_epoch: int) -> bool:
        """False if a newer controller epoch is known; otherwise the epoch is recorded."""
        if controller_epoch < self.controller_epoch:
            return False
        self.controller_epoch = controller_epoch
        return True
