# To see it: `make demo`. After a change: `make check`. Before it is published: `make test`.

CARGO ?= cargo

.PHONY: help demo install check style test small-library oldest-rust deps release-check counts counts-update schedules orders data clients clients-quick attacks attacks-quick suites setup mutants soak sanitize races \
	miri dist deb peers peers-check fuzz-check oracle conformance

help:
	@echo "make demo     build, and show all of it with a million documents (some three minutes)"
	@echo "make check    format, lints, tidy checks, and unit tests of the crates that differ from the main branch (minutes)"
	@echo "make test     all of that, and all tests: also under a seeded scheduler and in a model of memory"
	@echo "make install  build the program and install it to ~/.cargo/bin"
	@echo "make deps     check the licences and security advisories of all dependencies (cargo-deny)"
	@echo "make data     fetch the real JSON that the tests load (npm; make test does that, once)"
	@echo "make clients  run MongoDB's drivers, shell and test launchers against the built program (pip, npm, go, mvn; minutes)"
	@echo "make attacks  attack the built server for SECONDS=60 while an honest client uses it"
	@echo "make suites   run pymongo's own tests against the program, and with SPECIFICATIONS=FOLDER those of MongoDB's specifications"
	@echo "make counts   count the instructions of hot paths, and compare them with a table (make test does that; valgrind)"
	@echo "make dist     a static binary with manual and completions, as target/dist/*.tar.gz (docs/INSTALL.md)"
	@echo "make oldest-rust  compile everything with the oldest Rust that is supported (rustup)"
	@echo "make release-check  whether this commit can be released (CONTRIBUTING.md, A release)"
	@echo "make deb      a Debian package in target/dist, by cargo-deb"
	@echo "make peers    build bench-peers: Alluvium beside RocksDB, SQLite, LMDB and others (bench-peers/README.md)"
	@echo "make soak     run models, crashes, faults, kills, flips, histories and fuzz targets for SECONDS=600 on new seeds"
	@echo "make sanitize run tests under AddressSanitizer; make races: ThreadSanitizer; make miri: the interpreter (nightly)"
	@echo "make oracle   compare filters, updates and pipelines with mingo and mongomock: CASES=3000 SEED=1 (npm, python3)"
	@echo "make conformance  run documentdb's functional tests of MongoDB's behaviour: FUNCTIONAL_TESTS=FOLDER (pip)"
	@echo "make mutants  put known mistakes into the sources, one by one; fails unless the tests find each"

# Writes ./comments.jsonl and ./demo.alluvium (some 1.5 GB together); DOCS=100000 makes less of it.
demo:
	$(CARGO) build --profile demo --locked -p alluvium-cli -p alluvium-workbench
	$(CARGO) run -q --profile demo --locked -p alluvium-workbench -- demo $(if $(DOCS),--docs $(DOCS))

install:
	$(CARGO) install --locked --path crates/cli

deps:
	tests/dependencies/check

# Without network or rustup this changes nothing: the tools may be there already.
setup:
	@rustup component add rustfmt clippy >/dev/null 2>&1 || true
	@command -v strace >/dev/null || apt-get install -qq -y strace >/dev/null 2>&1 || true
	@command -v valgrind >/dev/null || apt-get install -qq -y valgrind >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -qq -y valgrind; } >/dev/null 2>&1 || true
	@command -v chromium >/dev/null || apt-get install -qq -y chromium >/dev/null 2>&1 || true

# Packages that ship data as JSON, at fixed versions and checksums, into cargo's target folder.
data:
	tests/data/fetch

check: setup style
	$(CARGO) xtask test-changed

style:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	tests/mutants/run --check

# Names what this machine lacks before anything else, and in the last line what was left out.
test:
	@MAKE="$(MAKE)" tests/everything

# The library compiles without its features.
small-library:
	$(CARGO) check --locked -p alluvium --no-default-features

# The oldest Rust that the manifest names, in a target folder of its own: rustup fetches it once.
OLDEST_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

oldest-rust:
	rustup toolchain install $(OLDEST_RUST) --profile minimal
	$(CARGO) +$(OLDEST_RUST) check --locked --workspace --all-targets --target-dir $(or $(CARGO_TARGET_DIR),target)/oldest

# Real clients of the server, installed into cargo's target folder.
clients:
	tests/clients/run

# Test suites of others, with a reason for every failure.
suites:
	tests/suites/run

# With the program that the tests before this have built.
clients-quick:
	ALLUVIUM=$${CARGO_TARGET_DIR:-target}/debug/alluvium tests/clients/run --quick

# Hostile clients of the server, for SECONDS=60 on a new seed.
attacks:
	tests/attacks/run $(or $(SECONDS),60)

# The same attempts each time, on the program that the tests before this have built.
attacks-quick:
	ALLUVIUM=$${CARGO_TARGET_DIR:-target}/debug/alluvium tests/attacks/run 24 1

# The instructions of hot paths, beside those of crates/counts/table.txt.
counts: setup
	$(CARGO) xtask counts

counts-update: setup
	$(CARGO) xtask counts --update

# Threads under a seeded scheduler.
schedules:
	$(CARGO) test --locked -p alluvium-env --features shuttle
	$(CARGO) test --locked -p alluvium-wal --features shuttle --test schedules
	$(CARGO) test --locked -p alluvium-memtable --features shuttle --test schedules
	$(CARGO) test --locked -p alluvium-sst --features shuttle --lib schedules
	$(CARGO) test --locked -p alluvium-store --features shuttle --lib schedules
	$(CARGO) test --locked -p alluvium-store --features shuttle --test schedules
	$(CARGO) test --locked -p alluvium-testkit --features shuttle --test indexes_hold_under_any_schedule \
		--test any_operations_match_the_model_under_any_schedule \
		--test threads_on_a_failing_disk_under_any_schedule \
		--test histories_hold_under_any_schedule --test threads_see_whole_batches_under_any_schedule \
		--test writers_faster_than_the_disk_are_slowed_evenly --test many_writers_to_many_partitions_are_served_alike \
		--test periodic_writes_are_durable_in_time_under_any_schedule \
		--test writes_hold_what_they_checked_under_any_schedule --test transactions_conflict_under_any_schedule \
		--test a_seed_repeats_its_run

# What is small enough, under all orders of its steps and of memory.
orders:
	$(CARGO) test --locked -p alluvium-memtable --features loom --test orders
	$(CARGO) test --locked -p alluvium-sst --features loom --lib orders
	$(CARGO) test --locked -p alluvium-store --features loom --lib orders

soak:
	tests/soak/run $(or $(SECONDS),600)

mutants:
	tests/mutants/run

# Other implementations of MongoDB's language, on random cases.
oracle:
	tests/oracle/run $(or $(CASES),3000) $(or $(SEED),1)

# What MongoDB 8.2 answers, as documentdb has measured it.
conformance:
	tests/conformance/run

# These need a nightly compiler: see tests/sanitize/run.
sanitize:
	tests/sanitize/run address

races:
	tests/sanitize/run thread

miri:
	tests/sanitize/run miri

release-check:
	packaging/release --check

dist:
	packaging/dist

deb:
	packaging/deb

# Not part of the default build: it links libraries that not every machine has.
PEERS_LIB = $(CURDIR)/bench-peers/target/rocksdb

peers:
	bench-peers/fetch $(PEERS_LIB)
	cd bench-peers && ROCKSDB_LIB_DIR=$(PEERS_LIB) $(CARGO) build --release --locked

# The two workspaces of their own: their locks are up to date, and bench-peers compiles, without its libraries.
peers-check:
	cd bench-peers && $(CARGO) clippy --locked --no-default-features -- -D warnings

fuzz-check:
	cd fuzz && $(CARGO) tree --locked >/dev/null
