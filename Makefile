# Everything a user or CI runs. Each target sets up what it needs, into .local/ beside the project.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

export SAM_CLI_TELEMETRY := 0
export PYTHONDONTWRITEBYTECODE := 1
STACK := .local/venv-stack/bin/python

.PHONY: help setup build run demo test test-fast test-template test-local-invoke test-end-to-end test-storefront rig bench-cascade clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

setup: ## installs the tools into .local/
	@tests/setup.sh

build: setup ## builds the functions with sam build, for this machine
	@tests/build.sh

run: build ## local stack with a storefront to watch, one edit's way as a timeline; stays up until Ctrl-C
	@$(STACK) tests/stack run

demo: build ## the timeline with stand-ins, ends by itself; status 0 only if every step was seen
	@$(STACK) tests/stack demo

test: ## everything
	@tests/run.sh

test-fast: setup ## formatting, lints and the Rust tests, with the ledger and the routes on the emulator
	@tests/run.sh rust

test-template: build ## the built template, and each mutation of it caught
	@tests/template/run.sh

test-local-invoke: build ## every file of events/ through sam local invoke
	@tests/local_invoke/run.sh

test-end-to-end: build ## the deployed stack
	@tests/run.sh end-to-end

test-storefront: build ## what a visitor of a real Next.js storefront sees of an edit, in Chromium
	@tests/run.sh storefront

rig: setup ## histories, kills, load, fuzz: a table; HISTORIES= KILLS= SENDERS= FUZZ_SECONDS= pick one and its size
	@HISTORIES="$(HISTORIES)" KILLS="$(KILLS)" SENDERS="$(SENDERS)" EVENTS="$(EVENTS)" FUZZ_SECONDS="$(FUZZ_SECONDS)" \
		SEED="$(SEED)" $(STACK) tests/rig

bench-cascade: setup ## what a cascade costs with 1,000, 10,000 and 100,000 routes (SIZES=1000,10000 for others)
	@$(STACK) tests/stack emulator cargo run --quiet -p benchmarks --bin bench-cascade

clean: ## removes what builds and tests have made, but not the tools
	@rm -rf .aws-sam target .local/stack .local/storefront .local/local-invoke .local/engine .local/rig
