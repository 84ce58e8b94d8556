"""Spark's Kafka source with `read_committed`, over transactions of which some are aborted and one is open.

A batch and a stream read what is committed up to the open transaction, the stream in steps of its checkpoint while a
broker is away; when the transaction is committed, the stream has its records too, each record once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from signalbox.pipeline.spark.jars import fetch_jars
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
from tests.system.ecosystem.program import Program
from tests.system.ecosystem.shaken_cluster import ShakenCluster

_TOPIC = "ledger"
_PARTITIONS = 2
_TRANSACTIONS, _RECORDS = 60, 30
_QUERY_S = 240
_PER_STEP = 200


class Transactions:
    """Writes numbers in transactions, every third of which is aborted."""

    def __init__(self, cluster: ShakenCluster) -> None:
        self._cluster = cluster
        self._producer = self._new_producer("ledger")
        self.next = 0
        self.committed: list[int] = []

    def write(self) -> None:
        for _ in range(_TRANSACTIONS):
            numbers = self._send(self._producer)
            if numbers[0] // _RECORDS % 3 == 2:
                self._producer.abort_transaction(60)
            else:
                self._producer.commit_transaction(60)
                self.committed += numbers

    @contextmanager
    def one_open(self) -> Iterator[None]:
        """A transaction that is open in the block, and committed at its end."""
        producer = self._new_producer("open")
        numbers = self._send(producer)
        yield
        producer.commit_transaction(60)
        self.committed += numbers

    def _new_producer(self, transactional_id: str) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self._cluster.bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": 600_000,
                "linger.ms": 0,
                "log_level": 2,
            }
        )
        producer.init_transactions(60)
        return producer

    def _send(self, producer: Producer) -> list[int]:
        """Begins a transaction with records in all partitions."""
        numbers = list(range(self.next, self.next + _RECORDS))
        self.next += _RECORDS
        producer.begin_transaction()
        for number in numbers:
            producer.produce(_TOPIC, str(number), partition=number % _PARTITIONS)
        assert producer.flush(60) == 0
        return numbers


class Table:
    """A folder of Parquet files that a stream fills from its checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path, options: Mapping[str, str]) -> None:
        self._spark, self._folder, self._options = spark, folder, options

    def fill(self) -> int:
        """Runs the stream up to the present end of the topic; returns the steps that it took."""
        stream = self._spark.readStream.format("kafka").options(**self._options, maxOffsetsPerTrigger=str(_PER_STEP))
        query = (
            stream.load()
            .select(F.col("value").cast("string"))
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self._folder / "table"))
        )
        assert query.awaitTermination(_QUERY_S), "the stream has not ended"
        return len(query.recentProgress)

    def numbers(self) -> list[int]:
        return numbers_of(self._spark.read.parquet(str(self._folder / "table")))


def run(folder: Path) -> str:
    settings = SessionSettings(
        app_name="ecosystem",
        master="local[2]",
        memory="512m",
        quick=True,
        jars=fetch_jars(say=lambda _: None),
        scratch_directory=folder / "spark",
    )
    with ShakenCluster(folder) as cluster:
        cluster.create({_TOPIC: _PARTITIONS})
        transactions = Transactions(cluster)
        transactions.write()
        spark = build_session(settings)
        try:
            steps = _check(spark, folder, cluster, transactions)
        finally:
            end_session(spark)
    return f"{len(transactions.committed)} of {transactions.next} records committed, {steps} steps, 1 broker killed"


def _check(spark: SparkSession, folder: Path, cluster: ShakenCluster, transactions: Transactions) -> int:
    options = {
        "kafka.bootstrap.servers": cluster.bootstrap,
        "subscribe": _TOPIC,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
    }
    table = Table(spark, folder, options)
    with transactions.one_open():
        before = list(transactions.committed)
        transactions.write()  # behind the open transaction: nothing of it is stable yet
        assert numbers_of(_batch(spark, options)) == before, "the batch differs from what is committed"
        with cluster.without(1):
            steps = table.fill()
        assert table.numbers() == before, "the stream differs from what is committed"
    expected = sorted(transactions.committed)
    everything = numbers_of(_batch(spark, {**options, "kafka.isolation.level": "read_uncommitted"}))
    assert everything == list(range(transactions.next)), "read_uncommitted differs from what was written"
    assert numbers_of(_batch(spark, options)) == expected, "the second batch differs from what is committed"
    steps += table.fill()
    assert table.numbers() == expected, "the stream differs from what is committed in the end"
    return steps


def _batch(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("kafka").options(**options).load().select(F.col("value").cast("string"))


def numbers_of(frame: DataFrame) -> list[int]:
    """The numbers in the values, sorted."""
    return sorted(int(row.value) for row in frame.collect())


PROGRAM = Program("spark", lambda: pyspark.__version__, "source with read_committed, batch and stream", run)
