"""Writes the `.pyi` beside each message file, so that type checkers see every field and its type.

`Struct` is a `dataclass_transform`: constructors follow from the fields. A constructor is written only where it takes
more types than the field has when it is read: `records`.

python -m signalbox.protocol.stubs            write them
python -m signalbox.protocol.stubs --check    exit 1 when one is out of date
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

import signalbox.protocol.messages as messages_package
from signalbox.protocol.message import Message
from signalbox.protocol.schema import FieldSpec

FOLDER = Path(__file__).parent / "messages"

_PYTHON_TYPES = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Records",
}


def message_modules() -> list[str]:
    """Names of the message files, without package."""
    return sorted(module.name for module in pkgutil.iter_modules(messages_package.__path__))


def message_classes(module_name: str) -> list[Any]:
    """The message classes that one message file defines, in its order."""
    module = importlib.import_module(f"signalbox.protocol.messages.{module_name}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Message) and value.__module__ == module.__name__
    ]


def stub_text(module_name: str) -> str:
    """The whole `.pyi` of one message file."""
    body = [line for cls in message_classes(module_name) for line in ["", *_class_lines(cls, "Message", "")]]
    names = {name for name in ("Buffer", "Message", "Records", "Struct") if any(_uses(line, name) for line in body)}
    head = [
        f"# Written by `python -m signalbox.protocol.stubs` from {module_name}.py.",
        f"from signalbox.protocol.message import {', '.join(sorted(names))}",
    ]
    return "\n".join([*head, *body]) + "\n"


def _read_as(annotation: str) -> str:
    return f"Buffer{annotation.removeprefix('Records')}" if annotation.startswith("Records") else annotation


def _uses(line: str, name: str) -> bool:
    return f": {name}" in line or f"({name})" in line


def _class_lines(cls: Any, base: str, margin: str) -> list[str]:
    inner = margin + "    "
    lines = [f"{margin}class {cls.__name__}({base}):"]
    for name in cls.schema.structs if base == "Message" else ():
        lines += [*_class_lines(getattr(cls, name), "Struct", inner), ""]
    root = cls.__qualname__.partition(".")[0]
    typed = [(field.attribute, _annotation(field, root)) for field in cls._spec.fields]
    typed.append(("unknown_tags", "dict[int, bytes] | None"))
    lines += [f"{inner}{name}: {_read_as(annotation)} = ..." for name, annotation in typed]
    if any(annotation != _read_as(annotation) for _, annotation in typed):
        lines += [f"{inner}def __init__(", f"{inner}    self,", f"{inner}    *,"]
        lines += [f"{inner}    {name}: {annotation} = ...," for name, annotation in typed]
        lines.append(f"{inner}) -> None: ...")
    return lines


def _annotation(field: FieldSpec, root: str) -> str:
    name = f"{root}.{field.type_name}" if field.is_struct else _PYTHON_TYPES.get(field.type_name, "int")
    if field.is_array:
        name = f"list[{name}]"
    return f"{name} | None" if field.nullable.highest >= 0 else name


def main(arguments: list[str]) -> int:
    stale = []
    for name in message_modules():
        path = FOLDER / f"{name}.pyi"
        text = stub_text(name)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            path.write_text(text)
    for name in stale:
        print("out of date:" if "--check" in arguments else "written:", name)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
