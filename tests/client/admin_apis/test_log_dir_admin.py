from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.log_dir_admin import LogDir
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.producer import Producer
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsResponse
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin


def replicas_of(described: Mapping[int, Mapping[str, LogDir]]) -> dict[int, list[TopicPartition]]:
    return {node_id: [*log_dir.replicas] for node_id, dirs in described.items() for log_dir in dirs.values()}


@pytest.mark.spec("R10")
def test_log_dirs_of_all_brokers_or_some(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        topic = NewTopic(name="sized", assignments={0: [1], 1: [2]})
        (await admin.create_topics([topic]))["sized"].raise_for_error()
        async with Producer(admin.client) as producer:
            await producer.send("sized", bytes(1_000), partition=1)
        zero, one = TopicPartition("sized", 0), TopicPartition("sized", 1)
        # The leader of partition 0 may create its log later than the topic's creation is reported.
        while (found := replicas_of(described := await admin.describe_log_dirs(partitions=[zero, one]))) == {2: [one]}:
            pass
        assert found == {1: [zero], 2: [one]}
        (log_dir,) = described[2].values()
        assert (log_dir.error, log_dir.path in described[2]) == (Error.NONE, True)
        assert log_dir.replicas[one].size_bytes > 1_000
        assert log_dir.total_bytes > log_dir.usable_bytes > 0
        assert [*(await admin.describe_log_dirs([2]))] == [2]
        with pytest.raises(KafkaError, match="broker 9"):
            await admin.describe_log_dirs([9])
        moved = await admin.alter_replica_log_dirs(1, {zero: "/no/such/dir"})
        assert moved[zero].error == Error.LOG_DIR_NOT_FOUND

    over_cluster(cluster, test)


def test_a_move_is_one_row_per_directory() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = AlterReplicaLogDirsResponse

        def answer(request: Any, version: int) -> Any:
            row = made.AlterReplicaLogDirPartitionResult(partition_index=0, error_code=0)
            return made(results=[made.AlterReplicaLogDirTopicResult(topic_name="t1", partitions=[row])])

        broker = cluster.brokers[2]
        broker.scripts[ApiKey.ALTER_REPLICA_LOG_DIRS] = answer
        moved = {TopicPartition("t1", 0): "/a", TopicPartition("t1", 2): "/a", TopicPartition("t2", 0): "/b"}
        results = await admin.alter_replica_log_dirs(2, moved)
        assert results[TopicPartition("t1", 0)].error == Error.NONE
        (request,) = broker.seen(ApiKey.ALTER_REPLICA_LOG_DIRS)
        sent = {row.path: {topic.name: topic.partitions for topic in row.topics} for row in request.dirs}
        assert sent == {"/a": {"t1": [0, 2]}, "/b": {"t2": [0]}}

    with_admin(test, size=2)
