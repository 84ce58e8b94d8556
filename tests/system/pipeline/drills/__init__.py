"""`make pipeline-drills`: drivers that are killed at each step, runs on a Spark cluster and in an object store.

Some minutes of Spark, so they are not part of `make system`; `.ci/run` runs both."""
