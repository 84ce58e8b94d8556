"""Options and commands of the pipeline's tables: formats, rejected records, maintenance."""
