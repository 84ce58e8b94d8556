"""What is run of a page, and what is not."""

from __future__ import annotations

import pytest
from tools.tour.page import Command, WriteFile, blocks, steps


def _page(language: str, body: str, above: str = "Words.") -> str:
    return f"# Title\n\n{above}\n\n```{language}\n{body}```\n"


def test_a_console_block_has_commands_with_their_output() -> None:
    body = "$ echo one\none\n$ true\n$ for each in a b\n> do echo $each; done\na\n...\n"
    assert steps(_page("console", body)) == [
        Command("echo one", 6, ("one",)),
        Command("true", 8),
        Command("for each in a b\ndo echo $each; done", 9, ("a", "...")),
    ]


def test_the_last_line_may_give_the_exit_code_and_the_time() -> None:
    body = "$ a\nno\n[exit 1 within 2 s]\n$ b\n[exit 3]\n"
    assert steps(_page("console", body)) == [
        Command("a", 6, ("no",), exit_code=1, within_s=2),
        Command("b", 9, None, exit_code=3),
    ]


def test_output_without_a_command_is_an_error() -> None:
    with pytest.raises(ValueError, match="line 6: output without a command: one"):
        steps(_page("console", "one\n"))


def test_a_shell_block_has_a_command_a_line_without_comments() -> None:
    body = "# first\none  # note\n\ntwo \\\n  --option\n"
    assert steps(_page("sh", body)) == [Command("one  # note", 7), Command("two \\\n  --option", 9)]


def test_a_block_below_a_file_name_is_that_file() -> None:
    assert steps(_page("properties", "node.id=1\n", "The file `a/server.properties`:")) == [
        WriteFile("a/server.properties", "node.id=1\n", 6)
    ]
    assert steps(_page("python", "print(1)\n", "`x.py`:")) == [WriteFile("x.py", "print(1)\n", 6)]


def test_a_program_without_a_name_is_run() -> None:
    assert steps(_page("python", "print(1)\n")) == [
        WriteFile("line-6.py", "print(1)\n", 6),
        Command("python line-6.py", 6),
    ]


@pytest.mark.parametrize(
    ("language", "above"),
    [("text", "Words."), ("sh", "Not run by a test: it needs two hosts."), ("properties", "Words.")],
)
def test_illustrations_are_not_run(language: str, above: str) -> None:
    assert steps(_page(language, "anything\n", above)) == []


def test_a_block_in_a_list_loses_its_indentation() -> None:
    (block,) = blocks("1. Words:\n\n   ```sh\n   one\n     two\n   ```\n")
    assert block.body == "one\n  two\n"
    assert block.above == "1. Words:"
