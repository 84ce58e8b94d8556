"""`signalbox reassign`: a reassignment is started, listed, completed and cancelled."""

from __future__ import annotations

from typing import Any

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.testing.cluster import Cluster
from tests.waiting import until


def create(cluster: Cluster, topic: str, *replicas: int) -> None:
    async def make() -> None:
        async with AdminClient.of(cluster.bootstrap_servers) as admin:
            results = await admin.create_topics([NewTopic(name=topic, assignments={0: list(replicas)})])
            results[topic].raise_for_error()

    cluster.run(make())


def test_replicas_move(cluster: Cluster, run: Any) -> None:
    create(cluster, "moved", 1)
    assert run("reassign", "start", "moved", "0", "2,1").stdout == "moved-0: reassignment to [2, 1] started\n"
    assert until(lambda: run("reassign", "list").stdout == "no partition reassignments in progress\n")
    assert until(lambda: "│ 2,1 " in run("topic", "describe", "moved").stdout)


def test_rejections_are_on_standard_error(cluster: Cluster, run: Any) -> None:
    create(cluster, "stays", 1)
    for arguments, code, text in (
        (("start", "stays", "0", "1,1"), 1, "includes the broker 1 more than once"),
        (("start", "stays", "0", "1,2", "--keep-factor"), 1, "The replication factor is changed from 1 to 2"),
        (("start", "stays", "9", "1"), 1, "stays-9"),
        (("start", "stays", "0", "one"), 2, "not 'one'"),
        (("cancel", "stays", "0"), 1, "stays-0"),
    ):
        result = run("reassign", *arguments)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        assert text in result.stderr


def test_what_moves_is_a_table_and_can_go_back(run: Any) -> None:
    """On a cluster of its own, whose third broker fetches nothing."""
    with Cluster(brokers=3) as cluster:
        create(cluster, "slow", 1, 2)
        own = {"bootstrap": cluster.bootstrap_servers}

        async def fetch_no_more() -> None:
            cluster.nodes[3].components.data.replicas.fetchers.close()

        cluster.run(fetch_no_more())
        assert run("reassign", "start", "slow", "0", "3,1", **own).exit_code == 0
        listed = run("reassign", "list", **own).stdout
        row = [each.strip() for each in listed.splitlines()[-2].split("│")[1:-1]]
        assert row == ["slow-0", "3,1,2", "3", "2"]
        assert run("reassign", "cancel", "slow", "0", **own).stdout == "slow-0: reassignment cancelled\n"
        assert run("reassign", "list", **own).stdout == "no partition reassignments in progress\n"
