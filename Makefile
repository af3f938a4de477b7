# make demo   builds everything and leaves a comparison's tables, plots and report in demo-results/
# make demo-full   the same with seven balancers at eight loads, in demo-full-results/
# make fast   the engine without optimisation over all crates: for edit and run, not for results that take long
# make wheel   a package for machines without Rust, in wheels/; wheel-here: for systems as new as this one
# make test   runs every test
# make bench  measures packet-hops per second
# make validate   compares with ns-3, case by case; validate-quick: only the small cases
# make validate-linux  compares with Linux kernels (make linux builds them); validate-linux-quick: only the small cases
# make papers-on-linux  the papers' figures with Linux kernels as hosts
# make validate-theory   measures what closed forms predict, and writes both into the documentation
# make validate-tools   installs ns-3 and a C++ compiler (Debian, Ubuntu; as root)
# make hardware  tests, mutates, proves and synthesises the RTL of hardware/; hardware-check: lint, proofs, vectors, two seeds;
#             hardware-mutants, hardware-costs: these parts alone
# make hardware-tools  installs its tools (Debian, Ubuntu; as root)
# make linux  builds the kernel of hosts that are real Linux, from Debian's source package, into target/linux
# make fuzz   fuzzes every target for FUZZ_SECONDS (60) each; fuzz-keep: keeps what it found
# make soak   draws SOAK_CASES (10,000) random scenarios that no test has seen (ten minutes)
# make faults   kills, fills disks, damages files: does a comparison survive it? (half an hour)
# make slurm-test   a comparison by a real Slurm on this machine (as root; apt install slurm-wlm munge)
# make p4     runs the P4 programs of hardware/p4 on decision vectors; through BMv2 where p4c and BMv2 are on PATH
# make lint   format, clippy, rustdoc, ruff, mypy
# make docs   the documentation as a site, into target/site, and that of the Rust code, into target/doc
# make clean  removes what the others made
#
# Everything goes into .venv and target/; nothing needs root but validate-tools, hardware-tools and slurm-test.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first Python that starts and is new enough; python3 if there is none, for the message.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$name; exit; fi; done; echo python3)
MINIMUM_PYTHON := 3.11
MINIMUM_RUST := 1.95

VENV := .venv
BIN := $(VENV)/bin
DEMO := demo-results
DEMO_FULL := demo-full-results

# Of all Cargo workspaces here; the template's is one of its own.
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)

PYTHON_SOURCES := python tests/python tests/slurm template validation fuzz hardware
RUST_SOURCES := $(shell find crates benches -name '*.rs' -o -name '*.toml' -o -name '*.csv' 2>/dev/null)

.PHONY: help demo demo-full fast wheel wheel-here test soak bench bench-smoke fuzz fuzz-keep validate validate-quick validate-linux validate-linux-quick papers-on-linux validate-theory validate-tools faults slurm-test hardware hardware-check hardware-costs hardware-mutants hardware-tools linux p4 lint format docs site clean check build

help:
	@sed -n 's/^# //p' Makefile | sed -n '/^make/p'

# The tools, and what to do about those that are missing or too old.
check:
	@missing=0; \
	say() { echo "leafspine: $$1" >&2; missing=1; }; \
	command -v git >/dev/null || say "git not found: install it (Debian, Ubuntu: apt install git)"; \
	command -v cc >/dev/null || say "no C linker (cc), which Rust needs: install one (Debian, Ubuntu: apt install gcc)"; \
	if ! $(PYTHON) --version >/dev/null 2>&1; then \
		say "$(PYTHON) not found, $(MINIMUM_PYTHON) or newer needed (Debian, Ubuntu: apt install python3 python3-venv)"; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		say "$$($(PYTHON) --version) found, $(MINIMUM_PYTHON) or newer needed: install one and say make PYTHON=python3.12 (Debian, Ubuntu: apt install python3.12 python3.12-venv)"; \
	elif ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		say "$$($(PYTHON) --version) has no venv: install it (Debian, Ubuntu: apt install python3-venv)"; \
	fi; \
	if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then \
		say "Rust (cargo, rustc) not found, $(MINIMUM_RUST) or newer needed: install rustup (https://rustup.rs), it takes the version in rust-toolchain.toml"; \
	elif ! version=$$(rustc --version 2>&1); then \
		say "rustc does not start: try rustup toolchain install (the version is in rust-toolchain.toml)"; \
	elif ! echo "$$version" | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 95) }'; then \
		say "$$version found, $(MINIMUM_RUST) or newer needed: rustup update"; \
	fi; \
	exit $$missing

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
MATURIN := VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH \
	$(BIN)/maturin develop --release --locked

# What compiles comes first, so that it can begin while the other packages are fetched.
$(VENV)/.made-maturin: requirements.lock | $(if $(CHECKED),,check)
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) $$(grep '^maturin==' requirements.lock)
	@touch $@

$(VENV)/.made: requirements.lock $(VENV)/.made-maturin
	@$(PIP) -r requirements.lock
	@touch $@

$(VENV)/.made-dev: requirements-dev.lock $(VENV)/.made
	@$(PIP) -r requirements-dev.lock
	@touch $@

$(VENV)/.made-docs: requirements-docs.lock $(VENV)/.made-dev
	@$(PIP) -r requirements-docs.lock
	@touch $@

# The engine, compiled for speed.
$(VENV)/.compiled: $(VENV)/.made-maturin pyproject.toml Cargo.toml Cargo.lock $(RUST_SOURCES)
	@echo "building the engine (a few minutes the first time)"
	@$(MATURIN) --skip-install >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

# The package with its engine; the Python files are used where they are.
$(VENV)/.built: $(VENV)/.made $(VENV)/.compiled
	@$(MATURIN) >>$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

build: check
	@$(MAKE) --no-print-directory --jobs 2 CHECKED=1 $(VENV)/.made $(VENV)/.compiled
	@$(MAKE) --no-print-directory CHECKED=1 $(VENV)/.built

# The same results, sooner compiled and slower; `make build` makes the engine for results again.
fast: check
	@$(MAKE) --no-print-directory CHECKED=1 $(VENV)/.made
	@there=; $(BIN)/python -c 'import leafspine' 2>/dev/null && there=--skip-install; \
		VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH \
		$(BIN)/maturin develop --profile fast --locked $$there >$(VENV)/build.log 2>&1 \
		|| { cat $(VENV)/build.log >&2; exit 1; }
	@rm -f $(VENV)/.compiled $(VENV)/.built

WHEELS := wheels
WHEEL := VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH \
	$(BIN)/maturin build --release --locked --auditwheel check --out $(WHEELS)

# Linked by zig against an old system library: that of RHEL 8, Debian 10 and Ubuntu 18.10, which the
# wheels of Arrow and NumPy need as well. Linked here it would need this system's.
wheel: $(VENV)/.made
	@$(PIP) -r requirements-wheel.lock
	@$(WHEEL) --zig --compatibility manylinux_2_28 >$(VENV)/build.log 2>&1 \
		|| { cat $(VENV)/build.log >&2; exit 1; }
	@ls -t $(WHEELS)/leafspine-*.whl | head -1

# Of what make build has compiled; its tag says which systems it is for.
wheel-here: build
	@$(WHEEL) >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@ls -t $(WHEELS)/leafspine-*.whl | head -1

demo: build
	@$(BIN)/leafspine compare examples/demo.toml --out $(DEMO)
	@echo "demo: open $(CURDIR)/$(DEMO)/report.html"

demo-full: build
	@$(BIN)/leafspine compare examples/demo-full.toml --out $(DEMO_FULL)
	@echo "demo-full: open $(CURDIR)/$(DEMO_FULL)/report.html"

# A file's tests are one process's: they share what is slow to make.
SIDE_BY_SIDE = -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: build $(VENV)/.made-dev
	@cargo test --locked --workspace
	@cargo test --locked $(FUZZ_CRATE) --no-default-features
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE)

# What CI draws, it draws from a fixed start.
SOAK_CASES ?= 10000

soak: check
	@PROPTEST_CASES=$(SOAK_CASES) cargo test --locked --package leafspine-sim --test scenarios -- every_run_is_sound

bench: build
	@$(BIN)/leafspine bench
	@$(call each_bench,)

# Do the benches still run? Not optimised, once each.
bench-smoke: build
	@$(BIN)/leafspine bench --smoke
	@$(BIN)/leafspine bench --schemes --smoke
	@$(call each_bench,--profile test -- --test)

# Names every bench target, so that Cargo does not build the libraries' tests once more.
each_bench = cargo metadata --locked --no-deps --format-version 1 | $(BIN)/python -c \
	'import json, sys; [print(p["name"], t["name"]) for p in json.load(sys.stdin)["packages"] \
	for t in p["targets"] if t["kind"] == ["bench"]]' | while read -r package bench; do \
	cargo bench --locked --package "$$package" --bench "$$bench" $(1) </dev/null; done

# The only target that changes the system.
validate-tools:
	@apt-get update -qq
	@DEBIAN_FRONTEND=noninteractive apt-get install -y -qq g++ libns3-dev </dev/null

# In the tests' profile: compiled together with them, and fast enough.
validate-theory: build
	@nice cargo run --locked --quiet --profile test --package leafspine-sim --example theory \
		>$(VENV)/theory.json
	@mv $(VENV)/theory.json validation/results/theory.json
	@$(BIN)/python -B docs/generate.py

validate: build validate-theory
	@nice $(BIN)/python validation/run.py

validate-quick: build
	@nice $(BIN)/python validation/run.py --quick

# Runs with kernels are kept in target/validation/linux; validation/linux.py --rerun makes them again.
validate-linux: build
	@nice $(BIN)/python validation/linux.py

# Of the papers' figures: numbers go to papers/*/fig*/linux, and what is kept there stays where a run fails.
# validation/papers_on_linux.py --kept makes those of the model's hosts again, in a minute and without a kernel; --rerun all.
papers-on-linux: build
	@nice $(BIN)/python validation/papers_on_linux.py

validate-linux-quick: build
	@nice $(BIN)/python validation/linux.py --quick

# docs/hardware.md says what this shows.
p4:
	@$(PYTHON) -B hardware/p4/replay/interpret.py
	@$(PYTHON) -B hardware/p4/replay/bmv2.py

FUZZ_SECONDS ?= 60
# 0: another one every time.
FUZZ_SEED ?= 0
FUZZ_RESULT ?= validation/results/fuzz.json
FUZZ_CRATE := --manifest-path fuzz/Cargo.toml --target-dir $(TARGET)

# docs/fuzzing.md says what is fuzzed, and what to do about a failure.
fuzz: check
	@command -v c++ >/dev/null || { echo "leafspine: no C++ compiler (c++), which libFuzzer needs: install one (Debian, Ubuntu: apt install g++)" >&2; exit 1; }
	@CARGO_TARGET_DIR=$(TARGET) $(PYTHON) fuzz/fuzzing.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --out $(FUZZ_RESULT)

fuzz-keep: check
	@CARGO_TARGET_DIR=$(TARGET) $(PYTHON) fuzz/fuzzing.py --keep

# Hundreds of faults of every kind; docs/generate.py puts the counts into docs/validation.md.
faults: build
	@nice $(BIN)/python tests/python/faults/soak.py --out validation/results/faults.json

# No part of make test: it needs root and Slurm, and names what is missing.
slurm-test: build
	@$(BIN)/python tests/slurm/run.py

# The RTL (docs/hardware.md). No part of make test; its Python packages have an environment of their own.
HARDWARE := $(TARGET)/hardware
HARDWARE_PYTHON := $(HARDWARE)/venv/bin/python
ABQ := hardware/abq
HARDWARE_SEEDS := 2
HARDWARE_WIDTHS := 64
# Its lock follows when a crate of leafspine gets another dependency.
COSIM := CARGO_TARGET_DIR=$(HARDWARE)/cosim cargo run --release --quiet --manifest-path $(ABQ)/cosim/Cargo.toml --bin

hardware-tools:
	@apt-get update -qq
	@DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ make verilator iverilog yosys </dev/null

$(HARDWARE)/venv/.made: requirements-hardware.lock
	@for tool in verilator iverilog yosys c++; do command -v $$tool >/dev/null || \
		{ echo "leafspine: $$tool not found: make hardware-tools installs it (as root)" >&2; exit 1; }; done
	@$(PYTHON) -m venv $(HARDWARE)/venv
	@$(HARDWARE_PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements-hardware.lock
	@touch $@

hardware-check: check $(HARDWARE)/venv/.made
	@echo "-- the RTL: lint"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/lint.py
	@echo "-- proofs"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/formal.py
	@echo "-- decision vectors"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/vectors.py $(HARDWARE) $(HARDWARE_WIDTHS)
	@echo "-- registers"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/registers.py $(HARDWARE)
	@echo "-- random traffic, in lockstep with the Rust scheme"
	@rm -rf $(HARDWARE)/pcap && mkdir -p $(HARDWARE)/pcap
	@$(COSIM) lockstep -- --seeds $(HARDWARE_SEEDS) --pcap $(HARDWARE)/pcap
	@$(HARDWARE_PYTHON) $(ABQ)/tests/check_pcaps.py $(HARDWARE)/pcap
	@echo "-- line rate"
	@$(COSIM) line_rate

hardware: HARDWARE_SEEDS := 20
hardware: HARDWARE_WIDTHS := 64 128 256
hardware: hardware-check
	@echo "-- scenarios with the RTL"
	@$(COSIM) incast
	@echo "-- costs"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/synthesis.py $(HARDWARE)/synthesis
	@$(MAKE) --no-print-directory hardware-mutants

# Each mutant of the RTL, until something notices it.
hardware-mutants: $(HARDWARE)/venv/.made
	@echo "-- mutants"
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/mutants.py $(HARDWARE)/mutants

# The table of costs in docs/hardware.md.
hardware-costs: $(HARDWARE)/venv/.made
	@$(HARDWARE_PYTHON) -W ignore $(ABQ)/tests/synthesis.py $(HARDWARE)/synthesis --write

# Of crates/linux, whose test boots it where it is there. LEAFSPINE_LINUX=path: a kernel of one's own.
linux:
	@linux/build $(TARGET)/linux

lint: check $(VENV)/.made-dev
	@cargo fmt --all --check
	@cargo clippy --locked --workspace --all-targets -- -D warnings
	@cargo fmt --manifest-path template/Cargo.toml --check
	@cargo clippy --locked --manifest-path template/Cargo.toml --target-dir $(TARGET) --all-targets -- -D warnings
	@cargo fmt --manifest-path fuzz/Cargo.toml --check
	@cargo clippy --locked $(FUZZ_CRATE) --no-default-features --all-targets -- -D warnings
	@cargo fmt --manifest-path $(ABQ)/cosim/Cargo.toml --check
	@ABQ_RTL=none cargo clippy --locked --manifest-path $(ABQ)/cosim/Cargo.toml --target-dir $(TARGET) --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	@$(BIN)/ruff format --check $(PYTHON_SOURCES)
	@$(BIN)/ruff check $(PYTHON_SOURCES)
	@$(BIN)/mypy

format: $(VENV)/.made-dev
	@cargo fmt --all
	@cargo fmt --manifest-path template/Cargo.toml
	@cargo fmt --manifest-path fuzz/Cargo.toml
	@cargo fmt --manifest-path $(ABQ)/cosim/Cargo.toml
	@$(BIN)/ruff format $(PYTHON_SOURCES)
	@$(BIN)/ruff check --fix $(PYTHON_SOURCES)

docs: site
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	@echo "docs: open $(CURDIR)/target/site/index.html; of the Rust code $(CURDIR)/target/doc/leafspine_sim/index.html"

# A link that leads nowhere, a page that no list has: all warnings are errors.
site: build $(VENV)/.made-docs
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html docs target/site

clean:
	@rm -rf $(VENV) target $(WHEELS) $(DEMO) $(DEMO_FULL) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf template/target template/out
	@rm -f python/leafspine/_engine*.so
	@find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
