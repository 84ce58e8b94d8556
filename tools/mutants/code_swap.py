"""Puts a mutant into a loaded module: its functions get the code of the changed source.

So neither the module nor what has imported its names is loaded again. The process should be a fork of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType


def swap_code(module: ModuleType, text: str) -> int:
    """Gives each function and method the code that `text` has for it; returns how many differ.

    ValueError if a function uses other names of its enclosing scope than before (`super()` removed)."""
    file = module.__file__ or module.__name__
    codes = dict(_codes(compile(text, file, "exec", dont_inherit=True)))
    changed = 0
    for function in _functions(module):
        code = codes.get(function.__qualname__)
        if code is not None and code != function.__code__:
            function.__code__ = code
            changed += 1
    return changed


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


def _functions(owner: ModuleType | type) -> Iterator[FunctionType]:
    module_name = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    for value in list(vars(owner).values()):
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and function.__module__ == module_name:
            yield function
        elif isinstance(value, type) and value.__module__ == module_name and value is not owner:
            yield from _functions(value)
