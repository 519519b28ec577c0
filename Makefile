# SPDX-License-Identifier: BSD-2-Clause
#
# The front door: everything a newcomer types. Meson and Ninja do the work; this
# finds out what the machine lacks, and brings it (scripts/need.sh), first.

BUILD = build
PREFIX ?= /usr/local

.DEFAULT_GOAL := all
.PHONY: all run lab-full test test-full bench fuzz dist bochs install clean help

all: ## build everything; the command is build/xstate
	@scripts/need.sh build
	@scripts/build.sh $(BUILD)

run: ## boot the lab and compare the switching policies (about a minute)
	@scripts/need.sh build -- lab
	@scripts/bochs.sh || true
	@scripts/build.sh $(BUILD) -- xstate lab/lab.rom
	@$(BUILD)/xstate lab run -o $(BUILD)/lab.json; status=$$?; \
		[ ! -s $(BUILD)/lab.json ] || { echo; \
		echo "The same as a page: $$($(BUILD)/xstate report $(BUILD)/lab.json -o $(BUILD)/report.html)"; }; \
		exit $$status

lab-full: ## the lab at length: all machines, tens of millions of switches (half an hour)
	@scripts/need.sh build -- lab
	@scripts/bochs.sh || true
	@scripts/build.sh $(BUILD) -- xstate lab/lab.rom
	@scripts/lab-full.sh $(BUILD)/xstate

test: ## all tests but the long ones (8 to 17 minutes on two cores)
	@scripts/need.sh build test -- lab
	@scripts/bochs.sh || true
	@scripts/test.sh quick

test-full: ## all tests
	@scripts/need.sh build test -- lab page
	@scripts/bochs.sh || true
	@scripts/test.sh full

bench: all ## what must be fast, as ratios within one run (a minute)
	@meson test -C $(BUILD) --benchmark --verbose

fuzz: ## every fuzz harness for FUZZ_SECONDS (60) each, with clang
	@scripts/need.sh build test
	@scripts/fuzz.sh

dist: ## the library as two files to copy: dist/xst.h and dist/xst.c
	@scripts/need.sh build
	@scripts/build.sh $(BUILD) -- src/xst.h
	@mkdir -p dist && cp $(BUILD)/src/xst.h $(BUILD)/src/xst.c dist/
	@echo "dist/xst.h dist/xst.c: docs/embedding.md says how to use them"

bochs: ## bring a Bochs of at least 3.1 into a private folder
	@scripts/need.sh -- lab
	@scripts/bochs.sh

install: all ## install below PREFIX (/usr/local); DESTDIR is obeyed
	@meson configure $(BUILD) -Dprefix=$(PREFIX) >/dev/null
	@meson install -C $(BUILD) --quiet >/dev/null
	@echo "installed below $(DESTDIR)$(PREFIX)"

clean: ## remove everything that was built
	rm -rf build build-* dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
