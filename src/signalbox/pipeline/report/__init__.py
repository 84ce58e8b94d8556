"""The report of the audit trail, from its tables alone: no broker, no Spark, no Java."""
