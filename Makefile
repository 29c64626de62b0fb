# The only door: `make` says what is behind it. `make test` needs Go and nothing else; with Docker, or with Kafka, Redis
# and PostgreSQL on this machine, it tests against the real ones and says so.

GO            ?= go
PKG           ?= ./...
RUN           ?=
FUZZTIME      ?= 20s
CHAOS_FOR     ?= 10m
RESTART_FOR   ?= 2m
SEED          ?= 0
BENCH         ?=
WALKS         ?= 100
RACE           = $(GO) test -race -count=1 -p 2 -timeout 30m $(if $(RUN),-run '$(RUN)')
LINT_VERSION  := v2.15.0
KAFKA_VERSION := 4.1.2

export TESTBED_KAFKA_HOME ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pusher/kafka

.DEFAULT_GOAL := help
.PHONY: help build test race long check lint fmt vet fuzz model generate demo bench chaos crash-matrix rolling-restart up down kafka-jars clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the programs into bin/
	$(GO) build -o bin/ ./cmd/...

test: bin/testservers ## all tests (PKG=./internal/store/... RUN=TestName narrow it)
	bin/testservers -- $(GO) test -timeout 30m $(if $(RUN),-run '$(RUN)') $(PKG)

race: bin/testservers ## all tests under the race detector, none from the cache; the end-to-end tests, which measure times, by themselves
	@$(GO) list $(PKG) | grep -v '/internal/e2e$$' | xargs -r bin/testservers -- $(RACE)
	@$(GO) list $(PKG) | grep '/internal/e2e$$' | xargs -r bin/testservers -- $(RACE)

check: vet lint race ## what CI checks, the demo aside

long: bin/testservers ## the end-to-end tests at their full size
	TESTBED_LONG=1 bin/testservers -- $(GO) test -count=1 -timeout 30m $(if $(RUN),-run '$(RUN)') ./internal/e2e

lint: bin/golangci-lint ## golangci-lint, by .golangci.yml
	bin/golangci-lint run $(PKG)

fmt: bin/golangci-lint ## format the code
	bin/golangci-lint fmt

vet: ## go vet
	$(GO) vet $(PKG)

fuzz: ## each fuzz test for FUZZTIME
	@$(GO) list $(PKG) | while read -r package; do \
		for name in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; \
		done; \
	done

model: bin/testservers ## WALKS random walks of each channel, a hundred steps each, on the protocol's model and on reality
	bin/testservers -- $(GO) test -count=1 -timeout 60m -v -run '^TestModel$$' ./internal/protocol \
		-rapid.checks=$(WALKS) -rapid.steps=100

generate: ## generated files
	$(GO) generate $(PKG)

demo: ## the whole system in one process, with a summary at the end
	$(GO) run ./cmd/pusher demo --exit

bench: kafka-jars ## figures on real services, as a table and a chart into docs/ (BENCH=immediate,slow,... narrows it, and writes nothing)
	$(GO) build -o bin/bench ./internal/bench/cmd/bench
	bin/bench $(if $(BENCH),--only '$(BENCH)',--out docs/bench.md)

chaos: build kafka-jars ## the programs on real services under random faults for CHAOS_FOR; SEED repeats a run
	$(GO) run ./internal/chaos/cmd/chaos --for $(CHAOS_FOR) --seed $(SEED)

crash-matrix: bin/testservers kafka-jars ## every fault point x channel x kind on real services, as a table into docs/
	CRASH_MATRIX='$(CURDIR)/docs/crash-matrix.md' bin/testservers -- $(GO) test -count=1 -timeout 60m -run '^TestCrashMatrix$$' ./internal/e2e

rolling-restart: bin/testservers kafka-jars ## a pusher is replaced every ten seconds for RESTART_FOR, under a steady flow
	ROLLING_RESTART='$(RESTART_FOR)' bin/testservers -- $(GO) test -count=1 -timeout 60m -v -run '^TestRollingRestart$$' ./internal/e2e

up: ## Kafka, Redis, PostgreSQL, the sandbox, pusher and compensator in containers
	docker compose up --build --detach --wait

down: ## stop those and remove their data
	docker compose down --volumes

kafka-jars: ## a Kafka for tests, by Maven, into the cache directory (needs Java 17 to run)
	@test -e '$(TESTBED_KAFKA_HOME)/kafka_2.13-$(KAFKA_VERSION).jar' || mvn --quiet --batch-mode --file .ci/kafka/pom.xml \
		-Dkafka.version=$(KAFKA_VERSION) -DoutputDirectory='$(TESTBED_KAFKA_HOME)' dependency:copy-dependencies

clean: ## remove what was built
	rm -rf bin .cache coverage.* *.test *.out

bin/testservers: FORCE
	@$(GO) build -o $@ ./internal/testbed/cmd/testservers

bin/golangci-lint: Makefile # the version stands there
	@GOBIN='$(CURDIR)/bin' $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	@touch $@

FORCE:
