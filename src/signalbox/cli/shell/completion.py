"""`signalbox completion`: scripts with which a shell completes commands and options.

A script asks `signalbox completion words` for the words that may follow; files are completed by the shell itself.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from signalbox.cli.connect import fail, say

_BASH = """_signalbox_words() {
    local IFS=$'\\n'
    COMPREPLY=($(signalbox completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _signalbox_words signalbox"""

_ZSH = """#compdef signalbox
_signalbox_words() {
    local -a words_found
    words_found=("${(@f)$(signalbox completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${words_found[*]}" ]]; then compadd -- $words_found; else _files; fi
}
compdef _signalbox_words signalbox"""

_FISH = """function __signalbox_words
    set -l tokens (commandline -opc) (commandline -ct)
    signalbox completion words -- $tokens[2..-1] 2>/dev/null
end
complete -c signalbox -a '(__signalbox_words)'"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(
    context: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
    typed: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
) -> None:
    """Print the completion script of a shell.

    Example: source <(signalbox completion bash)
    """
    if shell == "words":
        root = context.find_root().command
        for word in next_words(root, context.find_root(), typed or [""]):
            say(word)
    elif shell in _SCRIPTS:
        for line in _SCRIPTS[shell].splitlines():
            say(line)
    else:
        fail(f"there is no script for {shell!r}: expected {', '.join(_SCRIPTS)}", code=2)


def next_words(root: Any, context: Any, typed: list[str]) -> list[str]:
    """The words that may stand in place of the last of `typed`, which is only begun. Values of options, and of
    arguments that do not name their words, are left to the shell: no words."""
    command = root
    *complete, begun = typed
    value_expected = False
    arguments = 0
    for word in complete:
        if value_expected:
            value_expected = False
        elif word.startswith("-"):
            value_expected = "=" not in word and _takes_value(command, word)
        else:
            inner = command.get_command(context, word) if hasattr(command, "get_command") else None
            command, arguments = (inner, 0) if inner is not None else (command, arguments + 1)
    if value_expected:
        return []
    if begun.startswith("-"):
        words = [text for parameter in command.params for text in parameter.opts if text.startswith("--")]
        words = [*dict.fromkeys([*words, "--help"])]
    else:
        words = _visible(command, context) or _of_argument(command, context, arguments, begun)
    return [word for word in words if word.startswith(begun)]


def _of_argument(command: Any, context: Any, number: int, begun: str) -> list[str]:
    """The words of an argument of the command that has them (`autocompletion`)."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    if number >= len(arguments) or arguments[number]._custom_shell_complete is None:
        return []
    return [item.value for item in arguments[number].shell_complete(context, begun)]


def _takes_value(command: Any, word: str) -> bool:
    options = [parameter for parameter in command.params if word in parameter.opts]
    return any(not getattr(option, "is_flag", False) for option in options)


def _visible(command: Any, context: Any) -> list[str]:
    if not hasattr(command, "list_commands"):
        return []
    return [name for name in command.list_commands(context) if not _hidden(command, name)]


def _hidden(command: Any, name: str) -> bool:
    rows = getattr(command.commands, "rows", None)
    return bool(rows[name].hidden if rows is not None else command.commands[name].hidden)
