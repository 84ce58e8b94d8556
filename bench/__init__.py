"""Benchmarks of the cost of a request: ours against a C reference, and against Apache Kafka itself.

`python -m bench` prints the table of ratios to the C reference, `python -m bench.kafka` the pairs with Apache Kafka.
Costs are processor time of the broker's process, since the machines this runs on are shared. The sides run in turn, in
short rounds, and the medians are compared. Nothing here is part of the installed package.
"""
