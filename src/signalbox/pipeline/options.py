"""Options of a run: one plain object per command, the same for the command line, the demo and the tests."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.visible_text import without_logins
from signalbox.pipeline.client.librdkafka_settings import ClientPropertyError, librdkafka_settings
from signalbox.pipeline.client.properties import property_faults
from signalbox.pipeline.event_time.rule import EventTimeRule, event_time_faults, rule_of
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.settings import StoreSettings
from signalbox.pipeline.positions.position import parse_position

ALERTS_TOPIC = "signalbox.alerts"
DEFAULT_MAX_RECORDS_PER_BATCH = 200_000
DEFAULT_MASTER = "local[*]"
AUTO = "auto"
DEFAULT_MEMORY = "1g"
_MEMORY = re.compile(r"[1-9][0-9]*[kmgt]?b?", re.IGNORECASE)
_MASTER = re.compile(r"local$|local-cluster\[|local\[|spark://|k8s://|yarn$")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # as a Path writes it: two slashes have become one


class Profile(StrEnum):
    """The way in which Spark reads Kafka."""

    JARS = "jars"
    PYPI = "pypi"


class Commit(StrEnum):
    """The component that commits to the Delta table."""

    SPARK = "spark"
    RS = "rs"


def choice_faults(what: str, requested: str, names: type[StrEnum]) -> list[str]:
    """What is wrong with a choice: `names` and auto are the valid ones."""
    valid = [AUTO, *names]
    return [] if requested in valid else [f"{what} {requested!r} is none of {', '.join(valid)}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of both pipelines.

    `warehouse`: the folder or the object store's prefix that holds the tables. `checkpoint_location`: the folder of
    what is stored beside the tables, Spark's checkpoint among it; None = the warehouse, which must be a folder.
    `profile`: auto, jars or pypi. `commit`: auto, spark or rs.
    `trigger_seconds`: None = read what the topic has now and end; else continue, a batch at least every so many
    seconds, until `stop_after_seconds` (None = until a signal stops the run). `starting`: where a new table begins;
    `ending`: where the run ends (None = what the topic has now); as `positions/position.py` reads them. `quick`: for
    runs of a minute or two: the JVM compiles less, which saves a fifth of the CPU time of such a run and costs
    throughput in a long one.
    `fail_on_data_loss`: whether a run ends if retention deleted records that it has not read; else it notes the gap and
    goes on at the earliest offset.
    `client_options`: properties of the Kafka client by Java's names, in both profiles (`client/properties.py`).
    `spark_options`: further Spark settings. `master`: local[N] or spark://host:port.
    """

    bootstrap_servers: str
    warehouse: TableLocation
    checkpoint_location: Path | None = None
    profile: str = AUTO
    commit: str = AUTO
    master: str = DEFAULT_MASTER
    memory: str = DEFAULT_MEMORY
    quick: bool = False
    max_records_per_batch: int = DEFAULT_MAX_RECORDS_PER_BATCH
    trigger_seconds: float | None = None
    stop_after_seconds: float | None = None
    starting: str = "earliest"
    ending: str | None = None
    fail_on_data_loss: bool = True
    jars_directory: Path | None = None
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain passwords
    spark_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def state_folder(self) -> Path:
        """The folder that has `.signalbox`."""
        if self.checkpoint_location is not None:
            return self.checkpoint_location
        assert isinstance(self.warehouse, Path)
        return self.warehouse

    def faults(self) -> list[str]:
        """All invalid options, each with the valid values."""
        problems = [*warehouse_faults(self.warehouse), *self._checkpoint_faults()]
        if not self.bootstrap_servers:
            problems.append("bootstrap servers are empty: give host:port[,host:port...]")
        problems += choice_faults("profile", self.profile, Profile) + choice_faults("commit", self.commit, Commit)
        if self.max_records_per_batch < 1:
            problems.append(f"max records per batch is {self.max_records_per_batch}: give at least 1")
        if not _MEMORY.fullmatch(self.memory):
            problems.append(f"memory is {self.memory!r}: give a number with k, m or g, as 2g")
        if not _MASTER.match(self.master):
            problems.append(
                f"master is {self.master!r}: give local[N], or the address of a cluster, as spark://host:7077"
            )
        problems += [fault for text in (self.starting, self.ending) if text and (fault := _position_fault(text))]
        if self.ending is not None and self.trigger_seconds is not None:
            problems.append("a continuous run has no end: leave out the ending position or the interval")
        if self.trigger_seconds is not None and self.trigger_seconds < 0:
            problems.append(f"trigger seconds is {self.trigger_seconds}: give 0 or more")
        return [*problems, *self._client_faults()]

    def _checkpoint_faults(self) -> list[str]:
        if self.checkpoint_location is None and isinstance(self.warehouse, S3Location):
            return [
                f"warehouse is {self.warehouse}: set --checkpoint-location to a local folder that stays, for Spark's "
                "checkpoint and the lock of each table"
            ]
        if self.checkpoint_location is not None and _URL.match(str(self.checkpoint_location)):
            return [f"checkpoint location is {_url(self.checkpoint_location)}: give a local folder's path"]
        if self.commit == "spark" and isinstance(self.warehouse, S3Location):
            return [f"commit spark writes to folders, the warehouse is {self.warehouse}: leave out --commit"]
        return []

    def _client_faults(self) -> list[str]:
        faults = property_faults(self.client_options)
        if not faults:
            try:
                librdkafka_settings(self.client_options)
            except ClientPropertyError as error:
                faults.append(str(error))
        return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesOptions(RunOptions):
    """`topic` → Delta table `<warehouse>/<name>`.

    `schema`: None keeps the value as bytes; "infer" reads a sample of the topic once and stores the inferred schema;
    anything else is the declared fields, as `carrier STRING NOT NULL, dep_time INT, ...`. `upsert`: the table has the
    newest row of each key instead of a row per record. `partition_by`: the columns by which a new table is partitioned.
    `watermark`: rows whose event time is before it are rejected, as `COLUMN=DELAY`; `deduplicate`: rows that repeat an
    earlier one in these columns are dropped.
    `formats`: how values, keys and headers are decoded; with the default a value with a schema is JSON.
    """

    topic: str
    name: str | None = None
    schema: str | None = None
    upsert: bool = False
    partition_by: tuple[str, ...] = ()
    watermark: str | None = None
    deduplicate: tuple[str, ...] = ()
    formats: FormatOptions = field(default_factory=FormatOptions)

    @property
    def table_name(self) -> str:
        return self.name or self.topic

    @property
    def event_time(self) -> EventTimeRule | None:
        """The rule of the two options about event time, if they are valid; None = they name none."""
        return rule_of(self.watermark, self.deduplicate)

    def faults(self) -> list[str]:
        problems = RunOptions.faults(self)
        if not self.topic:
            problems.append("topic is empty")
        if "/" in self.table_name or self.table_name.startswith((".", "_")):
            problems.append(f"table name {self.table_name!r} is no folder name: no slash, no leading dot or underscore")
        if "" in self.partition_by or len(set(self.partition_by)) < len(self.partition_by):
            problems.append(f"partition by is {', '.join(self.partition_by)!r}: name each column once")
        problems += event_time_faults(self.watermark, self.deduplicate, upsert=self.upsert)
        return problems + self.formats.faults() + self._faults_of_schema()

    def _faults_of_schema(self) -> list[str]:
        name = self.formats.value_format
        if self.schema is not None and name not in (None, "json", "csv"):
            return [f"a declared schema is for value formats json and csv, not {name}"]
        if self.schema == "infer" and name == "csv":
            return ["a schema can be inferred from json, not from csv: declare the fields"]
        if self.schema is None and name in ("json", "csv") and self.formats.value_schema is None:
            return [f"value format {name} needs a schema: declared fields, for json also infer"]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(RunOptions):
    """The audit trail → `<warehouse>/<name>` (events) and the roll-up tables `<warehouse>/<name>_...`.

    `roll_up_every_seconds`: how often a continuous run replaces the roll-ups; they are always replaced at its end.
    `alerts_topic`: where the rules of `alerts/rules.py` write; None = no alerts. `broker_principals` and
    `public_listeners` are for these rules.
    """

    topic: str = AUDIT_TOPIC
    name: str = "audit_events"
    roll_up_every_seconds: float = 60.0
    alerts_topic: str | None = None
    broker_principals: tuple[str, ...] = ()
    public_listeners: tuple[str, ...] = ()


def _position_fault(text: str) -> str | None:
    try:
        parse_position(text)
    except ValueError as fault:
        return str(fault)
    return None


def _url(path: Path) -> str:
    return str(path).replace(":/", "://", 1)


def warehouse_faults(warehouse: TableLocation) -> list[str]:
    """What is wrong with a warehouse, and with the access to its store."""
    if isinstance(warehouse, S3Location):
        return [*warehouse.faults(), *StoreSettings.of_environment(os.environ).faults()]
    if _URL.match(str(warehouse)):
        return [f"warehouse is {_url(warehouse)}: give a folder's path or s3://bucket/prefix"]
    return []


class OptionError(ValueError):
    """Invalid options, all faults at once."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = list(map(without_logins, faults))
        super().__init__("; ".join(self.faults))


class TemporaryError(RuntimeError):
    """A failure that a later attempt may not have: another program's commit, or the disk."""


def reject_faulty(options: RunOptions) -> None:
    """Raises OptionError if any option is invalid."""
    faults = options.faults()
    if faults:
        raise OptionError(faults)
