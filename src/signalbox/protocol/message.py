"""Builds the message classes from schema tables.

One class per message for all versions: slots, a keyword constructor with Kafka's defaults, plain `==`. Structs inside a
message are attributes of its class under Kafka's names. `decode` and `encode` use functions compiled on first use
(`codec/functions.py`); decoding creates an object without calling the constructor.

A field that the decoded version lacks has its default. The default of a struct field is one shared, frozen instance:
assign a new struct instead of changing it.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, dataclass_transform

from signalbox.common.cooperative_task import clear, yield_if_due
from signalbox.protocol.codec.functions import Codec
from signalbox.protocol.schema import FieldSpec, MessageSpec, StructSpec, VersionRange
from signalbox.protocol.schema_text import parse_message

Buffer: TypeAlias = "bytes | bytearray | memoryview"
Records: TypeAlias = "bytes | bytearray | memoryview | Sized"
"""Value of a `records` field: a memoryview slice when decoded, any object with a length to encode."""


@dataclass_transform(eq_default=False, kw_only_default=True)
class Struct:
    """Base class of all generated classes. `_attributes` are the field names in schema order. For type checkers a
    generated class is a dataclass with the fields in the `.pyi` of its file (`stubs.py`)."""

    __slots__ = ()
    unknown_tags: dict[int, bytes] | None
    _attributes: tuple[str, ...] = ()
    _public: type
    _spec: StructSpec
    _defaults: dict[str, Any]

    def __init__(self, **fields: Any) -> None:
        """The real constructor is generated on the first call: most classes are only decoded."""
        _compile_constructor(type(self)._public)
        self.__init__(**fields)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or other._public is not self._public:
            return NotImplemented
        if (self.unknown_tags or None) != (other.unknown_tags or None):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self._attributes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = (*self._attributes, "unknown_tags") if self.unknown_tags else self._attributes
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self._public.__qualname__}({fields})"


class Message(Struct):
    """A whole message: it also has its versions and the methods that read and write it."""

    __slots__ = ()
    schema: ClassVar[MessageSpec]
    api_key: ClassVar[int | None]
    min_version: ClassVar[int]
    max_version: ClassVar[int]
    flexible_versions: ClassVar[VersionRange]
    codec: ClassVar[Codec]

    if TYPE_CHECKING:  # the codec's own function takes its place: `message`

        @classmethod
        def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self:
            """The message; DecodeError if it does not fill the rest of the buffer."""

    @classmethod
    def decode_long(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Any, int]:
        """`decode_prefix` inside a cooperative task (`common/cooperative_task.py`). Yields."""
        return cls.codec.decode_long(buffer, version, offset)

    def encode_long(self, version: int) -> list[Any]:
        """`encode_chunks` inside a cooperative task. Yields."""
        return self.codec.encode_long(self, version)

    def release_incrementally(self) -> None:
        """Free a large message step by step, inside a cooperative task: freeing takes as long as building. Yields."""
        _release_incrementally(self)

    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]:
        """Read a message that may be followed by other bytes; also returns the offset behind it."""
        return cls.codec.decode_prefix(buffer, version, offset)

    def encode(self, version: int) -> bytes:
        """All bytes joined. Raises EncodeError naming the field that this version cannot carry."""
        return self.codec.encode(self, version)

    def encode_chunks(self, version: int) -> list[Any]:
        """As `encode`, but `records` values are chunks of their own, unchanged."""
        return self.codec.encode_chunks(self, version)


def _release_incrementally(struct: Struct) -> None:
    """Yields."""
    for field in struct._spec.fields:
        if not field.is_array or not field.is_struct:
            continue
        values = getattr(struct, field.attribute)
        if isinstance(values, list) and values:
            if isinstance(values[0], Struct) and any(
                field.is_array and field.is_struct for field in values[0]._spec.fields
            ):
                for value in values:
                    _release_incrementally(value)
                    yield_if_due()
            clear(values)


def message(module: str, text: str) -> Any:
    """The class for one schema table; `module` is the `__name__` of the file that contains it."""
    spec = parse_message(text)
    root = _make_class(spec.root, spec.name, Message, module)
    classes = {spec.name: root}
    for struct in spec.structs.values():
        inner = _make_class(struct, f"{spec.name}.{struct.name}", Struct, module)
        classes[struct.name] = inner
        setattr(root, struct.name, inner)
    for name in (*spec.structs, spec.name):
        _set_defaults(classes[name], classes)
    root.schema = spec
    root.api_key = spec.api_key
    root.min_version = spec.versions.lowest
    root.max_version = spec.versions.highest
    root.flexible_versions = spec.flexible
    root.codec = Codec(spec, classes)
    root.decode = staticmethod(root.codec.decode)
    return root


def _make_class(spec: StructSpec, qualname: str, base: type, module: str) -> Any:
    attributes = tuple(field.attribute for field in spec.fields)
    namespace = {
        "__slots__": (*attributes, "unknown_tags"),
        "__module__": module,
        "__qualname__": qualname,
        "_attributes": attributes,
        "_spec": spec,
    }
    cls: Any = type(spec.name, (base,), namespace)
    cls._public = cls
    return cls


def _set_defaults(cls: Any, classes: dict[str, Any]) -> None:
    cls._defaults = {
        field.attribute: _frozen_default(classes[field.type_name]) if _defaults_to_struct(field) else field.default
        for field in cls._spec.fields
    }


def _defaults_to_struct(field: FieldSpec) -> bool:
    return field.is_struct and not field.is_array and field.default is not None


def _reject_change(self: Any, name: str, value: object) -> None:
    raise AttributeError(f"the default {self._public.__qualname__} is shared: assign a new one to change {name}")


def _rebuild(self: Any) -> tuple[type, tuple[()]]:
    return self._public, ()


def _frozen_default(public: Any) -> Any:
    """The one shared instance that is the default of every field of this struct type. A copy of it can be changed."""
    if "_frozen" not in public.__dict__:
        if "_defaults" not in public.__dict__:
            raise ValueError(f"{public.__qualname__} is used as a default before it is described")
        frozen_class: Any = type(public.__name__, (public,), {"__slots__": ()})
        instance = frozen_class()
        frozen_class.__setattr__ = _reject_change
        frozen_class.__reduce__ = _rebuild
        public._frozen = instance
    return public._frozen


def _compile_constructor(public: Any) -> None:
    """Generate `__init__`: one keyword per field costs a third of a loop over the fields."""
    scope: dict[str, Any] = {"_UNSET": object()}
    parameters: list[str] = []
    stores: list[str] = []
    for field in public._spec.fields:
        name = field.attribute
        if field.is_array and field.default == ():
            parameters.append(f"{name}=_UNSET")
            stores.append(f" self.{name} = [] if {name} is _UNSET else {name}")
        else:
            scope[f"_default_{name}"] = public._defaults[name]
            parameters.append(f"{name}=_default_{name}")
            stores.append(f" self.{name} = {name}")
    stores.append(" self.unknown_tags = unknown_tags")
    lines = [f"def __init__(self, *, {', '.join([*parameters, 'unknown_tags=None'])}):", *stores]
    exec("\n".join(lines), scope)
    public.__init__ = scope["__init__"]
