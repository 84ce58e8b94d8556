"""The mutants of one source file, made by the operators of mutmut (decision 0040).

Left out, beside what mutmut leaves out (annotations, decorated functions): log messages, texts with a space, which
people read, defaults of parameters, and code outside functions, which runs before a mutant can be put in.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import libcst as cst
import libcst.matchers as matchers
from mutmut.mutation.file_mutation import Mutation, create_mutations

_LOGGERS = matchers.OneOf(*(matchers.Name(name) for name in ("log", "_log", "logging")))
_SKIPPED = matchers.Parameters() | matchers.Call(func=matchers.Attribute(value=_LOGGERS))


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed source file. `function` is the innermost function or method with the change, `""` outside. `change` has
    its removed (`-`) and added (`+`) lines, without indentation."""

    path: str
    line: int
    function: str
    change: str
    text: str


class FileMutations:
    """All mutants of a file, numbered from 0. ValueError if the text is no Python."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._tree = ast.parse(text)
        self._module, mutations, _, _ = create_mutations(path, text)
        tested = _nodes(self._module, matchers.FunctionDef()) - _nodes(self._module, _SKIPPED)
        self._mutations = [
            each for each in mutations if id(each.original_node) in tested and not _is_text_for_people(each)
        ]

    def __len__(self) -> int:
        return len(self._mutations)

    def mutant(self, number: int) -> Mutant:
        mutation = self._mutations[number]
        changed = self._module.deep_replace(mutation.original_node, mutation.mutated_node)
        assert isinstance(changed, cst.Module)
        rows = list(unified_diff(self._text.splitlines(), changed.code.splitlines(), n=0, lineterm=""))[2:]
        line = int(rows[0].split()[1].lstrip("-").partition(",")[0]) if rows else 0
        lines = (row[0] + " " + row[1:].strip() for row in rows if row[0] in "-+")
        return Mutant(self._path, line, self._function_at(line), "\n".join(lines), changed.code)

    def lines_of(self, mutant: Mutant) -> range:
        """The lines of the statement that a mutant changes, without the statements inside it."""
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0)
        ]
        statement = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
        inside = [
            child.lineno for child in ast.walk(statement) if isinstance(child, ast.stmt) and child is not statement
        ]
        end = min((line for line in inside if line > mutant.line), default=(statement.end_lineno or 0) + 1)
        return range(statement.lineno, end)

    def _function_at(self, line: int) -> str:
        functions = (node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
        return max(around, key=lambda node: node.lineno).name if around else ""


def _is_text_for_people(mutation: Mutation) -> bool:
    original, mutated = mutation.original_node, mutation.mutated_node
    if isinstance(original, cst.Call) and isinstance(mutated, cst.Call):  # an argument is removed or becomes None
        return any(_is_prose(each.value) for each in original.args if each not in mutated.args)
    return _is_prose(original)


def _is_prose(node: cst.CSTNode) -> bool:
    """Whether it is a text with a space."""
    if isinstance(node, cst.SimpleString):
        return " " in node.value
    if isinstance(node, cst.ConcatenatedString):
        return _is_prose(node.left) or _is_prose(node.right)
    if isinstance(node, cst.FormattedString):
        return any(_is_prose(part) for part in node.parts)
    return isinstance(node, cst.FormattedStringText) and " " in node.value


def _nodes(module: cst.Module, pattern: matchers.BaseMatcherNode) -> set[int]:
    """The nodes that match and those below them, by `id`."""
    found: set[int] = set()
    stack: list[cst.CSTNode] = list(matchers.findall(module, pattern))
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found.add(id(node))
            stack.extend(node.children)
    return found


def number_of_mutants(root: Path, source: str) -> int:
    """The number of mutants of the file `source` below `root`."""
    return len(FileMutations(source, (root / source).read_text()))
