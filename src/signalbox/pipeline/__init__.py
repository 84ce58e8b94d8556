"""Topics become tables: Spark Structured Streaming, driven from PySpark, as an ordinary client of any Kafka cluster.

The only room that may import pyspark, and it does so inside functions' modules that the light doors never load:
importing this package alone costs nothing. What the command line and the demo call is in `commands.py`:
`run_tables`, `run_audit`, `fetch_jars`, `read_figures`, with the options of `options.py`.
"""
