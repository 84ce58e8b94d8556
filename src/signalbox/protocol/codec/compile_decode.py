"""Generates the function that reads one message at one version.

What makes it fast (each was measured): runs of fixed fields are read by one `Struct.unpack_from` straight into slots,
and the run includes the length, count or tag byte behind it; an array of numbers and the fixed fields behind it are one
`unpack_from` as well; objects come from `object.__new__`, without a constructor; compact lengths are a plain byte
unless it is over 127; slices cannot over-read, so the end of the buffer is checked once, at the end of the message.
Counts are checked against the remaining bytes before anything is allocated for them.

The buffer is `bytes`; where a message contains records and is large, a second variant reads a memoryview, so that the
frame is not copied. Local names: `b` buffer, `m` memoryview of it, `o` offset, `e` end of a value, `n` length just
read, `z0`, `z1`... the object being filled at each depth; capital letters are the helpers and constants in
`SourceWriter.scope`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from struct import Struct
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.codec import wire_formats
from signalbox.protocol.codec.fixed_fields import FixedFields
from signalbox.protocol.codec.layout import FieldLayout, StructLayout
from signalbox.protocol.codec.source_writer import SourceWriter
from signalbox.protocol.codec.wire_formats import FORMAT_LETTERS, LETTER_SIZES
from signalbox.protocol.lenient_utf8 import LENIENT
from signalbox.protocol.varint import read_uvarint

COPY_LIMIT_BYTES = 16384
"""Frames up to this size are copied to `bytes` first: reading `bytes` is faster than reading a memoryview."""

DecodeFunction = Callable[[Any, int], tuple[Any, int]]


def compile_long_decoder(layout: StructLayout, classes: dict[str, Any]) -> DecodeFunction:
    """The same for very long frames: slower, without a copy of the buffer. The function yields between elements."""
    return _DecoderWriter(layout, classes, view=True, yields=True).compile()


def compile_decoder(layout: StructLayout, classes: dict[str, Any]) -> DecodeFunction:
    """A function (buffer, offset) -> (message, offset behind it)."""
    if not _has_records(layout):
        return _DecoderWriter(layout, classes, view=False).compile()
    large: list[DecodeFunction] = []

    def read_large(buffer: Any, offset: int) -> tuple[Any, int]:
        if not large:
            large.append(_DecoderWriter(layout, classes, view=True).compile())
        return large[0](buffer, offset)

    writer = _DecoderWriter(layout, classes, view=False)
    writer.out.scope["read_large"] = read_large
    return writer.compile()


def _has_records(layout: StructLayout) -> bool:
    return any(
        field.type_name == "records" or (field.struct is not None and _has_records(field.struct))
        for field in (*layout.fields, *layout.tagged)
    )


class _DecoderWriter:
    """Generates one function."""

    def __init__(self, layout: StructLayout, classes: dict[str, Any], view: bool, yields: bool = False) -> None:
        self.yields = yields
        self.layout = layout
        self.classes = classes
        self.view = view
        self.out = SourceWriter()
        self.flexible = layout.flexible
        self.fixed = FixedFields(self.out, layout.flexible)
        self.out.scope.update(
            V=wire_formats.long_length,
            VS=wire_formats.long_string_length,
            K=wire_formats.check_count,
            U=read_uvarint,
            X=wire_formats.read_unknown_tags,
            reject_null=wire_formats.reject_null,
            reject_overrun=wire_formats.reject_overrun,
            N=object.__new__,
            NO_RECORDS=memoryview(b""),
            M=map,
            R=repeat,
            YIELD_IF_DUE=yield_if_due,
            LENIENT=LENIENT,
        )

    def compile(self) -> DecodeFunction:
        with self.out.block("def decode(b, o):"):
            self._prologue()
            self.out.line(f"z0 = N({self._class(self.layout)})")
            self._struct(self.layout, 0)
            self.fixed.flush()
            with self.out.block("if o > len(b):"):
                self.out.line("reject_overrun()")
            self.out.line("return z0, o")
        function: DecodeFunction = self.out.run("decode")
        return function

    def _prologue(self) -> None:
        if self.view:
            self.out.line("m = b = memoryview(b)")
        elif _has_records(self.layout):
            with self.out.block("if b.__class__ is not bytes:"):
                self.out.line(f"if len(b) > {COPY_LIMIT_BYTES}: return read_large(b, o)")
                self.out.line("m = memoryview(b)")
                self.out.line("b = bytes(b)")
            self.out.line("else: m = memoryview(b)")
        else:
            self.out.line("if b.__class__ is not bytes: b = bytes(b)")

    def _class(self, layout: StructLayout) -> str:
        return self.out.name(self.classes[layout.name], "C")

    # --- structs ------------------------------------------------------------------------------------

    def _struct(self, layout: StructLayout, depth: int) -> None:
        """Fill `z<depth>`. A pending run may exist before; after a flexible struct it is empty."""
        self._defaults(layout, depth)
        for field in layout.fields:
            self._field(field, f"z{depth}.{field.attribute}", depth)
        if layout.flexible:
            records = "m" if _has_records(layout) else "b"
            call = (
                f"{self._tag_reader(layout)}(b, {records}, o - 1, z{depth})"
                if layout.tagged
                else f"X(b, o - 1, z{depth})"
            )
            self.fixed.add("n", "B")
            self.fixed.flush()
            self.out.line(f"if n: o = {call}")

    def _defaults(self, layout: StructLayout, depth: int) -> None:
        """Fields that the version lacks, tagged fields, unknown tags: assigned first, equal values together."""
        cls = self.classes[layout.name]
        targets: dict[str, list[str]] = {"None": [f"z{depth}.unknown_tags"]}
        for spec in (*layout.absent, *(field.spec for field in layout.tagged)):
            target = f"z{depth}.{spec.attribute}"
            default = cls._defaults[spec.attribute]
            if spec.is_array and default == ():
                self.out.line(f"{target} = []")
            elif default is None or isinstance(default, bool | int) or default == "":
                targets.setdefault(repr(default), []).append(target)
            else:
                targets.setdefault(self.out.name(default, "D"), []).append(target)
        for value, names in targets.items():
            self.out.line(" = ".join([*names, value]))

    def _tag_reader(self, layout: StructLayout) -> str:
        """Name of a function that reads the tagged fields of a struct with known tags, called if there are any."""
        name = self.out.fresh("T")
        outer, self.fixed = self.fixed, FixedFields(self.out, self.flexible)
        with self.out.apart(), self.out.block(f"def {name}(b, m, o, z0):"):
            self.out.line("c, o = U(b, o)")
            self.out.line("K(c, 2, b, o)")
            with self.out.block("for _ in R(None, c):"):
                self.out.line("t, o = U(b, o)")
                self.out.line("s, o = U(b, o)")
                self.out.line("if s > len(b) - o: reject_overrun()")
                self.out.line("end = o + s")
                for field in layout.tagged:
                    with self.out.block(f"if t == {field.spec.tag}:"):
                        self._field(field, f"z0.{field.attribute}", 0)
                        self.fixed.flush()
                        self.out.line("if o != end: reject_overrun()")
                        self.out.line("continue")
                self.out.line("if z0.unknown_tags is None: z0.unknown_tags = {}")
                self.out.line("z0.unknown_tags[t] = bytes(b[o:end])")
                self.out.line("o = end")
            self.out.line("return o")
        self.fixed = outer
        return name

    # --- fields -------------------------------------------------------------------------------------

    def _field(self, field: FieldLayout, target: str, depth: int) -> None:
        if field.is_array:
            self._array(field, target, depth)
        elif field.struct is not None:
            self._nested(field, field.struct, target, depth)
        elif field.type_name in FORMAT_LETTERS:
            self.fixed.add(target, FORMAT_LETTERS[field.type_name])
        else:
            self._variable(field, target)

    def _variable(self, field: FieldLayout, target: str) -> None:
        is_string = field.type_name == "string"
        self.fixed.read_length("h" if is_string else "i", "VS" if is_string else "V")
        value = self._slice(field.type_name)
        if not field.nullable:
            self._reject_null()
            self._take(target, value)
            return
        some = 1 if self.flexible else 0
        with self.out.block(f"if n > {some}:"):
            self._take(target, value)
        empty = {"string": "''", "bytes": "b''", "records": "NO_RECORDS"}[field.type_name]
        self.out.line(f"else: {target} = {empty} if n == {some} else None")

    def _take(self, target: str, value: str) -> None:
        self.out.line("e = o + n - 1" if self.flexible else "e = o + n")
        self.out.line(f"{target} = {value}")
        self.out.line("o = e")

    def _slice(self, type_name: str) -> str:
        if type_name == "records":
            return "m[o:e]"
        if type_name == "bytes":
            return "bytes(b[o:e])" if self.view else "b[o:e]"
        return "str(b[o:e], 'utf-8', LENIENT)" if self.view else "b[o:e].decode('utf-8', LENIENT)"

    def _nested(self, field: FieldLayout, struct: StructLayout, target: str, depth: int) -> None:
        inner = f"z{depth + 1}"
        if not field.nullable:
            self.out.line(f"{target} = {inner} = N({self._class(struct)})")
            self._struct(struct, depth + 1)
            return
        self.fixed.add("n", "b")
        self.fixed.flush()
        self.out.line(f"if n < 0: {target} = None")
        with self.out.block("else:"):
            self.out.line(f"{target} = {inner} = N({self._class(struct)})")
            self._struct(struct, depth + 1)
            self.fixed.flush()

    def _array(self, field: FieldLayout, target: str, depth: int) -> None:
        letter = FORMAT_LETTERS.get(field.type_name, "")
        numbers = field.struct is None and len(letter) == 1
        self.fixed.read_length("i")
        if numbers and not field.nullable:
            self.fixed.leading_array = (target, letter)
            return
        if not field.nullable:
            self._reject_null()
            self._elements(field, target, depth, numbers)
            return
        self.out.line(f"if {'not n' if self.flexible else 'n < 0'}: {target} = None")
        with self.out.block("else:"):
            self._elements(field, target, depth, numbers)

    def _reject_null(self) -> None:
        self.out.line(f"if {'not n' if self.flexible else 'n < 0'}: reject_null()")

    def _elements(self, field: FieldLayout, target: str, depth: int, numbers: bool) -> None:
        if numbers:
            self.fixed.leading_array = (target, FORMAT_LETTERS[field.type_name])
            self.fixed.flush()
            return
        if self.flexible:
            self.out.line("n -= 1")
        with self.out.block("if n:"):
            self.out.line(f"if n > 64: K(n, {_least_element_size(field, self.flexible)}, b, o)")
            if field.struct is not None:
                self._struct_elements(field.struct, target, depth + 1)
            else:
                self._plain_elements(field, target)
        self.out.line(f"else: {target} = []")

    def _plain_elements(self, field: FieldLayout, target: str) -> None:
        """Strings, bytes, uuids: one by one."""
        self.out.line(f"{target} = l = []")
        with self.out.block("for i in range(n):" if self.yields else "for _ in R(None, n):"):
            if self.yields:
                self.out.line("if i & 63 == 63: YIELD_IF_DUE()")
            if field.type_name in FORMAT_LETTERS:
                self.fixed.add("v", FORMAT_LETTERS[field.type_name])
                self.fixed.flush()
            else:
                self._variable(_not_null(field), "v")
            self.out.line("l.append(v)")

    def _struct_elements(self, struct: StructLayout, target: str, depth: int) -> None:
        item, elements = f"z{depth}", f"l{depth}"
        class_name = self._class(struct)
        if self.yields:
            self._yielding_elements(struct, target, depth)
            return
        self.out.line(f"{target} = {elements} = [N({class_name})] if n == 1 else [*M(N, R({class_name}, n))]")
        if not all(field.fixed_size for field in struct.fields):
            self._each(struct, elements, depth)
            return
        # Only fixed fields: many elements with one iter_unpack; the first element with tagged fields ends this loop.
        letters = "".join(FORMAT_LETTERS[field.type_name] for field in struct.fields) + "B" * struct.flexible
        targets = [f"{item}.{field.attribute}" for field in struct.fields] + ["t"] * struct.flexible
        unpack = self.out.name(Struct(f">{letters}").iter_unpack, "I")
        with self.out.block("if n > 3:"):
            self.out.line(f"e = o + {struct.least_size} * n")
            with self.out.block(f"for {item}, ({', '.join(targets)},) in zip({elements}, {unpack}(b[o:e])):"):
                self._defaults(struct, depth)
                if struct.flexible:
                    self.out.line("if t: break")
            self.out.line(f"else: o, {elements} = e, ()")
        self._each(struct, elements, depth)

    def _yielding_elements(self, struct: StructLayout, target: str, depth: int) -> None:
        item, elements, number = f"z{depth}", f"l{depth}", f"i{depth}"
        self.out.line(f"{target} = {elements} = []")
        with self.out.block(f"for {number} in range(n):"):
            self.out.line(f"if {number} & 63 == 63: YIELD_IF_DUE()")
            self.out.line(f"{item} = N({self._class(struct)})")
            self.out.line(f"{elements}.append({item})")
            self._struct(struct, depth)
            self.fixed.flush()

    def _each(self, struct: StructLayout, elements: str, depth: int) -> None:
        with self.out.block(f"for z{depth} in {elements}:"):
            self._struct(struct, depth)
            self.fixed.flush()


def _not_null(field: FieldLayout) -> FieldLayout:
    return FieldLayout(field.spec, field.attribute, field.type_name, False, False, None)


def _least_element_size(field: FieldLayout, flexible: bool) -> int:
    if field.struct is not None:
        return max(field.struct.least_size, 1)
    if field.type_name in FORMAT_LETTERS:
        return LETTER_SIZES[FORMAT_LETTERS[field.type_name]]
    return 1 if flexible else 2
