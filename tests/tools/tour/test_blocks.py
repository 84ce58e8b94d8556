"""Each code block of the README and of docs/ is run, checked, or marked as one that is not.

Pages of the tours are run completely by `make tour`; some pages have a test of their own. On all others a `properties`
block has keys that exist with values that are accepted, and a command is one that the command line takes; those of the
pages on security, tokens, the store, listeners, TLS, the doctor, quotas and the command line run in
`tests/system/cli/`, those of the page on the pipeline in `tests/system/pipeline/page_runs.py`. A block of `text` and
one below a line with "Not run by a test" are illustrations. A command inside a sentence has a name and options that
exist.
"""

from __future__ import annotations

import getpass
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tools.tour.page import Block, blocks

from signalbox.cli.main import app
from signalbox.cli.shell.profiles import read_profiles
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.config.config_table import read_listener_key
from signalbox.common.config.properties_file import parse_properties
from signalbox.configuration.configuration import NODE_CONFIG

_ROOT = Path(__file__).parents[3]
_PAGES = sorted(
    ["README.md", "CONTRIBUTING.md"]
    + [str(page.relative_to(_ROOT)) for folder in ("docs", "docs/doctor") for page in (_ROOT / folder).glob("*.md")]
)
_TOURS = tomllib.loads((_ROOT / "tools" / "tour" / "tours.toml").read_text())
_OWN_TESTS = {
    "docs/client.md": "tests/client/test_client_page.py",
    "docs/authentication.md": "tests/wiring/test_authentication_page.py",
    "docs/testing-your-client.md": "tests/system/cli/test_page_drill.py",
}
_BESIDE = {"echo", "export", "seq", "source"}  # programs of the shell that stand around ours
_COMMANDS = {"sh", "console", ""}
_KINDS = {"properties", "toml", *_COMMANDS}


def _checked_here() -> Iterator[tuple[str, Block]]:
    elsewhere = {page for tour in _TOURS.values() for page in tour["pages"]} | _OWN_TESTS.keys()
    for page in _PAGES:
        if page not in elsewhere:
            for block in blocks((_ROOT / page).read_text()):
                if not block.is_illustration:
                    yield page, block


_BLOCKS = list(_checked_here())


def _named(languages: set[str]) -> list[object]:
    return [pytest.param(block, id=f"{page}:{block.line}") for page, block in _BLOCKS if block.language in languages]


def test_pages_that_are_run_elsewhere_exist() -> None:
    for page, test in _OWN_TESTS.items():
        assert (_ROOT / page).is_file()
        assert (_ROOT / test).is_file()
    assert all((_ROOT / page).is_file() for tour in _TOURS.values() for page in tour["pages"])


def test_no_block_is_of_another_kind() -> None:
    others = [f"{page}:{block.line}" for page, block in _BLOCKS if block.language not in _KINDS]
    assert others == [], 'write the language behind the three backticks, `text`, or "Not run by a test" above'


@pytest.mark.parametrize("block", _named({"properties"}))
def test_keys_exist_and_values_are_accepted(block: Block) -> None:
    for key, value in parse_properties(block.body, "the page").values.items():
        of_listener = read_listener_key(key, NODE_CONFIG)
        row = of_listener.row if of_listener else NODE_CONFIG.get(key) or CLIENT_CONFIG.get(key)
        assert row is not None, f"{key} is no key"
        row.parse(value)


@pytest.mark.parametrize("block", _named({"toml"}))
def test_profiles_are_read(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    file.write_text(block.body)
    monkeypatch.setenv("SIGNALBOX_PROFILES", str(file))
    profiles, default = read_profiles()
    assert len(profiles) > 1
    assert default in profiles


def _words(text: str) -> Iterator[list[str]]:
    """The commands of a line of a shell, each as a list of words."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="|;&<>()")
    lexer.whitespace_split = True
    command: list[str] = []
    for token in lexer:
        if set(token) <= set("<>"):
            next(lexer, None)  # the file of a redirection
        elif set(token) <= set("|;&()"):
            yield command
            command = []
        else:
            command.append(token)
    yield command


def _parse(words: Sequence[str]) -> None:
    """Raises what the command line raises."""
    command: Any = typer.main.get_command(app)
    name, rest, context = "signalbox", list(words), None
    while True:
        context = command.make_context(name, rest, parent=context)
        if not hasattr(command, "resolve_command"):
            return
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])


@pytest.mark.parametrize("block", _named(_COMMANDS))
def test_commands_are_taken_by_the_command_line(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(getpass, "getpass", lambda *prompt, **options: "secret")
    monkeypatch.setenv("SIGNALBOX_TOKEN_HMAC", "secret")
    lines = [row.removeprefix("$ ") for row in block.body.replace("\\\n", " ").splitlines()]
    for words in (words for line in lines if line.strip() for words in _words(line) if words):
        program = words[0].rpartition("/")[2]
        assert program in {"signalbox", *_BESIDE}, f"{program}: run it in a tour, or mark the block"
        for file in (word for word in words if word.endswith(".jsonl")):
            Path(file).touch()
        if program == "signalbox":
            _parse(words[1:])


_SENTENCE_COMMAND = re.compile(r"(?<!`)`signalbox ([^`]+)`(?!`)")
_INDENTED = re.compile(r"^ *\n {4,}(?![-*] |\d+\. )\S.*$", re.MULTILINE)


def _unknown(text: str) -> str:
    """What of a command in a sentence does not exist, a name or an option; "" if all is there. `a|b` are two names;
    values and names of parameters are not compared."""
    command: Any = typer.main.get_command(app)
    takes_value = {**dict.fromkeys(("-h", "--help"), False), **_options(command)}
    words = iter(text.split())
    for word in words:
        name = word.rstrip(",;:")
        if name.startswith("-"):
            option, equals, _ = name.partition("=")
            if option not in takes_value:
                return option
            if takes_value[option] and not equals:
                next(words, None)
        elif hasattr(command, "commands") and name[:1].islower():
            inner = [command.commands.get(one) for one in name.split("|")]
            if None in inner:
                return name
            command = inner[0]
            for one in inner:
                takes_value |= _options(one)
    return ""


def _options(command: Any) -> dict[str, bool]:
    """The options of a command, and whether a value follows."""
    return {
        text: not getattr(parameter, "is_flag", False)
        for parameter in command.params
        for text in (*parameter.opts, *parameter.secondary_opts)
    }


def _without_blocks(page: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", (_ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", _PAGES)
def test_no_block_is_made_by_indentation(page: str) -> None:
    assert _INDENTED.findall(_without_blocks(page)) == [], "no test would see it: put it between three backticks"


@pytest.mark.parametrize("page", _PAGES)
def test_commands_in_sentences_exist(page: str) -> None:
    text = _without_blocks(page)
    found = {command: _unknown(command.replace("\n", " ")) for command in _SENTENCE_COMMAND.findall(text)}
    assert {command: unknown for command, unknown in found.items() if unknown} == {}


@pytest.mark.parametrize(
    ("command", "unknown"),
    [
        ("topic lst", "lst"),
        ("topic list --jsom", "--jsom"),
        ("quota describe|alter", ""),
        ("quota describe|change", "describe|change"),
        ("-b kafka1:9092 topic list", ""),
        ("up --detach ...", ""),
        ("doctor", ""),
    ],
)
def test_what_is_noticed_in_a_sentence(command: str, unknown: str) -> None:
    assert _unknown(command) == unknown


@pytest.mark.parametrize("command", ["topic lst", "topic list --jsom", "up --brokers many", "nothing"])
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    with pytest.raises(Exception, match=r"No such|not a whole number"):
        _parse(command.split())
