"""Records → columns, and bad records apart with a reason. JSON is parsed by native Spark expressions, no row passes
through Python; other formats, keys and headers are decoded first (`decode_records.py`).

A record's value is parsed once into `_parsed`. It is good when it is valid UTF-8, one JSON object, every field fits
its declared type and every NOT NULL field is there. A record without a value (a tombstone) is a row of nulls unless the
shape says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.record_decoder import REASON
from signalbox.pipeline.source_jars import RECORD_COLUMNS
from signalbox.pipeline.tables.decode_records import decode_parts, decoded_columns, part_struct

CORRUPT = "_corrupt_record"
LATE = "_late"  # the reason of a late row (`event_time/late_rows.py`)
DEAD_COLUMNS = (*RECORD_COLUMNS, "reason")


@dataclass(frozen=True, slots=True)
class RecordShape:
    """How records become rows. `fields`: the fields of JSON that Spark reads; without them and without `parts` the
    value stays raw (nothing can be bad).

    `kept`: the record's own columns in front of the fields. `rejected`: a further rule, a SQL expression over
    `_parsed` that gives a reason or null. `takes_tombstones`: whether a record without a value is a row of nulls.
    `parts`: the parts of a record that are decoded by Python. `needs_key`: whether a record without a key is bad.
    `has_watermark`: whether a row can be late.
    """

    fields: StructType | None = None
    kept: tuple[str, ...] = RECORD_COLUMNS
    rejected: str | None = None
    takes_tombstones: bool = True
    parts: tuple[PartSpec, ...] = ()
    needs_key: bool = False
    has_watermark: bool = False

    @property
    def can_reject(self) -> bool:
        """Whether a record can be bad."""
        return self.fields is not None or bool(self.parts) or self.needs_key or self.has_watermark

    def value_fields(self) -> StructType:
        """The fields of the value, read by Spark or decoded by Python."""
        if self.fields is not None:
            return self.fields
        return next((part_struct(spec) for spec in self.parts if spec.part == "value"), StructType([]))

    def output_name(self, field: str) -> str:
        """The table's column for a field: its own name, `value_<name>` where the record has a column of that name."""
        return f"value_{field}" if field.lower() in self.kept else field


def _text() -> Column:
    return F.col("value").cast("string")


def _trimmed() -> Column:
    return F.btrim(_text(), F.lit(" \t\r\n"))


def _fits(shape: RecordShape) -> Column:
    """True if a record that Spark parsed is good; never null."""
    assert shape.fields is not None
    is_json_object = F.is_valid_utf8(_text()) & _trimmed().startswith("{") & _trimmed().endswith("}")
    fits = is_json_object & F.col(f"_parsed.{CORRUPT}").isNull()
    for field in shape.fields.fields:
        if not field.nullable:
            fits = fits & F.col("_parsed").getField(field.name).isNotNull()
    if shape.rejected:
        fits = fits & F.expr(shape.rejected).isNull()
    without_value = F.col("value").isNull() & F.lit(shape.takes_tombstones)
    return without_value | F.coalesce(fits, F.lit(False))


def parsed(records: DataFrame, shape: RecordShape) -> DataFrame:
    """The records with `_parsed` and `_good`. Cache the result: `good_rows` and `dead_rows` are computed from it."""
    assert shape.can_reject
    frame = decode_parts(records, shape.parts) if shape.parts else records
    if shape.has_watermark:
        frame = frame.withColumn(LATE, F.lit(None).cast("string"))
    decoded = F.col(REASON).isNull() if shape.parts else F.lit(True)
    if shape.needs_key:
        decoded = decoded & F.col("key").isNotNull()
    if shape.fields is None:
        return frame.withColumn("_good", decoded)
    fields = [StructField(field.name, field.dataType, True) for field in shape.fields.fields]
    schema = StructType([*fields, StructField(CORRUPT, StringType(), True)])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    frame = frame.withColumn("_parsed", F.from_json(_text(), schema, options))
    return frame.withColumn("_good", decoded & _fits(shape))


def table_columns(shape: RecordShape) -> dict[str, Column]:
    """The columns of the table, computed from `parsed`."""
    columns = {name: F.col(name) for name in shape.kept}
    for decoded in decoded_columns(shape.parts):
        columns[decoded.name] = F.col(decoded.source).getField(decoded.field)
    for field in shape.value_fields().fields:
        columns[shape.output_name(field.name)] = F.col("_parsed").getField(field.name)
    return columns


def good_rows(frame: DataFrame, shape: RecordShape) -> DataFrame:
    """The rows of the table, from `parsed` (or straight from the records when the value stays raw)."""
    good = frame.filter("_good") if shape.can_reject else frame
    return good.select(*(column.alias(name) for name, column in table_columns(shape).items()))


def _reason(shape: RecordShape) -> Column:
    """The reason why a record is bad: the first failed check, the most basic check first."""
    decoding = F.col(REASON) if shape.parts else F.lit(None).cast("string")
    if shape.needs_key:
        decoding = F.coalesce(F.when(F.col("key").isNull(), "no_key"), decoding)
    if shape.fields is None:
        return decoding
    text = _text()
    reason = F.when(decoding.isNotNull(), decoding)
    reason = reason.when(F.col("value").isNull(), "no_value")
    reason = reason.when(~F.is_valid_utf8(text), "not_utf8")
    reason = reason.when(F.try_parse_json(text).isNull(), "not_json")
    reason = reason.when(~_trimmed().startswith("{"), "not_an_object")
    reason = reason.when(~_trimmed().endswith("}"), "trailing_text")
    for field in shape.fields.fields:
        value = F.col("_parsed").getField(field.name)
        there = F.get_json_object(text, f"$['{field.name}']").isNotNull()
        reason = reason.when(there & value.isNull(), f"type:{field.name}")
        if not field.nullable:
            reason = reason.when(value.isNull(), f"missing:{field.name}")
    if shape.rejected:
        reason = reason.when(F.expr(shape.rejected).isNotNull(), F.expr(shape.rejected))
    return reason.otherwise("does_not_fit")


def dead_rows(frame: DataFrame, shape: RecordShape) -> DataFrame:
    """The bad records, complete, with their reason: DEAD_COLUMNS."""
    reason = F.coalesce(F.col(LATE), _reason(shape)) if shape.has_watermark else _reason(shape)
    return frame.filter("NOT _good").select(*RECORD_COLUMNS, reason.alias("reason"))
