from __future__ import annotations

from kafka.partitioner.default import murmur2 as foreign_murmur2

from signalbox.client.sender.partitioner import StickyPartitioner, murmur2, partition_for_key

# The hashes in Kafka's own tests of the Java client, as signed numbers.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def test_hashes_are_javas() -> None:
    for key, signed in KNOWN.items():
        assert murmur2(key) == signed & 0xFFFFFFFF


def test_hashes_of_every_length_agree_with_another_client() -> None:
    for length in range(40):
        key = bytes((i * 37 + length) & 0xFF for i in range(length))
        assert murmur2(key) == foreign_murmur2(key) & 0xFFFFFFFF


def test_keys_are_made_positive_before_the_modulo() -> None:
    assert partition_for_key(b"21", 6) == (-973932308 & 0x7FFFFFFF) % 6


def test_records_without_a_key_stay_until_the_batch_is_full() -> None:
    sticky = StickyPartitioner()
    assert [sticky.partition_of("t", 3) for _ in range(3)] == [0, 0, 0]
    sticky.batch_closed("t")
    assert (sticky.partition_of("t", 3), sticky.partition_of("u", 3)) == (1, 0)
    sticky.batch_closed("t")
    sticky.batch_closed("t")
    assert sticky.partition_of("t", 3) == 0
