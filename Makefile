# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The tests start some thousand processes: without bytecode on disk each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: env demo test lint unit system wire-diff interop-security bench bench-planes bench-kafka bench-admin bench-sizing bench-transactions bench-compaction bench-pipeline ecosystem bench-fixture bench-misroute trace-leadership doctor-stories docs tour report-pictures chaos fuzz words mutants clean pipeline-security pipeline-page pipeline-tests spark pages
.PHONY: dist dist-test pythons
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 22

env: $(STAMP)  ## make the environment (.venv) from the locked versions

$(STAMP): requirements/dev.txt pyproject.toml
	@echo "[1/3] creating $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "[2/3] installing locked packages (a few minutes the first time; pyspark alone is 400 MB)"
	@$(BIN)/python -m pip install --quiet --progress-bar off --require-hashes -r requirements/dev.txt
	@echo "[3/3] installing signalbox"
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes signalbox  # the name of the distribution before decision 0051
	@$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

demo: $(STAMP)  ## the main use case on real data; KEEP=1 leaves the cluster up
	$(BIN)/signalbox demo $(if $(KEEP),--keep)

lint: $(STAMP)  ## format, lint, types, import contracts
	$(BIN)/ruff format --check src tools tests bench examples deploy
	$(BIN)/ruff check src tools tests bench examples deploy
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/mypy bench
	$(BIN)/mypy tests
	$(BIN)/lint-imports

WORKERS ?= $(shell nproc)
# The tests of `system` wait for processes most of the time: twice as many workers, with 4 GiB for each.
SYSTEM_WORKERS ?= $(if $(filter file,$(origin WORKERS)),$(MOST_WORKERS),$(WORKERS))
MOST_WORKERS = $(shell awk -v cores=$$(nproc) '/^MemTotal/ {most = int($$2 / 4194304); print most < 2 * cores ? (most > 1 ? most : 1) : 2 * cores}' /proc/meminfo)
PARALLEL = --dist loadscope --no-loadscope-reorder

# The file system in memory, if it has 2 GB free: on a disk a fifth of the time of `unit` is writing and fsync.
MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk '$$1 > 2000000 && NR == 2 {print "/dev/shm"}')

unit: $(STAMP)  ## the tests that need nothing but Python: WORKERS=n
	$(if $(MEMORY),TMPDIR=$(MEMORY) )$(BIN)/python -m pytest -n $(WORKERS) $(PARALLEL) -o tmp_path_retention_policy=failed tests --ignore=tests/system -m "not system"

system: $(STAMP)  ## real clients of other languages, killed processes; fetches what it needs: WORKERS=n
	$(BIN)/python -m pytest -n $(SYSTEM_WORKERS) $(PARALLEL) tests/system tests/tools tests/testing --ignore=tests/system/pipeline -m system

pipeline-tests: spark  ## everything that starts Spark: formats, tables and audit trail in both profiles; killed drivers, a Spark cluster, S3 (half an hour): WORKERS=n
	$(BIN)/python -m pytest -n $(SYSTEM_WORKERS) $(PARALLEL) tests/system/pipeline tests/pipeline -m system

spark: $(STAMP)  ## what Spark needs for its start: jars, and the archive of its classes
	$(BIN)/signalbox pipeline jars

wire-diff: $(STAMP)  ## some 700 questions to ours and to Apache Kafka 4.4.0, answers compared field by field (needs mvn and Java): SHOW=1
	$(BIN)/python -m tests.system.wire_diff $(if $(SHOW),--show)

interop-security: $(STAMP)  ## every security protocol and mechanism with every real client; PAGE=docs/interop.md renews the page
	$(BIN)/python -m tests.system.interop_security $(PAGE)

pipeline-security: $(STAMP)  ## Spark reads through TLS, client certificates and each login, from ours and from Apache Kafka 4.4, in both profiles (6 minutes; needs mvn and Java)
	$(BIN)/python -m pytest tests/system/pipeline/secured_runs.py

pipeline-page: $(STAMP)  ## every command of docs/pipeline.md, in its order (Spark: some minutes)
	$(BIN)/python -m pytest tests/system/pipeline/page_runs.py

ecosystem: $(STAMP)  ## exactly-once programs of other projects while brokers are killed (needs mvn and Java): ONLY=name
	$(BIN)/python -m tests.system.ecosystem $(ONLY)

pages: $(STAMP)  ## renders the pages of docs/ that come from tables
	$(BIN)/python -m signalbox.broker.conformance
	$(BIN)/python -m signalbox.server.reference
	$(BIN)/python -m signalbox.server.monitoring
	$(BIN)/python -m signalbox.cli.shell.command_page
	$(BIN)/python -m signalbox.doctor.pages
	$(BIN)/python -m bench.measured

test: $(STAMP)  ## all checks: lint, unit, system
	$(MAKE) lint
	$(MAKE) unit
	$(MAKE) system

DURATION ?= 120

chaos: $(STAMP)  ## brokers, network and store hurt under load: DURATION=120 (seconds) SEED=n STORE=zookeeper BANK=1 (transactions too) SAVE=1
	$(BIN)/python -m tools.chaos --duration $(DURATION) $(if $(SEED),--seed $(SEED)) $(if $(STORE),--store $(STORE)) $(if $(BANK),--bank) $(if $(SAVE),--save)

bench: $(STAMP)  ## what requests cost, beside a C broker built here or beside another commit (3 minutes; needs gcc): BASE=commit QUICK=1 SAVE=1
	$(BIN)/python -m bench $(if $(BASE),--base $(BASE)) $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-planes: $(STAMP)  ## the control plane and light requests beside a busy data plane, five rounds in turn with Apache Kafka 4.4 (8 minutes): QUICK=1 ZOOKEEPER=1 SAVE=1
	$(BIN)/python -m bench.planes $(if $(QUICK),--quick) $(if $(SAVE),--save) $(if $(ZOOKEEPER),--zookeeper)

bench-kafka: $(STAMP)  ## the same loads against Apache Kafka 4.4.0 and ours, five rounds in turn (6 minutes; needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.kafka $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-admin: $(STAMP)  ## changes of metadata, many partitions, failover beside Apache Kafka 4.4 and 3.9 (needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.admin $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-transactions: $(STAMP)  ## transactions and fetches of committed records beside Apache Kafka 4.4 (5 minutes; needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.transactions $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-compaction: $(STAMP)  ## processor time of the log cleaner beside Apache Kafka 4.4, produce beside it (5 minutes; needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.compaction $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-pipeline: $(STAMP)  ## a million JSON records into Delta, from ours and from Apache Kafka 4.4, both profiles, beside a bare Spark job (40 minutes; needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.pipeline $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-misroute: $(STAMP)  ## 200 misroutes of 200 ms, our client and the Java client 4.4.0; the doctor's time, and that of a first test (8 minutes; needs mvn and Java): QUICK=1 SAVE=1
	$(BIN)/python -m bench.misroute $(if $(QUICK),--quick) $(if $(SAVE),--save)

bench-fixture: $(STAMP)  ## from the request for a cluster of the test kit to its first acknowledged record; printed only
	$(BIN)/python -m bench.fixture

CHANGES ?= 100

trace-leadership: $(STAMP)  ## where the milliseconds of a change of leadership go beside load: CHANGES=n
	$(BIN)/python -m bench.trace_leadership --changes $(CHANGES)

bench-sizing: $(STAMP)  ## memory and processor time of 3, 6 and 12 brokers on this host (2 minutes): QUICK=1 SAVE=1
	$(BIN)/python -m bench.sizing $(if $(QUICK),--quick) $(if $(SAVE),--save)

doctor-stories: $(STAMP)  ## misrouted connections, each built with the switchboard: expected and reported codes of the doctor
	$(BIN)/python -m tests.doctor.stories

tour: $(STAMP)  ## the README and the first hours as their readers live them, outputs compared (Spark: some minutes): TOUR=python-developer or a page
	$(BIN)/python -m tools.tour $(TOUR)

report-pictures: $(STAMP)  ## the HTML reports and drawings in Chromium, narrow and wide, light and dark: no text leaves its box
	$(BIN)/python -m tools.report_pictures

DOCS := build/docs-env

docs: $(DOCS)/.installed  ## the documentation as a site with search, in build/site; a broken link or anchor fails
	$(DOCS)/bin/python -m tools.site build/site

# An environment of its own, 120 MB: who only wants the pages needs no Spark.
$(DOCS)/.installed: requirements/docs.txt
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --progress-bar off --require-hashes -r requirements/docs.txt
	@touch $@

MUTANTS ?= 1500

mutants: $(STAMP)  ## small wrong changes of the decisions, and whether the tests notice them (half an hour): MUTANTS=n SEED=n
	$(BIN)/python -m tools.mutants --mutants $(MUTANTS) $(if $(SEED),--seed $(SEED))

words: $(STAMP)  ## words of names, logs, keys, metrics, help and docs that are neither plain English nor explained
	$(BIN)/python -m tools.words

FRAMES ?= 1000000

fuzz: $(STAMP)  ## malformed requests by the million against real brokers: FRAMES=1000000 SEED=n
	$(BIN)/python -m tools.fuzz --frames $(FRAMES) $(if $(SEED),--seed $(SEED))

DIST_TOOLS := build/dist-tools

$(DIST_TOOLS)/.installed: requirements/dist.txt
	@$(PYTHON) -m venv $(DIST_TOOLS)
	@$(DIST_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dist.txt
	@touch $@

dist: $(DIST_TOOLS)/.installed  ## the wheel and the source distribution, in dist/; needs Python and its packages only
	@rm -rf dist
	@$(DIST_TOOLS)/bin/hatchling build -d dist

dist-test: $(STAMP)  ## the wheel with each extra in empty environments of each Python on this machine, the examples, Spark (15 minutes)
	$(BIN)/python -m tests.system.distribution

# `make unit` for one interpreter is `make unit PYTHON=python3.12 VENV=build/python-3.12`.
pythons: $(STAMP)  ## make unit with each supported Python of this machine, in environments of their own
	@$(BIN)/python -m tests.system.distribution.interpreters | while read -r version path; do \
	  echo "== Python $$version"; \
	  $(MAKE) --no-print-directory unit PYTHON="$$path" VENV="build/python-$$version" </dev/null || exit 1; done

clean:  ## remove what was built
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
