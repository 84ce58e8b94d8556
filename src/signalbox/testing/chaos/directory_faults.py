"""Faults of the log directory of a broker that is down: wiped, truncated, bits flipped, an older copy restored.

Either only this broker is down; or all brokers are killed at once, and the damaged one starts first, while the others
hold the records that it has lost. One broker of three is damaged, and only if all replicas are in sync: at least two
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
from signalbox.storage.file_names import LOG_SUFFIX, partition_of
from signalbox.testing.chaos.faults import Act
from signalbox.testing.chaos.plan import Kind
from signalbox.testing.chaos.power import Power
from signalbox.testing.chaos.still_topics import StillTopics

Damage = Callable[[Path], None]
"""Damages a log directory while its broker is down."""

_FLIPPED_SHARE = 0.7  # share of the partitions


def directory_faults(power: Power, topics: StillTopics, topic: str, random: Random) -> Mapping[Kind, Act]:
    """Records are damaged in `topic`, whose records are checked; wiped and restored is the whole directory. No topic is
    deleted between a copy and its return: its old replica would block a new topic of that name."""
    one, first = partial(_one_damaged, power), partial(_first_damaged, power)
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
    everybody = list(power.cluster.brokers)
    power.off(everybody)
    time.sleep(hold_s)
    power.on(everybody)
    return False


def _one_damaged(power: Power, prepare: Callable[[Path], Damage]) -> Act:
    """`prepare` receives the directory while its broker still runs."""

    def act(broker_id: int, hold_s: float) -> bool:
        damage = prepare(power.directory(broker_id))
        time.sleep(hold_s)
        power.off([broker_id])
        damage(power.directory(broker_id))
        power.on([broker_id])
        return False

    return act


def _first_damaged(power: Power, prepare: Callable[[Path], Damage]) -> Act:
    def act(broker_id: int, hold_s: float) -> bool:
        damage = prepare(power.directory(broker_id))
        time.sleep(hold_s)
        others = [each for each in power.cluster.brokers if each != broker_id]
        # The damaged broker is killed first, so that no other broker falls out of sync because of the kills.
        power.off([broker_id, *others])
        damage(power.directory(broker_id))
        power.on([broker_id])
        time.sleep(hold_s)
        power.on(others)
        return False

    return act


def wipe(directory: Path) -> None:
    """Deletes everything in the directory."""
    shutil.rmtree(directory)


def copied(directory: Path) -> Damage:
    """Copies the directory now, while it is written to; the returned function restores the copy later."""
    backup = directory.with_name("backup")
    shutil.rmtree(backup, ignore_errors=True)
    _copy(directory, backup)

    def put_back(damaged: Path) -> None:
        shutil.rmtree(damaged)
        backup.rename(damaged)

    return put_back


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
