"""What the Kafka Streams application reads, drawn by a seed, and what it must write: the batch computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from tests.system.ecosystem.committed_records import Row
from tests.system.ecosystem.shaken_cluster import Written

SOURCES = ("users", "lines", "clicks", "orders", "payments", "readings")
OUTPUTS = ("counts", "visits", "paid", "sums")
_WORDS = [f"word-{number}" for number in range(60)]
_COUNTRIES = {f"user-{number}": f"country-{number % 7}" for number in range(40)}
_SENSORS = [f"sensor-{number}" for number in range(8)]
_JOIN_MS, _WINDOW_MS = 60_000, 10_000
_LINES, _CLICKS, _ORDERS, _READINGS = 120, 250, 150, 300


@dataclass(slots=True)
class StreamsInput:
    """`piece` draws more input; `expected` counts what all pieces so far lead to."""

    begin_ms: int
    random: Random
    words: Counter[str] = field(default_factory=Counter)
    visits: Counter[Row] = field(default_factory=Counter)
    paid: Counter[Row] = field(default_factory=Counter)
    sums: dict[str, tuple[int, int]] = field(default_factory=dict)
    _orders: int = 0

    def users(self) -> list[Written]:
        """The table of users, complete before the first click."""
        return [Written(country, user, self.begin_ms) for user, country in _COUNTRIES.items()]

    def piece(self) -> dict[str, list[Written]]:
        """Records by topic. A payment is in the same piece as its order, within the window of the join or not."""
        orders, payments = self._draw_orders()
        return {
            "lines": [self._draw_line() for _ in range(_LINES)],
            "clicks": [self._draw_click() for _ in range(_CLICKS)],
            "orders": orders,
            "payments": payments,
            "readings": [self._draw_reading() for _ in range(_READINGS)],
        }

    def output_count(self) -> int:
        """The records that the application writes for all pieces so far: one for each update."""
        updates = sum(count for _, count in self.sums.values())
        return self.words.total() + self.visits.total() + self.paid.total() + updates

    def differences(self, output: dict[str, list[Row]]) -> list[str]:
        """In which topics the output is not that of the batch computation."""
        sums = {key: [parsed(value) for value in values] for key, values in by_key(output["sums"]).items()}
        equal = {
            "counts": by_key(output["counts"])
            == {word: [n.to_bytes(8) for n in range(1, count + 1)] for word, count in self.words.items()},
            "visits": Counter(output["visits"]) == self.visits,
            "paid": Counter(output["paid"]) == self.paid,
            "sums": {key: values[-1] for key, values in sums.items()} == self.sums
            and all([count for _, count in values] == list(range(1, len(values) + 1)) for values in sums.values()),
        }
        return [topic for topic, is_equal in equal.items() if not is_equal]

    def _draw_line(self) -> Written:
        words = self.random.choices(_WORDS, k=6)
        self.words.update(words)
        return Written(" ".join(words), timestamp_ms=self._moment_ms())

    def _draw_click(self) -> Written:
        user, page = self.random.choice(list(_COUNTRIES)), f"page-{self.random.randrange(1_000)}"
        self.visits[user, f"{page}@{_COUNTRIES[user]}".encode()] += 1
        return Written(page, user, self._moment_ms())

    def _draw_orders(self) -> tuple[list[Written], list[Written]]:
        orders, payments = [], []
        for number in range(self._orders, self._orders + _ORDERS):
            order, payment, at_ms = f"order-{number}", f"payment-{number}", self._moment_ms()
            late_ms = self.random.randrange(-2 * _JOIN_MS, 2 * _JOIN_MS)
            orders.append(Written(order, str(number), at_ms))
            payments.append(Written(payment, str(number), at_ms + late_ms))
            if abs(late_ms) <= _JOIN_MS:
                self.paid[str(number), f"{order}/{payment}".encode()] += 1
        self._orders += _ORDERS
        return orders, payments

    def _draw_reading(self) -> Written:
        sensor, value, at_ms = self.random.choice(_SENSORS), self.random.randrange(100), self._moment_ms()
        window = f"{sensor}@{at_ms - at_ms % _WINDOW_MS}"
        total, count = self.sums.get(window, (0, 0))
        self.sums[window] = (total + value, count + 1)
        return Written(f"{sensor}:{value}", timestamp_ms=at_ms)

    def _moment_ms(self) -> int:
        """Ten minutes of event time, in any order, from half an hour after the users on."""
        return self.begin_ms + 1_800_000 + self.random.randrange(600_000)


def by_key(rows: Iterable[Row]) -> dict[str, list[bytes]]:
    """The values of each key, in order."""
    values: dict[str, list[bytes]] = {}
    for key, value in rows:
        values.setdefault(key, []).append(value)
    return values


def parsed(value: bytes) -> tuple[int, int]:
    """Sum and count of a window."""
    total, _, count = value.decode().partition(":")
    return int(total), int(count)
