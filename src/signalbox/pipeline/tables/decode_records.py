"""The decoded parts of records as columns of a frame: Python decoders over Arrow batches, in Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StringType, StructField, StructType

from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.record_decoder import REASON, RecordDecoder, part_column


@dataclass(frozen=True, slots=True)
class DecodedColumn:
    """A column of the table from a decoded part: `source` is the column of the part's struct, `field` its field."""

    source: str
    field: str
    name: str
    nullable: bool


def part_struct(spec: PartSpec) -> StructType:
    """The struct of a part's columns, all nullable: a rejected record has nulls."""
    fields = [{**field, "nullable": True} for field in spec.columns]
    return StructType.fromJson({"type": "struct", "fields": fields})


def decoded_columns(specs: tuple[PartSpec, ...]) -> list[DecodedColumn]:
    """The table's columns of keys and headers: `key_<field>`, `header_<name>`. The value's are the shape's business."""
    columns = []
    for spec in specs:
        if spec.part == "value":
            continue
        for field in spec.columns:
            name = f"key_{field['name']}" if spec.part == "key" else spec.part.replace(":", "_", 1)
            columns.append(DecodedColumn(part_column(spec.part), field["name"], name, field["nullable"]))
    return columns


def _decoding(
    specs: tuple[PartSpec, ...], structs: dict[str, pa.DataType]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return RecordDecoder(specs, structs).batches(batches)

    return decode


def decode_parts(records: DataFrame, specs: tuple[PartSpec, ...]) -> DataFrame:
    """The records with a struct per part and the reason of rejected ones (`record_decoder.py`)."""
    spark_types: dict[str, DataType] = {spec.part: part_struct(spec) for spec in specs}
    arrow_types = {part: to_arrow_type(spark_type, timezone="UTC") for part, spark_type in spark_types.items()}
    fields = [StructField(part_column(part), spark_type, True) for part, spark_type in spark_types.items()]
    schema = StructType([*records.schema.fields, *fields, StructField(REASON, StringType(), True)])
    return records.mapInArrow(_decoding(specs, arrow_types), schema)
