"""Apache Kafka's console tools 4.3.1, run as a user runs them; the newest whose jars Maven Central has whole."""

from __future__ import annotations

import subprocess

from tests.system.provision import command, jars

_JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_MAIN = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}


def tool(name: str, *arguments: str, text: str = "", timeout_s: float = 60) -> str:
    """What a tool prints on standard output; AssertionError with all it says when it does not end well."""
    command("javac")
    run = subprocess.run(
        ["java", *_JAVA, "-cp", jars("tools"), _MAIN[name], *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert run.returncode == 0, f"{name} {' '.join(arguments)}: {run.stdout}{run.stderr}"
    return run.stdout
