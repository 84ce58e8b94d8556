"""`signalbox topic` from creation to deletion; output that a program can read."""

from __future__ import annotations

from typing import Any

from tests.waiting import until


def partitions_of(described: str) -> list[str]:
    return [line.split("│")[1].strip() for line in described.splitlines() if "│" in line]


def test_a_topic_is_created_changed_and_deleted(run: Any) -> None:
    created = run("topic", "create", "life", "--partitions", "2", "--config", "retention.ms=77")
    assert (created.exit_code, created.stdout) == (0, "life: created\n")
    assert run("topic", "partitions", "life", "3").stdout == "life: has 3 partitions\n"
    assert until(lambda: partitions_of(run("topic", "describe", "life").stdout) == ["0", "1", "2"])
    assert until(lambda: "life" in run("topic", "list").stdout.splitlines())
    assert run("topic", "delete", "life").stdout == "life: deleted\n"
    assert until(lambda: "life" not in run("topic", "list").stdout.splitlines())


def test_validation_creates_nothing(run: Any) -> None:
    assert run("topic", "create", "maybe", "--validate-only").stdout == "maybe: would be created\n"
    assert "maybe" not in run("topic", "list").stdout.splitlines()


def test_long_names_are_neither_wrapped_nor_cut(run: Any) -> None:
    name = "long-" + "x" * 200
    assert run("topic", "create", name).stdout == f"{name}: created\n"
    assert until(lambda: name in run("topic", "list").stdout.splitlines())
    assert until(lambda: name in run("topic", "describe", name).stdout)


def test_rejections_are_on_standard_error(run: Any) -> None:
    for arguments, text in (
        (("create", "a/b"), "Topic name is invalid"),
        (("create", "c", "--replication-factor", "9"), "c:"),
        (("delete", "nope"), "nope: The topic 'nope' does not exist."),
        (("describe", "nope"), "nope"),
        (("partitions", "nope", "3"), "nope"),
    ):
        result = run("topic", *arguments)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        assert text in result.stderr
    assert run("topic", "create", "d", "--config", "nonsense").exit_code == 2


def test_internal_topics_are_listed_only_with_the_option(run: Any) -> None:
    names = run("topic", "list").stdout.split()
    everything = run("topic", "list", "--internal").stdout.split()
    assert set(names) <= set(everything)
    assert not any(name.startswith("__") for name in names)


def test_leaders_are_elected(run: Any) -> None:
    assert run("topic", "create", "led", "--partitions", "2", "--replication-factor", "2").exit_code == 0
    assert run("topic", "elect", "led").stdout == "led: no election is needed\n"
    leader = run("topic", "describe", "led").stdout.split("│")[2].strip()
    other = "2" if leader == "1" else "1"
    assert run("reassign", "start", "led", "0", f"{other},{leader}").exit_code == 0
    assert run("topic", "elect", "led", "--partition", "0").stdout == "led-0: has a new leader\n"
    assert run("topic", "elect", "led", "--unclean").stdout == "led: no election is needed\n"
    rejected = run("topic", "elect-leaders", "led", "--partition", "7")
    assert (rejected.exit_code, rejected.stdout) == (1, "")
    assert "led-7" in rejected.stderr
