"""The kinds of entities whose changes a run makes and checks; another kind is another file and another name here."""

from __future__ import annotations

from signalbox.testing.chaos.changes.acl import Acls
from signalbox.testing.chaos.changes.kind import Kind
from signalbox.testing.chaos.changes.quota import Quotas
from signalbox.testing.chaos.changes.scram_user import ScramUsers
from signalbox.testing.chaos.changes.token import Tokens
from signalbox.testing.chaos.changes.topic import Topics


def all_kinds() -> tuple[Kind, ...]:
    """New instances: some remember the contents of their responses."""
    return Topics(), Acls(), Quotas(), ScramUsers(), Tokens()
