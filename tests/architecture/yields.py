"""Yields: each function that may let other code run says so in its docstring, so that a reader knows which lines stay
together (docs/concurrency.md).

A function yields if it calls `yield_if_due`, `yielding` or `clear` (`common/cooperative_task.py`), or a function that
is marked. It is marked by the word "Yields" in its docstring, followed by a full stop, comma, semicolon or colon, or by
"between" or "while"; a generator that "Yields an offset" is not. Inside `with no_yield():` nothing yields.

A call is resolved without running anything, so the check has limits:

- a name: a function of the same module, or imported by `from signalbox… import`;
- `self.name(…)` and `cls.name(…)`: a method of the same class;
- `other.name(…)`: only if all methods of this name in the project are marked, none of them is private, and no built-in
  type has such a method;
- functions that are passed on (callbacks, `partial`, constructors, properties, operators) are not followed;
- a coroutine needs no mark, since it is no cooperative task; nor does a function inside a function, or a lambda: its
  calls are in sight.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.architecture.excess import Excess, Place, count_per_file
from tests.architecture.source_tree import SourceFile

_SOURCE = "src/signalbox/"
_PRIMITIVES_FILE = "src/signalbox/common/cooperative_task.py"
_PRIMITIVES = {"yield_if_due", "yielding", "clear"}
_MARK = re.compile(r"\bYields(?=[.,;:]|\s+(?:between|while)\b)")
_BUILT_IN_METHODS = {name for kind in (bytes, bytearray, dict, list, memoryview, set, str) for name in dir(kind)}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Function:
    """A function of a module (`owner` is empty) or a method of the class `owner`."""

    module: str
    owner: str
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def is_coroutine(self) -> bool:
        return isinstance(self.node, ast.AsyncFunctionDef)

    @cached_property
    def is_marked(self) -> bool:
        return _MARK.search(ast.get_docstring(self.node) or "") is not None


@dataclass
class Module:
    """The functions of a file, and what it imports: local name -> (module, name)."""

    file: SourceFile
    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)


def unmarked_yields(files: Sequence[SourceFile]) -> list[Excess]:
    """Functions that yield and do not say so."""
    modules = {module.file.path: module for module in map(_module, files) if module is not None}
    marked_names = _marked_names(modules)
    places = []
    for path, module in modules.items():
        if path == _PRIMITIVES_FILE:
            continue
        for function in module.functions.values():
            if function.is_marked or function.is_coroutine:
                continue
            for call in _calls(function.node.body):
                if _yields(call, function, modules, marked_names):
                    places.append(_place(path, call, function))
                    break
    return count_per_file(places)


def _place(path: str, call: ast.Call, function: Function) -> Place:
    name = f"{function.owner}.{function.node.name}" if function.owner else function.node.name
    advice = (
        f"{name} yields here, in {ast.unparse(call.func)}: write `Yields.` into its docstring, with what its callers"
    )
    return Place(path, call.lineno, f"{advice} must compare again; or use `with no_yield():`")


def _module(file: SourceFile) -> Module | None:
    if not file.is_python or not file.path.startswith(_SOURCE):
        return None
    module = Module(file)
    for node in file.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions["", node.name] = Function(file.path, "", node)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    module.functions[node.name, method.name] = Function(file.path, node.name, method)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("signalbox."):
            source = f"src/{node.module.replace('.', '/')}.py"
            for name in node.names:
                module.imports[name.asname or name.name] = (source, name.name)
    return module


def _marked_names(modules: Mapping[str, Module]) -> set[str]:
    """The names of methods that are marked wherever they are defined."""
    marked: dict[str, bool] = {}
    for module in modules.values():
        for (owner, name), function in module.functions.items():
            if owner and not name.startswith("_"):
                marked[name] = marked.get(name, True) and function.is_marked and not function.is_coroutine
    return {name for name, is_marked in marked.items() if is_marked} - _BUILT_IN_METHODS


def _calls(body: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """The calls that run with these statements: not those of inner functions, nor those inside `no_yield`."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            continue
        if isinstance(node, ast.With) and any("no_yield" in ast.unparse(item.context_expr) for item in node.items):
            continue
        if isinstance(node, ast.Call):
            yield node
        yield from _calls(list(ast.iter_child_nodes(node)))


def _yields(call: ast.Call, caller: Function, modules: Mapping[str, Module], marked_names: set[str]) -> bool:
    module = modules[caller.module]
    match call.func:
        case ast.Name(id=name):
            source, original = module.imports.get(name, (caller.module, name))
            if source == _PRIMITIVES_FILE:
                return original in _PRIMITIVES
            return _is_marked(modules, source, "", original)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if (caller.owner, name) in module.functions:
            return _is_marked(modules, caller.module, caller.owner, name)
        case ast.Attribute(attr=name):
            return name in marked_names
        case _:
            return False


def _is_marked(modules: Mapping[str, Module], path: str, owner: str, name: str) -> bool:
    """Whether the call of a function yields: that of a coroutine only makes an awaitable."""
    function = modules[path].functions.get((owner, name)) if path in modules else None
    return function is not None and function.is_marked and not function.is_coroutine
