"""Topics become tables: Spark Structured Streaming, driven from PySpark, as an ordinary client of any Kafka cluster.

The only package that may import pyspark. Only modules that are imported inside functions do so, thus importing this
package alone loads neither Spark nor Arrow. The public API is in `commands.py`: `run_tables`, `run_audit`,
`fetch_jars`, `read_figures`, with the options of `options.py`. The command line and the demo call it.
"""
