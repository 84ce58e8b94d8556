"""Sizes: lines of a file and of a function, parameters of a constructor, files of a folder, small files."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.architecture.exceptions import is_excepted
from tests.architecture.excess import Excess, excess_at
from tests.architecture.source_tree import TESTED_FOLDERS, SourceFile

FILE_LINES = 400
AIM_LINES = 250
FUNCTION_LINES = 70
CONSTRUCTOR_PARAMETERS = 5
FOLDER_FILES = 18
SMALL_FILE_LINES = 25

# The parameters of constructors: only files with enough commas in one are parsed.
_HEAD = re.compile(r"^( *)(?:async def|def|class) ", re.MULTILINE)
_INIT = re.compile(r"def __init__\((.*?)\) ->", re.DOTALL)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_files(files: Sequence[SourceFile]) -> list[Excess]:
    """Python files over the limit of lines."""
    advice = f"lines, limit {FILE_LINES}: divide the file by its ideas, into files of at most {AIM_LINES}"
    return [
        excess_at(file.path, file.lines, f"{file.lines} {advice}")
        for file in files
        if file.is_python and file.lines > FILE_LINES
    ]


def long_functions(files: Sequence[SourceFile]) -> list[Excess]:
    """Functions and methods over the limit of lines; decorators do not count."""
    excesses = []
    for file, name, function in _functions([file for file in files if _may_have_long_function(file)]):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            advice = f"{name} has {lines} lines, limit {FUNCTION_LINES}: extract its steps into functions with names"
            excesses.append(excess_at(f"{file.path}::{name}", lines, advice, function.lineno))
    return excesses


def wide_constructors(files: Sequence[SourceFile]) -> list[Excess]:
    """`__init__` methods with too many parameters; `self` does not count."""
    excesses = []
    candidates = [
        file for file in files if any(row.count(",") >= CONSTRUCTOR_PARAMETERS for row in _INIT.findall(file.text))
    ]
    for file, name, function in _functions(candidates):
        owner, _, method = name.rpartition(".")
        arguments = function.args
        parameters = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) - 1
        if method == "__init__" and parameters > CONSTRUCTOR_PARAMETERS:
            advice = (
                f"the constructor of {owner} has {parameters} parameters, limit {CONSTRUCTOR_PARAMETERS}:"
                " divide the class, or pass parameters that belong together as one dataclass"
            )
            excesses.append(excess_at(f"{file.path}::{owner}", parameters, advice, function.lineno))
    return excesses


def full_folders(files: Sequence[SourceFile], exceptions: Sequence[str]) -> list[Excess]:
    """Folders with too many Python files (`__init__.py` does not count). A test folder that mirrors a source folder has
    as many files as that folder needs."""
    folders = Counter(file.folder for file in files if file.is_python and file.name != "__init__.py")
    return [
        excess_at(folder, count, f"{count} files, limit {FOLDER_FILES}: group the files into packages with names")
        for folder, count in folders.items()
        if count > FOLDER_FILES and not is_excepted(folder, exceptions) and not _mirrors_source(folder, folders)
    ]


def small_files(files: Sequence[SourceFile], exceptions: Sequence[str]) -> list[Excess]:
    """Source files with too little code of their own."""
    advice = f"lines of code, at least {SMALL_FILE_LINES} wanted: move the code to the file that uses it"
    return [
        excess_at(file.path, 1, f"{file.code_lines} {advice}")
        for file in files
        if file.is_python and file.is_tested and file.code_lines < SMALL_FILE_LINES
        if not is_excepted(file.path, exceptions)
    ]


def _mirrors_source(folder: str, folders: Counter[str]) -> bool:
    return any(
        f"{folder}/".startswith(tests) and f"{root}{f'{folder}/'.removeprefix(tests)}".rstrip("/") in folders
        for root, tests in TESTED_FOLDERS.items()
    )


def _may_have_long_function(file: SourceFile) -> bool:
    """Whether two heads of functions or classes are far enough apart: other files need not be parsed."""
    heads = [(match.start(), len(match[1])) for match in _HEAD.finditer(file.text)] if file.is_python else []
    heads.append((len(file.text), 0))
    for position, (start, indent) in enumerate(heads[:-1]):
        end = next(later for later, later_indent in heads[position + 1 :] if later_indent <= indent)
        if file.text.count("\n", start, end) > FUNCTION_LINES:
            return True
    return False


def _functions(files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, str, _Function]]:
    for file in files:
        if file.is_python:
            for name, function in _functions_in(file.tree.body, ""):
                yield file, name, function


def _functions_in(statements: Sequence[ast.AST], prefix: str) -> Iterator[tuple[str, _Function]]:
    """Functions with their qualified names. Only statements are visited: expressions contain no `def`."""
    for statement in statements:
        if isinstance(statement, _Function):
            yield prefix + statement.name, statement
        inner_prefix = f"{prefix}{statement.name}." if isinstance(statement, _Function | ast.ClassDef) else prefix
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                yield from _functions_in(inner, inner_prefix)
