"""Options that cannot be run are refused all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.options import AuditOptions, OptionError, TablesOptions, refuse_faulty


def test_all_faults_are_named_at_once() -> None:
    options = TablesOptions(
        bootstrap_servers="", warehouse=Path("w"), topic="", name="a/b", max_records_per_batch=0, starting="middle"
    )
    with pytest.raises(OptionError) as refused:
        refuse_faulty(options)
    assert len(refused.value.faults) == 5


def test_a_table_is_called_like_its_topic_unless_told() -> None:
    options = TablesOptions(bootstrap_servers="b:1", warehouse=Path("w"), topic="flights")
    refuse_faulty(options)
    assert options.table_name == "flights"


def test_audit_reads_the_brokers_own_topic() -> None:
    options = AuditOptions(bootstrap_servers="b:1", warehouse=Path("w"))
    refuse_faulty(options)
    assert options.topic == "signalbox-audit"
