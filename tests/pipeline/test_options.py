"""All invalid options are reported at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.object_store.location import S3Location, location_of
from signalbox.pipeline.options import AuditOptions, OptionError, TablesOptions, reject_faulty


def test_all_faults_are_named_at_once() -> None:
    options = TablesOptions(
        bootstrap_servers="", warehouse=Path("w"), topic="", name="a/b", max_records_per_batch=0, starting="middle"
    )
    with pytest.raises(OptionError) as rejected:
        reject_faulty(options)
    assert len(rejected.value.faults) == 5


@pytest.mark.parametrize(
    ("warehouse", "named"),
    [
        ("hdfs://host/lake", "hdfs://host/lake"),
        ("gs://bucket/lake", "gs://bucket/lake"),
        ("HTTP://host/lake", "HTTP://host/lake"),
    ],
)
def test_a_url_is_no_folder(warehouse: str, named: str) -> None:
    options = AuditOptions(bootstrap_servers="b:1", warehouse=location_of(warehouse))
    with pytest.raises(OptionError, match=f"warehouse is {named}: give a folder's path or s3://bucket/prefix"):
        reject_faulty(options)


@pytest.mark.spec("P10")
def test_tables_in_a_store_need_a_folder_for_their_state(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    in_store: dict[str, Any] = {"bootstrap_servers": "b:1", "warehouse": S3Location("bucket", "lake"), "topic": "t"}
    options = TablesOptions(**in_store, checkpoint_location=Path("state"))
    reject_faulty(options)
    assert options.state_folder == Path("state")
    with pytest.raises(OptionError, match="set --checkpoint-location to a local folder that stays"):
        reject_faulty(TablesOptions(**in_store))
    with pytest.raises(OptionError, match="commit spark writes to folders, the warehouse is s3://bucket/lake"):
        reject_faulty(replace(options, commit="spark"))
    reject_faulty(replace(options, watermark="at=1m", deduplicate=("id",)))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://h")
    with pytest.raises(OptionError, match="set AWS_ALLOW_HTTP=true"):
        reject_faulty(options)


@pytest.mark.spec("P10")
def test_a_checkpoint_location_is_a_folder_and_the_warehouse_by_default() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="t")
    assert options.state_folder == Path("w")
    with pytest.raises(OptionError, match="checkpoint location is s3://bucket/state: give a local folder's path"):
        reject_faulty(replace(options, checkpoint_location=Path("s3://bucket/state")))


@pytest.mark.spec("P10")
def test_audit_tables_in_a_store_need_a_folder_for_their_state() -> None:
    options = AuditOptions(bootstrap_servers="b:1", warehouse=S3Location("bucket", "lake"))
    with pytest.raises(OptionError, match="set --checkpoint-location to a local folder that stays"):
        reject_faulty(options)
    reject_faulty(replace(options, checkpoint_location=Path("state")))


def test_names_of_no_profile_and_no_committer() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="t", profile="maven", commit="hand")
    assert options.faults() == [
        "profile 'maven' is none of auto, jars, pypi",
        "commit 'hand' is none of auto, spark, rs",
    ]


def test_memory_and_master_that_spark_does_not_know() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="t", memory="lots", master="foo")
    assert options.faults() == [
        "memory is 'lots': give a number with k, m or g, as 2g",
        "master is 'foo': give local[N], or the address of a cluster, as spark://host:7077",
    ]
    for master in ("local", "local[*]", "local[2,4]", "spark://a:7077,b:7077", "yarn", "k8s://https://a:6443"):
        assert replace(options, memory="512m", master=master).faults() == []


@pytest.mark.parametrize("warehouse", ["lake", "/tmp/s3:/lake", "./a:b/c", "C/lake"])
def test_folders_are_folders(warehouse: str) -> None:
    reject_faulty(AuditOptions(bootstrap_servers="b:1", warehouse=Path(warehouse)))


def test_a_table_has_its_topics_name_by_default() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="flights")
    reject_faulty(options)
    assert options.table_name == "flights"


def test_audit_reads_the_brokers_own_topic() -> None:
    options = AuditOptions(bootstrap_servers="b:1", warehouse=Path("w"))
    reject_faulty(options)
    assert options.topic == "signalbox-audit"


@pytest.mark.spec("P9")
def test_client_properties_that_cannot_be_used_are_faults_and_never_shown() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": f'{module} required username="a" password="p4ss";',
    }
    options = AuditOptions(bootstrap_servers="b:1", warehouse=Path("w"), client_options=properties)
    reject_faulty(options)
    assert "p4ss" not in repr(options)
    properties["ssl.truststore.location"] = "/nowhere"
    with pytest.raises(OptionError, match=r"ssl.truststore.location: /nowhere cannot be read"):
        reject_faulty(options)


def test_partition_columns_are_named_once() -> None:
    asked: dict[str, Any] = {"bootstrap_servers": "b:1", "warehouse": Path("w"), "topic": "t"}
    reject_faulty(TablesOptions(**asked, partition_by=("a", "b")))
    for columns in (("a", "a"), ("",), ("a", "")):
        with pytest.raises(OptionError, match="name each column once"):
            reject_faulty(TablesOptions(**asked, partition_by=columns))


@pytest.mark.spec("P8")
def test_the_rule_about_event_time_comes_from_two_options() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="t")
    assert (options.event_time, options.faults()) == (None, [])
    ruled = replace(options, watermark="at=10m", deduplicate=("id", "kind"))
    assert (ruled.event_time, ruled.faults()) == (EventTimeRule("at", 600_000_000, ("id", "kind")), [])
    assert len(replace(ruled, upsert=True, watermark="at=-1m", deduplicate=("id", "id")).faults()) == 4
