"""Faults of the log directory of a broker that is down: wiped, truncated, bits flipped, an older copy restored.

Either only this broker is down; or all brokers are killed at once, and the faulty one starts first, while the others
hold the records that it has lost. One directory of three is faulty, and only if all replicas are in sync: at least two
have every acknowledged record (min.insync.replicas), so that one of them still has it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random

from signalbox.common.ids import TopicPartition
from signalbox.storage.files.file_names import LOG_SUFFIX, partition_of
from tools.chaos.faults.injector import Act
from tools.chaos.faults.power import Power
from tools.chaos.plan import Kind
from tools.chaos.still_topics import StillTopics

DirectoryFault = Callable[[Path], None]
"""Changes a log directory while its broker is down."""

_FLIPPED_SHARE = 0.7  # share of the partitions


def directory_faults(power: Power, topics: StillTopics, topic: str, random: Random) -> Mapping[Kind, Act]:
    """Truncated and flipped are logs of `topic`, whose records are checked; wiped and restored is the whole directory.
    No topic is deleted between a copy and its return: its old replica would block a new topic of that name."""
    one, first = partial(_on_one_broker, power), partial(_on_first_of_all, power)
    truncated, flipped = partial(truncate, topic, random), partial(flip, topic, random)
    return {
        Kind.KILL_ALL: partial(_all_killed, power),
        Kind.WIPED: one(lambda live: wipe),
        Kind.TRUNCATED: one(lambda live: truncated),
        Kind.FLIPPED: one(lambda live: flipped),
        Kind.RESTORED: topics.during(one(copied)),
        Kind.ALL_WIPED: first(lambda live: wipe),
        Kind.ALL_TRUNCATED: first(lambda live: truncated),
        Kind.ALL_FLIPPED: first(lambda live: flipped),
        Kind.ALL_RESTORED: topics.during(first(copied)),
    }


def _all_killed(power: Power, broker_id: int, hold_s: float) -> bool:
    power.off(power.broker_ids)
    time.sleep(hold_s)
    power.on(power.broker_ids)
    return False


def _on_one_broker(power: Power, prepare: Callable[[Path], DirectoryFault]) -> Act:
    """`prepare` receives the directory while its broker still runs. The broker is down for `hold_s`: its peers notice
    its closed ports, as they notice those of a dead process. Ports that a line of the switchboard opens again before
    they look would hide the death until the session ends."""

    def act(broker_id: int, hold_s: float) -> bool:
        apply = prepare(power.directory(broker_id))
        time.sleep(hold_s)
        power.off([broker_id])
        apply(power.directory(broker_id))
        time.sleep(hold_s)
        power.on([broker_id])
        return False

    return act


def _on_first_of_all(power: Power, prepare: Callable[[Path], DirectoryFault]) -> Act:
    def act(broker_id: int, hold_s: float) -> bool:
        apply = prepare(power.directory(broker_id))
        time.sleep(hold_s)
        others = [each for each in power.cluster.brokers if each != broker_id]
        # The faulty broker is killed first, so that no other broker falls out of sync because of the kills.
        power.off([broker_id, *others])
        apply(power.directory(broker_id))
        power.on([broker_id])
        time.sleep(hold_s)
        power.on(others)
        return False

    return act


def wipe(directory: Path) -> None:
    """Deletes everything in the directory."""
    shutil.rmtree(directory)


def copied(directory: Path) -> DirectoryFault:
    """Copies the directory now, while it is written to; the returned function restores the copy later."""
    backup = directory.with_name("backup")
    shutil.rmtree(backup, ignore_errors=True)
    _copy(directory, backup)

    def restore(faulty: Path) -> None:
        shutil.rmtree(faulty)
        backup.rename(faulty)

    return restore


def _copy(source: Path, target: Path) -> None:
    """Files that are deleted during the copy are not in it."""
    target.mkdir(parents=True)
    for entry in sorted(source.iterdir()):
        try:
            if entry.is_dir():
                _copy(entry, target / entry.name)
            else:
                shutil.copyfile(entry, target / entry.name)
        except FileNotFoundError:
            continue


def truncate(what: str | TopicPartition, random: Random, directory: Path) -> None:
    """Truncates the last segment of a partition, or of each partition of a topic, at a random position."""
    for segment in _last_segments(what, directory):
        with segment.open("r+b") as file:
            file.truncate(random.randrange(segment.stat().st_size))


def flip(topic: str, random: Random, directory: Path) -> None:
    """Flips one bit, anywhere in the last segment, in most of the partitions."""
    for segment in _last_segments(topic, directory):
        if random.random() < _FLIPPED_SHARE:
            with segment.open("r+b") as file:
                at = random.randrange(segment.stat().st_size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1 << random.randrange(8)]))


def _last_segments(what: str | TopicPartition, directory: Path) -> list[Path]:
    """The last segments that are not empty."""
    found = []
    for folder in sorted(directory.iterdir()):
        partition = partition_of(folder.name)
        if partition is None or what not in (partition, partition.topic):
            continue
        written = [each for each in sorted(folder.glob(f"*{LOG_SUFFIX}")) if each.stat().st_size]
        found += written[-1:]
    return found
