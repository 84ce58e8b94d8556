"""`signalbox acl`: lists, creates and deletes ACLs.

signalbox acl create --topic flights --prefixed --principal User:alice --operation READ --operation DESCRIBE signalbox
acl list --group readers signalbox acl delete --topic flights --principal User:alice
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, ask, fail, report, say, show
from signalbox.client.acl_admin import text_of
from signalbox.security.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter

_ONE_OF = "--topic, --group, --transactional-id, --user-principal, --delegation-token or --cluster"

app = typer.Typer(help="Access control: list, create, delete.", no_args_is_help=True)

Topic = Annotated[str | None, typer.Option(help="A topic; * means all.")]
Group = Annotated[str | None, typer.Option(help="A consumer group; * means all.")]
TransactionalId = Annotated[str | None, typer.Option(help="A transactional id; * means all.")]
User = Annotated[str | None, typer.Option("--user-principal", help="A user whose tokens others ask for: User:alice.")]
Token = Annotated[str | None, typer.Option("--delegation-token", help="A delegation token's id; * means all.")]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="The name is a prefix of names.")]
Principal = Annotated[str | None, typer.Option(help="Type:name, for example User:alice; User:* means everybody.")]
Operations = Annotated[list[str] | None, typer.Option("--operation", help="READ, WRITE, ALL ...; can be repeated.")]


@app.command("list")
def list_acls(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    principal: Principal = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """ACLs that apply to a resource, or all."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    wanted = AclFilter(principal=principal)
    if named is not None:
        wanted = AclFilter(named[0], named[1], PatternType.MATCH, principal)
    table = Table("resource", "name", "pattern", "principal", "permission", "operation", "host")
    for binding in ask(bootstrap, lambda admin: admin.describe_acls(wanted)):
        pattern, entry = binding.pattern, binding.entry
        table.add_row(
            pattern.resource_type.name,
            pattern.name,
            pattern.pattern_type.name,
            entry.principal,
            entry.permission.name,
            entry.operation.name,
            entry.host,
        )
    show(table)


@app.command("create")
def create(
    principal: Annotated[str, typer.Option(help="Type:name, for example User:alice; User:* means everybody.")],
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    operation: Operations = None,
    host: Annotated[str, typer.Option(help="An address the client comes from; * means any.")] = "*",
    deny: Annotated[bool, typer.Option("--deny", help="Forbid instead of allow.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Allow (or deny) operations on a resource."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    if named is None or not operation:
        fail(f"say what about ({_ONE_OF}) and which --operation", code=2)
    pattern = ResourcePattern(named[0], named[1], PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    permission = AclPermission.DENY if deny else AclPermission.ALLOW
    bindings = [
        AclBinding(pattern, AccessControlEntry(principal, host, each, permission)) for each in _operations(operation)
    ]
    outcomes = ask(bootstrap, lambda admin: admin.create_acls(bindings))
    report({outcome.name: outcome for outcome in outcomes.values()}, "created")


@app.command("delete")
def delete(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    user_principal: User = None,
    delegation_token: Token = None,
    cluster: Cluster = False,
    prefixed: Prefixed = False,
    principal: Principal = None,
    operation: Operations = None,
    host: Annotated[str | None, typer.Option(help="Only those for this host.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Remove the ACLs of exactly this pattern, or only those of one principal."""
    named = _named(topic, group, transactional_id, user_principal, delegation_token, cluster)
    if named is None:
        fail(f"say what about: {_ONE_OF}", code=2)
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    wanted = [
        AclFilter(named[0], named[1], pattern_type, principal, host, each)
        for each in (_operations(operation) if operation else (AclOperation.ANY,))
    ]
    for binding in ask(bootstrap, lambda admin: admin.delete_acls(wanted)):
        say(f"{text_of(binding)}: deleted")


def _named(
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    user_principal: str | None,
    delegation_token: str | None,
    cluster: bool,
) -> tuple[ResourceType, str] | None:
    given = [
        (resource_type, name)
        for resource_type, name in (
            (ResourceType.TOPIC, topic),
            (ResourceType.GROUP, group),
            (ResourceType.TRANSACTIONAL_ID, transactional_id),
            (ResourceType.USER, user_principal),
            (ResourceType.DELEGATION_TOKEN, delegation_token),
            (ResourceType.CLUSTER, CLUSTER_NAME if cluster else None),
        )
        if name is not None
    ]
    if len(given) > 1:
        fail(f"only one of {_ONE_OF}", code=2)
    return given[0] if given else None


def _operations(texts: list[str]) -> list[AclOperation]:
    known = {each.name: each for each in AclOperation if each >= AclOperation.ALL}
    found = []
    for text in texts:
        operation = known.get(text.upper().replace("-", "_"))
        if operation is None:
            fail(f"{text!r} is no operation: {', '.join(known)}", code=2)
        found.append(operation)
    return found
