"""Salts for names without a stored one: by name, the same on every node, in the form that Kafka's clients make."""

from __future__ import annotations

import re

from signalbox.security.sasl.salts import Salts, random_salt
from signalbox.security.sasl.scram_messages import SCRAM_MECHANISMS

# The form of java.math.BigInteger(130, random).toString(36); one in sixty million is different.
KAFKAS = re.compile(rb"[1-9a-z][0-9a-z]{20,25}")


def test_random_ones_have_kafkas_form() -> None:
    salts = [random_salt() for _ in range(500)]
    assert all(KAFKAS.fullmatch(salt) for salt in salts)
    assert len(set(salts)) == 500
    assert {len(salt) for salt in salts} >= {25, 26}


def test_a_salt_is_a_names_and_a_mechanisms() -> None:
    one, other = Salts(), Salts()
    assert one.of("SCRAM-SHA-256", "alice") != other.of("SCRAM-SHA-256", "alice"), "each process has its own"
    for salts in (one, other):
        salts.use(b"the cluster's secret")
    named = [(mechanism, name) for mechanism in SCRAM_MECHANISMS for name in ("alice", "bob", "", "ü")]
    made = [one.of(*each) for each in named]
    assert made == [other.of(*each) for each in named]
    assert len(set(made)) == len(named)
    assert all(KAFKAS.fullmatch(salt) for salt in made)


def test_made_and_random_ones_are_as_long() -> None:
    """Three of five have 25 digits, two have 26: the length must not show which kind a salt is."""
    salts = Salts()
    random = [random_salt() for _ in range(2_000)]
    made = [salts.of("SCRAM-SHA-256", f"user-{number}") for number in range(2_000)]
    for lengths in ([len(salt) for salt in of_a_kind] for of_a_kind in (random, made)):
        assert 0.5 < lengths.count(25) / 2_000 < 0.7
        assert 0.3 < lengths.count(26) / 2_000 < 0.5


def test_a_new_secret_counts_from_then_on() -> None:
    salts = Salts()
    salts.use(b"old")
    before = salts.of("SCRAM-SHA-256", "alice")
    salts.use(b"new")
    assert salts.of("SCRAM-SHA-256", "alice") != before
    assert "new" not in repr(salts)
