"""Two channels to the controller: Envelopes to its privileged listener, ControlledShutdown over its control plane."""

from __future__ import annotations

import pytest

from signalbox.testing.cluster import Cluster


def active(cluster: Cluster) -> int:
    [found] = [node_id for node_id, node in cluster.nodes.items() if node.components.controller.is_active]
    return found


@pytest.mark.spec("C2", "C3")
def test_a_forced_plane_takes_only_the_shutdown(cluster: Cluster) -> None:
    controller = active(cluster)
    listeners = cluster.nodes[controller].describe()["listeners"]
    for node in cluster.nodes.values():
        controller_channels = node.components.controller_channels
        for lookup, listener in (
            (controller_channels.lookup, "REPLICATION"),
            (controller_channels.shutdown_lookup, "CONTROL"),
        ):
            found = lookup.active_controller()
            assert found is not None
            assert (found.node_id, str(found.address)) == (controller, listeners[listener])


@pytest.mark.spec("C3", "C4")
def test_without_force_both_go_over_the_control_plane() -> None:
    with Cluster(brokers=1, overrides={"control.plane.force.controller.requests.enable": "false"}) as alone:
        node = alone.nodes[1]
        controller_channels, address = node.components.controller_channels, node.describe()["listeners"]["CONTROL"]
        for lookup in (controller_channels.lookup, controller_channels.shutdown_lookup):
            found = lookup.active_controller()
            assert found is not None
            assert str(found.address) == address
