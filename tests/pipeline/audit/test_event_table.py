"""The columns of the events table are those of the events."""

from __future__ import annotations

from signalbox.common.audit_event import AUDIT_FIELDS
from signalbox.pipeline.audit.event_table import REQUIRED, event_ddl


def test_every_field_of_an_event_is_a_column() -> None:
    columns = [column.split()[0].strip("`") for column in event_ddl().split(", ")]
    assert columns == [field.name for field in AUDIT_FIELDS]


def test_identity_is_required() -> None:
    required = [column.split()[0].strip("`") for column in event_ddl().split(", ") if column.endswith("NOT NULL")]
    assert required == list(REQUIRED)
