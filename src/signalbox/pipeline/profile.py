"""Chooses one of the two profiles: Spark's own Kafka connector (`jars`) or our Python data source (`pypi`).

`auto` takes `jars` if the pinned jars are present or can be fetched, else `pypi`, and reports which and why. A table
that was begun with one profile keeps it: the two profiles write offsets of different formats into the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from signalbox.pipeline.options import AUTO, Commit, OptionError, Profile, choice_faults
from signalbox.pipeline.spark.jars import JarError, fetch_jars, pinned_jars, verified_jars


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """The chosen profile, its jars, and the sentence that gives the reason."""

    profile: Profile
    jars: tuple[Path, ...]
    reason: str


def choose_profile(
    requested: str = AUTO,
    *,
    jars_directory: Path | None = None,
    begun_with: Profile | None = None,
    fetch: bool = True,
    say: Callable[[str], None] = print,
) -> ProfileChoice:
    """The profile for a run. `fetch`: whether the jars are this program's to fetch. Raises JarError if `jars` is
    requested (or was begun with) and cannot be fetched, OptionError if the requested profile cannot be used."""
    if faults := choice_faults("profile", requested, Profile):
        raise OptionError(faults)
    if begun_with is not None and requested not in (AUTO, begun_with):
        raise OptionError(
            [
                f"this table was begun with profile {begun_with}; its checkpoint cannot be read with {requested}: "
                f"use --profile {begun_with}, or another table name"
            ]
        )
    if requested == Profile.PYPI or begun_with == Profile.PYPI:
        return ProfileChoice(Profile.PYPI, (), "as asked" if requested == Profile.PYPI else "as this table was begun")
    if not fetch:
        return ProfileChoice(Profile.JARS, pinned_jars(jars_directory), "spark-submit brings the jars")
    jars = verified_jars(jars_directory)
    if jars is not None:
        return ProfileChoice(Profile.JARS, jars, "the pinned jars are here")
    try:
        return ProfileChoice(Profile.JARS, fetch_jars(jars_directory, say), "the pinned jars could be fetched")
    except (JarError, OSError) as fault:
        if requested == Profile.JARS or begun_with == Profile.JARS:
            raise
        return ProfileChoice(Profile.PYPI, (), f"the jars cannot be had ({fault})")


def choose_commit(requested: str, profile: Profile) -> Commit:
    """The committer: by default Delta's own sink if its jar is present, else always delta-rs."""
    if faults := choice_faults("commit", requested, Commit):
        raise OptionError(faults)
    if profile == Profile.PYPI:
        if requested == Commit.SPARK:
            raise OptionError(["commit spark needs Delta's jar: use --profile jars, or --commit rs"])
        return Commit.RS
    return Commit.SPARK if requested == AUTO else Commit(requested)
