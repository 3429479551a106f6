# Two targets do everything on a machine with Python 3.11 or newer: `make report` and `make test`.

# Byte code is kept, also where the environment says otherwise: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
FSM    := $(BIN)/fsm
STAMP  := $(VENV)/.installed
HOLES  := $(wildcard specs/*/holes)

.PHONY: report test quick full lint docs playground editors code-server vscode tree-sitter check generate bench nightly mutants fuzz lock clean dist sbom rehearsal

report: $(STAMP)  ## check, test, explore, generate, draw; one page to read
	$(FSM) check specs $(HOLES)
	$(FSM) test specs $(HOLES)
	$(FSM) verify specs $(HOLES)
	$(FSM) generate specs --out generated
	$(FSM) draw specs --out build/diagrams
	$(FSM) report specs --out build/report

test: $(STAMP)  ## about five minutes on two cores: the whole toolkit and the allocator, with nothing but Python
	@mkdir -p build
	@echo "lint and types are checked beside the tests"
	@$(MAKE) --no-print-directory lint >build/lint.txt 2>&1 & lint=$$!; \
	FSM_TURNS=16 $(BIN)/pytest -n 2 --dist worksteal; tests=$$?; \
	wait $$lint; lint=$$?; cat build/lint.txt; [ $$tests = 0 ] && [ $$lint = 0 ]

quick: $(STAMP)  ## half a minute: lint, and the tests for the changed files
	$(BIN)/python tests/quick.py

full: lint  ## everything, also what needs a browser, an editor, SPIN, MPI or a control plane where they are there
	FSM_TESTS=full $(BIN)/pytest -n 3

lint: $(STAMP)  ## lint, types, import layers, the formatting of the specs, the freshness of what is generated
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(FSM) fmt --check specs $(HOLES)
	$(FSM) generate specs --out generated --check

editors:  ## what the editor extension, the live page's editor and the playground are built with (needs npm)
	npm --prefix editors/vscode ci --no-audit --no-fund --loglevel=error
	npm --prefix editors/live ci --no-audit --no-fund --loglevel=error
	npm --prefix editors/playground ci --no-audit --no-fund --loglevel=error

code-server: $(STAMP)  ## VS Code in build/code-server, for `make vscode` (needs Node.js 20 with headers, g++, ripgrep)
	$(BIN)/python -m tests.code_server

vscode: $(STAMP)  ## the extension in VS Code, in a browser: what a person does with it (needs `make editors code-server`)
	FSM_TESTS=full $(BIN)/pytest -m vscode -n 0

tree-sitter: $(STAMP)  ## the tree-sitter grammar, from the parser's; needs the program tree-sitter
	$(BIN)/python -m fsmdsl.syntax.parse.tree_sitter > editors/tree-sitter-fsm/grammar.js
	cd editors/tree-sitter-fsm && tree-sitter generate && sha256sum < grammar.js > src/made-from.txt

docs: $(STAMP)  ## the documentation site: static files in build/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	if command -v npm >/dev/null; then $(MAKE) playground; else echo "no npm: the site has no playground"; fi
	$(BIN)/python docs/site.py build/site build/playground

playground: $(STAMP)  ## the page without a server: static files in build/playground (needs npm)
	npm --prefix editors/playground ci --no-audit --no-fund --loglevel=error
	$(BIN)/python editors/playground/build.py build/playground

generate: $(STAMP)  ## what is committed in generated/ and docs/, and the lists in files of editors and of the live page
	$(FSM) fmt specs $(HOLES)
	$(FSM) generate specs --out generated
	$(BIN)/python -m fsmdsl.check.rule_pages docs/rules
	$(BIN)/python -m fsmdsl.syntax.language_pages docs
	$(BIN)/python -m fsmdsl.editor.word_lists
	$(FSM) draw specs/hived/hived.fsm --out build/generated
	cp build/generated/hived.AffinityGroup.svg build/generated/hived.Cell.svg docs/pictures
	cp build/generated/hived.AffinityGroup.svg runtime/view/static/AffinityGroup.svg
	$(BIN)/python tests/test_holes.py

bench: $(STAMP)  ## side by side with peers; writes benchmarks/results
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/runtime/run.py
	$(BIN)/python benchmarks/checker/run.py
	$(BIN)/python benchmarks/compiled.py
	$(BIN)/python benchmarks/allocator/run.py
	$(BIN)/python benchmarks/simulator/run.py
	$(BIN)/python benchmarks/editing/latency.py

dist: $(STAMP)  ## what is published, in dist: a wheel and an sdist, the same bytes whenever they are built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	$(BIN)/python release/distributions.py dist
	$(BIN)/twine check --strict dist/*

sbom: $(STAMP)  ## what the toolkit and the allocator's image contain, as CycloneDX, in dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	$(BIN)/python release/bill_of_materials.py dist

rehearsal: dist sbom  ## the release tried out: an index on this machine, a fresh environment, README and tutorial
	$(BIN)/python release/rehearsal.py dist

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

LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --quiet

lock:  ## after a change of dependencies in pyproject.toml; needs uv
	$(LOCK) pyproject.toml --group dev --all-extras --output-file requirements/dev.txt
	$(LOCK) pyproject.toml --extra fast --extra svg --extra lsp --extra serve --extra testing --extra graphs \
		--constraints requirements/dev.txt --output-file requirements/toolkit.txt
	$(LOCK) --group allocator --constraints requirements/dev.txt --output-file requirements/allocator.txt
	$(LOCK) pyproject.toml --extra fast --group action --constraints requirements/dev.txt --output-file requirements/action.txt
	for name in mutants docs release; do \
		$(LOCK) --group $$name --constraints requirements/dev.txt --output-file requirements/$$name.txt || exit 1; done

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
