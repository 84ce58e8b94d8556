"""The kinds of entities whose changes a run makes and checks; another kind is another file and another name here."""

from __future__ import annotations

from tools.chaos.changes.acl import Acls
from tools.chaos.changes.kind import Kind
from tools.chaos.changes.quota import Quotas
from tools.chaos.changes.scram_user import ScramUsers
from tools.chaos.changes.token import Tokens
from tools.chaos.changes.topic import Topics


def all_kinds() -> tuple[Kind, ...]:
    """New instances: some remember the contents of their responses."""
    return Topics(), Acls(), Quotas(), ScramUsers(), Tokens()
