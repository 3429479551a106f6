# Two targets do everything on a machine with Python 3.11 or newer: `make report` and `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
FSM    := $(BIN)/fsm
STAMP  := $(VENV)/.installed
HOLES  := $(wildcard specs/*/holes)

.PHONY: report test docs playground editors check generate bench nightly mutants fuzz lock clean

report: $(STAMP)  ## check, test, explore, generate, draw; one page to read
	$(FSM) check specs $(HOLES)
	$(FSM) test specs $(HOLES)
	$(FSM) verify specs $(HOLES)
	$(FSM) generate specs --out generated
	$(FSM) draw specs --out build/diagrams
	$(FSM) report specs --out build/report

test: $(STAMP)  ## every test, the lint and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(FSM) fmt --check specs $(HOLES)
	$(FSM) generate specs --out generated --check
	$(BIN)/pytest -n 3

editors:  ## what the editor extension, the live page's editor and the playground are built with (needs npm)
	npm --prefix editors/vscode ci --no-audit --no-fund --loglevel=error
	npm --prefix editors/live ci --no-audit --no-fund --loglevel=error
	npm --prefix editors/playground ci --no-audit --no-fund --loglevel=error

docs: $(STAMP)  ## the documentation site: static files in build/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	if command -v npm >/dev/null; then $(MAKE) playground; else echo "no npm: the site has no playground"; fi
	$(BIN)/python docs/site.py build/site build/playground

playground: $(STAMP)  ## the page without a server: static files in build/playground (needs npm)
	npm --prefix editors/playground ci --no-audit --no-fund --loglevel=error
	$(BIN)/python editors/playground/build.py build/playground

generate: $(STAMP)  ## what is committed in generated/ and docs/
	$(FSM) fmt specs $(HOLES)
	$(FSM) generate specs --out generated
	$(BIN)/python -m fsmdsl.rule_pages docs/rules
	$(BIN)/python -m fsmdsl.language_pages docs
	$(FSM) draw specs/hived/hived.fsm --out build/generated
	cp build/generated/hived.AffinityGroup.svg build/generated/hived.Cell.svg docs/pictures
	cp build/generated/hived.AffinityGroup.svg runtime/view/static/AffinityGroup.svg
	$(BIN)/python tests/test_holes.py

bench: $(STAMP)  ## side by side with peers; writes benchmarks/results
	$(BIN)/python benchmarks/runtime/run.py
	$(BIN)/python benchmarks/checker/run.py
	$(BIN)/python benchmarks/allocator/run.py
	$(BIN)/python benchmarks/simulator/run.py
	$(BIN)/python benchmarks/editing/latency.py

fuzz: $(STAMP)  ## every night: each fuzz target for an hour, all at once; what fails is in build/fuzz
	$(BIN)/python -m tests.fuzz all --minutes 60 --out build/fuzz

nightly: mutants  ## everything that is too long for each change: see CONTRIBUTING.md
	$(BIN)/python tests/nightly.py $(if $(SEEDS),--seeds $(SEEDS))

mutants: $(STAMP)  ## what is left of the mutation campaign; MINUTES=60 stops after an hour
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/mutants.txt
	nice -n 15 $(BIN)/python tests/mutants.py --count 500 $(if $(MINUTES),--minutes $(MINUTES))

$(STAMP): pyproject.toml requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fsmdsl needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $(STAMP)

lock:  ## after a change of dependencies in pyproject.toml; needs uv
	uv pip compile pyproject.toml --group dev --all-extras --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --quiet --output-file requirements/dev.txt
	uv pip compile pyproject.toml --extra runtime --extra kubernetes --constraints requirements/dev.txt --universal \
		--python-version 3.11 --generate-hashes --no-header --no-emit-index-url --quiet --output-file requirements/allocator.txt
	uv pip compile pyproject.toml --group mutants --constraints requirements/dev.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-emit-index-url --quiet --output-file requirements/mutants.txt
	uv pip compile pyproject.toml --group docs --constraints requirements/dev.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-emit-index-url --quiet --output-file requirements/docs.txt
	uv pip compile pyproject.toml --extra fast --group action --constraints requirements/dev.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-emit-index-url --quiet --output-file requirements/action.txt

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
