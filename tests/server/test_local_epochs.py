"""This broker's epochs."""

from __future__ import annotations

from signalbox.server.local_epochs import LocalEpochs


def test_a_registration_sets_a_new_epoch_and_notifies() -> None:
    epochs, epochs_seen = LocalEpochs(1), list[int]()
    assert epochs.broker_epoch == -1
    epochs.on_broker_epoch = epochs_seen.append
    epochs.registered(7)
    assert (epochs.broker_epoch, epochs_seen) == (7, [7])


def test_an_older_controller_is_rejected() -> None:
    epochs = LocalEpochs(1)
    assert [epochs.accept_controller_epoch(epoch) for epoch in (3, 3, 5, 4)] == [True, True, True, False]
    assert epochs.controller_epoch == 5
