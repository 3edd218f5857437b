# Two commands do everything on a machine that has Python and make: `make demo` and `make test`.
# The environment is .venv; stamps in it keep repeated runs quick. All paths are relative, so that a checkout may be at any
# path; only VENV, which is part of names of targets, may not have a space in it.

PYTHON ?= python3
VENV   ?= .venv
OUT    ?= out
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)
PYTEST_FLAGS ?=
# two more than cores: many tests wait, for clocks, sockets and a browser
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 1) + 2)

ifeq ($(UV),)
MAKE_VENV = $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
PIP       = $(BIN)/python -m pip install --quiet --disable-pip-version-check
else
MAKE_VENV = "$(UV)" venv --quiet --python $(PYTHON) $(VENV)
PIP       = "$(UV)" pip install --quiet --python $(BIN)/python
endif

.PHONY: help demo test lint types rooms unit thorough bench figures docs clean
.DELETE_ON_ERROR:

help:
	@echo "make demo   install, then send an arm through a world it does not know (report in $(OUT)/report.html); OPEN=1 shows it"
	@echo "make test   install, lint, types, import contract, tests"
	@echo "make thorough  many more cases of what the tests state on a few"
	@echo "make coverage  the tests again, with the lines that they reach"
	@echo "make bench  install the peers, measure against them, write $(OUT)/bench.json"
	@echo "make bench-campaigns  measure what campaigns cost, put it into their page"
	@echo "make figures  put the figures of $(OUT)/bench.json into the documentation"
	@echo "make vendor  bundle three.js and uPlot anew (needs Node); PIN=1 accepts other sums"
	@echo "make trial-embedded  exported C on a Cortex-M7 and an A53 (qemu), FMUs for other machines; installs compilers and emulators"
	@echo "make release VERSION=0.2.0 URL=https://…  version, changelog, tag, wheel, sdist, tried in fresh environments; DRY=1 keeps the checkout"
	@echo "make docs   build the documentation into site/"
	@echo "make clean  remove everything that was built"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Armwright needs Python 3.11 or newer; set PYTHON=...")'
	$(MAKE_VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml Makefile
	$(PIP) -e '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml Makefile
	$(PIP) -e '.[dev,docs,film,symbolic,check,log,time,plan,scale,studio,mesh,xacro,table,learn]'
	-$(PIP) -e '.[browser]'
	-$(PIP) -e '.[fmi]'
	-$(PIP) -e '.[lab-clients]'  # other people's programs; where one has no wheel, its tests say so and are skipped
	@touch $@

$(VENV)/.peers: $(VENV)/.made pyproject.toml Makefile
	$(PIP) -e '.[plot,check]'
	-$(PIP) casadi
	-$(PIP) roboticstoolbox-python
	-$(PIP) pin-pink 'qpsolvers[quadprog]'
	-$(PIP) crocoddyl
	-$(PIP) -e '.[learn,jax]'
	-$(PIP) mujoco-mjx
	-if command -v npm >/dev/null; then npm install --silent --ignore-scripts --no-audit --no-fund --prefix $(VENV)/node \
	  @mujoco/mujoco; else echo "no npm: MuJoCo's WebAssembly is not measured"; fi
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml Makefile
	$(PIP) -e '.[docs]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/armwright run collision --out "$(OUT)" $(if $(OPEN),--open)

# mypy wants one core for a minute, so it runs beside all else and is heard at the end
test: tools $(VENV)/.dev
	@$(MAKE) --no-print-directory types >$(VENV)/.types 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory lint && $(MAKE) --no-print-directory rooms && $(MAKE) --no-print-directory unit; tests=$$?; \
	wait $$types; typed=$$?; cat $(VENV)/.types; exit $$((tests + typed))

# programs of the system that some tests drive (a browser, Octave); without them those tests say so and are skipped
.PHONY: tools coverage
tools:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  for program in chromium:chromium octave-cli:octave; do \
	    command -v $${program%%:*} >/dev/null || missing="$$missing $${program##*:}"; done; \
	  [ -z "$$missing" ] || { apt-get update -q >/dev/null; \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing >/dev/null; } || \
	    echo "could not install:$$missing"; fi

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

rooms: $(VENV)/.dev
	$(BIN)/lint-imports

# The first look at the tests compiles them all, with what pytest adds to their asserts: once here, not in every worker.
unit: $(VENV)/.dev
	@$(BIN)/pytest --collect-only -qq $(PYTEST_FLAGS) >/dev/null 2>&1 || true
	MPLBACKEND=Agg $(BIN)/pytest -n $(WORKERS) --dist worksteal $(PYTEST_FLAGS)

thorough: $(VENV)/.dev
	MPLBACKEND=Agg $(BIN)/pytest -n $(WORKERS) --dist worksteal -m thorough $(PYTEST_FLAGS)

coverage: $(VENV)/.dev
	MPLBACKEND=Agg $(BIN)/pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term $(PYTEST_FLAGS)

bench: $(VENV)/.peers
	@mkdir -p "$(OUT)"
	$(BIN)/armwright bench --out "$(OUT)/bench.json"

# minutes of CPU of whole campaigns, by every engine; nothing else should run meanwhile
.PHONY: bench-campaigns
bench-campaigns: $(VENV)/.dev
	@mkdir -p "$(OUT)"
	$(BIN)/armwright bench --parts campaigns --out "$(OUT)/campaigns.json"
	$(BIN)/python -m armwright.bench.campaign_costs "$(OUT)/campaigns.json" docs/howto/campaigns.md

figures: $(VENV)/.docs
	$(BIN)/python -m armwright.bench.bench_figures "$(OUT)/bench.json" docs/speed.md
	$(BIN)/python docs/make_pictures.py speed

# verdicts, errata and figures of the documents' pages, from the studies themselves
.PHONY: docs-studies
docs-studies: $(VENV)/.docs
	MPLBACKEND=Agg $(BIN)/python docs/make_studies.py

# other people's JavaScript for our pages, from pinned packages; the outcome is committed, so that nobody else needs Node
.PHONY: vendor
vendor:
	cd tools/vendor && npm ci --silent --ignore-scripts --no-audit --no-fund && node build.mjs

docs: $(VENV)/.docs
	$(BIN)/python docs/make_reference.py
	$(BIN)/python docs/make_choices.py
	$(BIN)/python docs/make_urscript.py
	$(BIN)/mkdocs build --quiet --strict --site-dir site
	$(BIN)/armwright export ur5 --to page --q0 0.5,-1.45,1.75,-1.87,-1.57,0.3 -o site/arm.html

$(VENV)/.release: $(VENV)/.made pyproject.toml Makefile
	$(PIP) -e '.[release]'
	@touch $@

# cross compilers, emulators and checkers, then exported C on processors that it is meant for; minutes
.PHONY: trial-embedded
trial-embedded: $(VENV)/.dev
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q >/dev/null; \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends gcc clang valgrind cppcheck \
	    gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	    wine wine64 >/dev/null || echo "could not install all of it"; fi
	-$(PIP) -e '.[export,fmi]'
	$(BIN)/python tools/trial_embedded.py --folder "$(OUT)/embedded"
	$(BIN)/python tools/trial_fmu.py --folder "$(OUT)/fmu"
	$(BIN)/python tools/trial_page.py --folder "$(OUT)/page"

.PHONY: release
release: $(VENV)/.release
	$(BIN)/python tools/release.py "$(VERSION)" --url "$(URL)" $(if $(DRY),--dry-run)

clean:
	rm -rf $(VENV) "$(OUT)" tools/vendor/node_modules site build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
