# Every target does its own set-up in .venv: Python 3.11 or newer, pip and make are all it needs, and nothing outside
# this folder is touched. A second run finds the set-up done.

PYTHON ?= python3
JOBS ?= 2
PINS := .ci/constraints.txt
PIP := .venv/bin/python -m pip --quiet --disable-pip-version-check
INSTALL := $(PIP) install --constraint $(PINS)
PYTEST := .venv/bin/python -P -m pytest -n $(JOBS)

.PHONY: install dev demo test contract system soak lint supply cover bench profile fuzz mutants pictures

install: .venv/.ready

dev: .venv/.ready-dev

# Prints an address to open; `make demo ARGS='--say hello'` needs no browser.
demo: .venv/.ready
	.venv/bin/pi-connector demo $(ARGS)

test: .venv/.ready-dev
	$(PYTEST) tests --ignore=tests/contract --ignore=tests/system --ignore=tests/e2e/long $(ARGS)

# The real pi, which brings its own Node, and discord.js against the fake Discord; needs npm. With PI_VERSION=… another pi
# is installed beside the pinned one and looked at: how it differs is printed, and fails nothing.
contract: .venv/.ready-dev
	.ci/pi-install
	.ci/discord-js-install
	REQUIRE_PI=1 REQUIRE_DISCORD_JS=1 $(PYTEST) tests/contract $(ARGS)

# What takes long: crashes, disks and clocks, a booted systemd, the demo in Chromium where there is one, long lives.
system: .venv/.ready-dev
	$(PYTEST) tests/system tests/e2e/long $(ARGS)

# Which lines the tests never reach, by hand.
cover: .venv/.ready-dev
	.venv/bin/coverage run --source=connector,engine -m pytest -p no:randomly tests/engine tests/connector tests/machine
	.venv/bin/coverage report --skip-covered --show-missing

# A million steps of the models, then 20,000 messages over 50 lanes among kills and faults: counts, and six zeros.
# `make soak ARGS='--minutes 2'` takes about that long; a failure prints its seed.
soak: .venv/.ready-dev
	.venv/bin/python -P -m tests.soak.run $(ARGS)

# Figures as ratios with their counterparts; needs a quiet machine and some half an hour, judges medians. It needs pi:
# `make contract` (or .ci/pi-install) before. `make bench ARGS=--readme` then puts the tables into README.
bench: .venv/.ready-dev
	.venv/bin/python -m tests.bench.run $(ARGS)

# Where the time goes that is left: `make profile ARGS='deltas messages relay'`; the last one needs pi.
profile: .venv/.ready-dev
	.venv/bin/python -m tests.bench.profile $(ARGS)

# The targets of tests/fuzz with FUZZ_TIMES times the examples of `make test`; SEED=… repeats a run.
# Once the examples are some 25 to 30 s of CPU, so 40 times should be 10 to 15 minutes of two cores that do nothing else.
FUZZ_TIMES ?= 40
SEED ?= $(shell date +%s)
fuzz: .venv/.ready-dev
	@echo "seed $(SEED), $(FUZZ_TIMES) times the examples"
	FUZZ_TIMES=$(FUZZ_TIMES) $(PYTEST) tests/fuzz --hypothesis-seed=$(SEED) $(ARGS)

# 500 mutants of the decisions against their own tests; `ARGS='--seed 7'` draws the same ones again.
mutants: .venv/.ready-dev
	PYTHONHASHSEED=0 .venv/bin/python -m tests.mutation.run $(ARGS)

# The README's pictures, from runs: a conversation drawn, and the demo's page photographed by its tests, which needs
# Chromium (.ci/browser-install).
pictures: .venv/.ready-dev
	.venv/bin/python -m fakes.pictures
	PICTURES=fakes/page/pictures REQUIRE_BROWSER=1 .venv/bin/python -P -m pytest tests/system/browser $(ARGS)

lint: .venv/.ready-dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

# Before a release, by hand: the audit, wheels and types for each Python, builds that repeat, and (not with ARGS=--here)
# the tests under a newer Debian's Python.
supply: .venv/.ready-dev
	.ci/supply $(ARGS)

# pip itself is pinned first: the one that comes with Python 3.11 knows neither dependency groups nor constraints of a
# build. Where Python has no ensurepip (Debian without python3-venv), the pip of the system puts pip into .venv.
.venv/.pip: $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=…")'
	$(PYTHON) -m venv .venv || { $(PYTHON) -m venv --without-pip --clear .venv \
		&& $(PYTHON) -m pip --python .venv/bin/python install --quiet --constraint $(PINS) pip; }
	$(INSTALL) --upgrade pip
	@touch $@

.venv/.ready: .venv/.pip pyproject.toml $(PINS)
	$(INSTALL) --build-constraint $(PINS) --editable '.[demo]'
	@touch $@

.venv/.ready-dev: .venv/.ready
	$(INSTALL) --group dev
	@touch $@
