"""Generates the function that turns one message into chunks at one version.

What makes it fast: all fields between two arrays of structs, strings and number arrays included, are packed by one
`struct` call whose format is looked up by the lengths of the variable parts (`ShapePacker`); chunks are collected in a
list and joined once; records are chunks of their own and are never copied.

A message that cannot be written (a null that is not allowed, a number out of range, a value for which the version has
no field) makes the generated code fail with some error; the caller then uses the interpreter to find the field. Local
names: `A` appends a chunk, `n0`, `n1`... lengths, `s0`, `s1`... encoded strings, `z0`, `z1`... the object being written
at each depth.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from signalbox.protocol.codec import wire_formats
from signalbox.protocol.codec.layout import FieldLayout, StructLayout
from signalbox.protocol.codec.long_chunks import gather
from signalbox.protocol.codec.source_writer import SourceWriter
from signalbox.protocol.codec.wire_formats import FORMAT_LETTERS, ShapePacker
from signalbox.protocol.varint import uvarint

EncodeFunction = Callable[[Any, list[Any], list[int]], None]


def compile_encoder(layout: StructLayout, classes: dict[str, Any], *, yields: bool = False) -> EncodeFunction:
    """A function (message, chunks, places): appends chunks, and to `places` the indexes of records. With `yields` it
    gathers the chunks (`long_chunks.gather`) and yields between elements."""
    return _EncoderWriter(layout, classes, yields).compile()


class _EncoderWriter:
    """Generates one function; the run = template, arguments and lengths of the fields that are not packed yet."""

    def __init__(self, layout: StructLayout, classes: dict[str, Any], yields: bool) -> None:
        self.yields = yields
        self.layout = layout
        self.classes = classes
        self.flexible = layout.flexible
        self.out = SourceWriter()
        self.template: list[str | tuple[str, str]] = []
        self.arguments: list[str] = []
        self.lengths: list[str] = []
        self.out.scope.update(
            U=uvarint, W=wire_formats.tagged_section, reject_field=wire_formats.reject_field, L=Struct(">i").pack
        )
        self.out.scope["GATHER"] = gather

    def compile(self) -> EncodeFunction:
        with self.out.block("def encode(z0, out, places):"):
            self.out.line("A = out.append")
            self._struct(self.layout, 0)
            self._flush()
        function: EncodeFunction = self.out.run("encode")
        return function

    # --- the pending run ----------------------------------------------------------------------------

    def _pack_call(self) -> str:
        """The expression that packs the pending run."""
        arguments = ", ".join(self.arguments)
        if not self.lengths:
            letters = "".join(part for part in self.template if isinstance(part, str))
            if letters == "x":
                return "b'\\0'"
            packer = self.out.name(_packer(letters), "P")
            return f"{packer}({arguments})"
        packer = self.out.name(ShapePacker(tuple(self.template)), "Q")
        key = ", ".join(self.lengths)
        return f"{packer}[{key}]({arguments})"

    def _flush(self) -> None:
        if self.template:
            self.out.line(f"A({self._pack_call()})")
        self._forget()

    def _forget(self) -> None:
        self.template, self.arguments, self.lengths = [], [], []

    def _fixed(self, letter: str, argument: str) -> None:
        self.template.append(letter)
        self.arguments.append(argument)

    def _flush_with_length(self, length: str) -> None:
        """Write the run and behind it a length that may be large (a compact length already includes the +1)."""
        if not self.flexible:
            self._fixed("i", length)
            self._flush()
            return
        saved = list(self.template), list(self.arguments), list(self.lengths)
        self._fixed("B", length)
        self.out.line(f"if {length} < 128: A({self._pack_call()})")
        self.template, self.arguments, self.lengths = saved
        rest = f"A({self._pack_call()}); " if self.template else ""
        self.out.line(f"else: {rest}A(U({length}))")
        self._forget()

    # --- structs ------------------------------------------------------------------------------------

    def _struct(self, layout: StructLayout, depth: int) -> None:
        value = f"z{depth}"
        for spec in layout.absent:
            if not spec.ignorable:
                expression = f"{value}.{spec.attribute}"
                self.out.line(f"if {self._differs(layout, spec.attribute, expression)}: reject_field()")
        for field in layout.fields:
            self._field(field, f"{value}.{field.attribute}", depth)
        if layout.flexible:
            self.template.append("x")
            self._flush()
            section = f"{self._tag_writer(layout)}({value})" if layout.tagged else f"W({{}}, {value}.unknown_tags)"
            tests = [
                f"{value}.unknown_tags",
                *(
                    self._differs(layout, field.attribute, f"{value}.{field.attribute}", quick=True)
                    for field in layout.tagged
                ),
            ]
            self.out.line(f"if {' or '.join(tests)}: out[-1] = out[-1][:-1] + {section}")

    def _differs(self, layout: StructLayout, attribute: str, expression: str, quick: bool = False) -> str:
        """An expression: whether a field differs from its default. With `quick` it may be true for an equal value."""
        default = self.classes[layout.name]._defaults[attribute]
        if default is None:
            return f"{expression} is not None"
        if default == ():
            return f"({expression} or {expression} is None)"
        if isinstance(default, bool | int | str | bytes):
            constant = repr(default) if not isinstance(default, bytes) else self.out.name(default, "D")
            return f"{expression} != {constant}"
        constant = self.out.name(default, "D")
        return f"{expression} is not {constant}" + ("" if quick else f" and {expression} != {constant}")

    def _tag_writer(self, layout: StructLayout) -> str:
        """Name of a function that returns the whole tagged section of a struct."""
        name = self.out.fresh("T")
        with self.out.apart(), self.out.block(f"def {name}(z0):"):
            self.out.line("bodies = {}")
            for field in layout.tagged:
                expression = f"z0.{field.attribute}"
                with self.out.block(f"if {self._differs(layout, field.attribute, expression)}:"):
                    self.out.line("out = []; A = out.append; places = []")
                    self._field(field, expression, 0)
                    self._flush()
                    self.out.line(f"bodies[{field.spec.tag}] = b''.join(out)")
            self.out.line("return W(bodies, z0.unknown_tags)")
        return name

    # --- fields -------------------------------------------------------------------------------------

    def _field(self, field: FieldLayout, expression: str, depth: int) -> None:
        if field.is_array:
            self._array(field, expression, depth)
        elif field.struct is not None:
            self._nested(field, field.struct, expression, depth)
        elif field.type_name in FORMAT_LETTERS:
            self._fixed(FORMAT_LETTERS[field.type_name], expression)
        elif field.type_name == "string":
            self._string(expression, field.nullable)
        else:
            self._blob(field, expression)

    def _string(self, expression: str, nullable: bool) -> None:
        """Part of the run: its length chooses the format."""
        number = self.out.fresh("")
        value, length = f"s{number}", f"n{number}"
        measured = f"{length} = len({value}) + 1" if self.flexible else f"{length} = len({value})"
        if nullable:
            self.out.line(f"{value} = {expression}")
            self.out.line(f"if {value} is None: {value} = b''; {length} = {0 if self.flexible else -1}")
            self.out.line(f"else: {value} = {value}.encode(); {measured}")
        else:
            self.out.line(f"{value} = {expression}.encode(); {measured}")
        self.template.append(("B" if self.flexible else "h", "s"))
        self.arguments += [length, value]
        self.lengths.append(length)

    def _blob(self, field: FieldLayout, expression: str) -> None:
        """Bytes and records: chunks of their own."""
        number = self.out.fresh("")
        value, length = f"s{number}", f"n{number}"
        self.out.line(f"{value} = {expression}")
        measured = f"len({value}) + 1" if self.flexible else f"len({value})"
        null = 0 if self.flexible else -1
        self.out.line(f"{length} = {f'{null} if {value} is None else {measured}' if field.nullable else measured}")
        self._flush_with_length(length)
        append = f"places.append(len(out)); A({value})" if field.type_name == "records" else f"A({value})"
        self.out.line(f"if {length} > {int(self.flexible)}: {append}")

    def _nested(self, field: FieldLayout, struct: StructLayout, expression: str, depth: int) -> None:
        inner = f"z{depth + 1}"
        self.out.line(f"{inner} = {expression}")
        if not field.nullable:
            self._struct(struct, depth + 1)
            return
        self._flush()
        self.out.line(f"if {inner} is None: A(b'\\xff')")
        with self.out.block("else:"):
            self._fixed("b", "1")
            self._struct(struct, depth + 1)
            self._flush()

    def _array(self, field: FieldLayout, expression: str, depth: int) -> None:
        number = self.out.fresh("")
        values, length = f"l{number}", f"n{number}"
        letter = FORMAT_LETTERS.get(field.type_name, "")
        measured = f"len({values}) + 1" if self.flexible else f"len({values})"
        self.out.line(f"{values} = {expression}")
        if field.nullable:
            null = f"{length} = {0 if self.flexible else -1}; {values} = ()"
            self.out.line(f"if {values} is None: {null}")
            self.out.line(f"else: {length} = {measured}")
        else:
            self.out.line(f"{length} = {measured}")
        if field.struct is None and len(letter) == 1:
            self.template.append(("B" if self.flexible else "i", letter))
            self.arguments += [length, f"*{values}"]
            self.lengths.append(length)
            return
        self._flush_with_length(length)
        self._elements(field, values, depth)

    def _elements(self, field: FieldLayout, values: str, depth: int) -> None:
        item = f"z{depth + 1}"
        number = self.out.fresh("i")
        loop = f"for {number}, {item} in enumerate({values}):" if self.yields else f"for {item} in {values}:"
        with self.out.block(loop):
            if self.yields:
                self.out.line(f"if {number} & 63 == 63: GATHER(out, places)")
            if field.struct is not None:
                self._struct(field.struct, depth + 1)
            elif field.type_name == "string":
                self._string(item, nullable=False)
            elif field.type_name in FORMAT_LETTERS:
                self._fixed(FORMAT_LETTERS[field.type_name], item)
            else:
                self._blob(_not_null(field), item)
            self._flush()


def _not_null(field: FieldLayout) -> FieldLayout:
    return FieldLayout(field.spec, field.attribute, field.type_name, False, False, None)


_PACKERS: dict[str, Any] = {}


def _packer(letters: str) -> Any:
    """Shared by all messages: equal runs have one Struct. The schemas bound their number."""
    if letters not in _PACKERS:
        _PACKERS[letters] = Struct(f">{letters}").pack
    return _PACKERS[letters]
