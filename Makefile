# `make` alone lists the targets.
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 20s

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build worker and starter into bin/
	$(GO) build -o bin/ ./cmd/...

.PHONY: install
install: ## install worker and starter into the folder of Go programs (go env GOBIN, or GOPATH/bin)
	$(GO) install ./cmd/...

.PHONY: dev
dev: ## run a Temporal development server with Web UI
	$(GO) run ./cmd/starter dev

# The packages whose code runs in several goroutines, and whose tests need no server, have the race detector. Each package runs once.
CONCURRENT = ./activities/... ./client ./llm/... ./tool/... ./internal/standin/...

.PHONY: test
test: ## run all tests, with a real Temporal server where they need one
	CGO_ENABLED=1 $(GO) test -race $(CONCURRENT)
	$(GO) test $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CONCURRENT))")

.PHONY: race
race: ## run all tests with the race detector
	$(GO) test -race ./...

.PHONY: fuzz-list
fuzz-list:
	@grep -r --include='*_test.go' '^func Fuzz' . | sed -n 's|/[^/]*:func \(Fuzz[A-Za-z0-9_]*\)(.*| \1|p' | sort | awk '{print $$0 "\t" $$1}'

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (20s) each; FUZZ="./agent FuzzX" runs one
	@if [ -n "$(FUZZ)" ]; then echo "$(FUZZ)"; else $(MAKE) --silent fuzz-list; fi | while read -r folder name _; do \
		echo "$$folder $$name"; \
		$(GO) test "$$folder" -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x || exit 1; \
	done

.PHONY: trajectories
trajectories: ## replay every recorded conversation, not only the usual selection
	REAGENT_TRAJECTORIES=all $(GO) test ./llm ./e2e/calls -run 'Trajectories|RecordedConversations' -count=1 -timeout 60m -v

.PHONY: endpoint-faults
endpoint-faults: ## run a hundred agents at an endpoint of which three answers in ten go wrong
	REAGENT_ENDPOINT_FAULTS=all $(GO) test ./e2e/calls -run TestAgentsFinishAtAnEndpointThatFails -count=1 -timeout 20m -v

.PHONY: providers
providers: ## hold a chat of fifty messages, with people and faults, with the stand-in of every provider; PROVIDER selects one
	REAGENT_PROVIDERS=all $(GO) test ./e2e/models -run 'TestLongChatHoldsWithEveryProvider$(if $(PROVIDER),/^$(PROVIDER)$$$$)' -count=1 -timeout 60m -v

FAULTS ?= TestFaultsChangeNothing|TestPairsInOneTask

.PHONY: faults
faults: ## kill, reset, terminate and roll agents at every point in every scenario; every pair of events in one task; FAULTS selects tests
	$(GO) test -tags faults ./internal/testkit/fault -count=1
	REAGENT_FAULTS_ALL=1 $(GO) test ./e2e/faults -run '$(FAULTS)' -count=1 -timeout 60m -v

faults-encrypted: FAULTS = TestFaultsChangeNothing

.PHONY: faults-encrypted
faults-encrypted: ## the same with payloads that a codec server encrypts
	REAGENT_E2E_CODEC=1 REAGENT_FAULTS_ALL=1 $(GO) test ./e2e/faults -run '$(FAULTS)' -count=1 -timeout 60m -v

SOAK ?= 200

.PHONY: soak
soak: ## run SOAK (200) agents under random kills, restarts, resets and forks; REAGENT_SEED repeats one
	REAGENT_SOAK=$(SOAK) $(GO) test ./e2e/faults -run TestSoak -count=1 -timeout 30m -v

CHAOS        ?= 100
CHAOS_AGENTS ?= 12
CHAOS_STORM  ?= 15s

.PHONY: chaos
chaos: ## disturb CHAOS_AGENTS (12) agents at random for CHAOS_STORM (15s), CHAOS (100) seeds in a row; REAGENT_SEED is the first, REAGENT_CHAOS_WITHOUT=a,b what to leave out
	REAGENT_CHAOS=$(CHAOS) REAGENT_CHAOS_AGENTS=$(CHAOS_AGENTS) REAGENT_CHAOS_STORM=$(CHAOS_STORM) $(GO) test ./e2e/faults -run 'TestChaos$$' -count=1 -timeout 600m -v

chaos-telemetry: CHAOS = 1

.PHONY: chaos-telemetry
chaos-telemetry: ## the same with encrypted payloads and with workers that send spans and metrics, CHAOS (1) seeds: they agree with what the model has answered
	REAGENT_E2E_CODEC=1 REAGENT_CHAOS_TELEMETRY=1 REAGENT_CHAOS=$(CHAOS) REAGENT_CHAOS_AGENTS=$(CHAOS_AGENTS) REAGENT_CHAOS_STORM=$(CHAOS_STORM) $(GO) test ./e2e/faults -run 'TestChaos$$' -count=1 -timeout 600m -v

LIVES ?= 100000
FIRST ?= 0

.PHONY: properties
properties: ## try LIVES (100,000) lives of an agent, from the seed FIRST (0), against the laws of agent/law_test.go
	$(GO) test ./agent -run TestWhateverHappens -count=1 -timeout 60m -v -first $(FIRST) -lives $(LIVES)

.PHONY: worlds
worlds: ## try every life of small worlds: decisions, resets and resumes in every order, with larger bounds than in make test
	GOGC=25 $(GO) test ./agent -run TestEveryLifeOfSmallWorlds -count=1 -parallel 1 -timeout 120m -v -explore-more

.PHONY: attacks
attacks: ## run the tests of hostile input: endpoints, servers, files, neighbours
	$(GO) test ./... -run '^TestAttack' -count=1 -v

.PHONY: mutants
mutants: ## break the code in the ways of internal/dev/mutants/testdata and demand red tests; MUTANTS=late-* tries only some
	$(GO) run ./internal/dev/mutants $(MUTANTS)

.PHONY: mutants-list
mutants-list:
	@$(GO) run ./internal/dev/mutants -list

.PHONY: quirks
quirks: ## run every quirk of the catalogue of endpoints, with a table of the outcomes
	$(GO) test ./llm/openai -run TestQuirks -count=1 -v

# A release records its own histories beside those of earlier ones, which stay as they are.
.PHONY: histories
histories: ## record histories for the replay test into HISTORIES=folder
	$(GO) test ./e2e/history -run TestRecordHistories -count=1 -record "$(abspath $(HISTORIES))"

.PHONY: bench
bench: ## measure what a turn costs, against a workflow written by hand; BENCH=turns20,long measures only some
	$(GO) run ./bench $(if $(BENCH),-only $(BENCH))

.PHONY: gates
gates: ## run all large gates and write docs/gates.md, or go on where the last call was stopped; GATES=mutants,chaos runs some, GATES=--help
	@$(GO) run ./internal/dev/gates $(GATES)

.PHONY: release
release: ## make the archives, checksums, SBOM and notes of a release in dist: VERSION=v0.1.0; PLATFORMS=linux/amd64 makes only some
	@$(GO) run ./internal/dev/release -version "$(VERSION)" $(if $(PLATFORMS),-platforms $(PLATFORMS))

# The version is the one of internal/pins/cli. A test requires that the checksums are for it.
CLI_URL ?= https://github.com/temporalio/cli/releases/download

.PHONY: cli-checksums
cli-checksums: ## fetch the official checksums of the pinned Temporal CLI into internal/app/devserver/checksums.txt
	curl -fsSL "$(CLI_URL)/$$($(GO) list -C internal/pins/cli -m -f '{{.Version}}' github.com/temporalio/cli)/checksums.txt" \
		-o internal/app/devserver/checksums.txt

.PHONY: compose-test
compose-test: ## run docker-compose.yml with Docker, or with Podman, which is installed if apt-get is there
	bash e2e/compose/engine.sh $(GO) test ./e2e/compose -count=1 -timeout 10m -v

.PHONY: kubernetes-test
kubernetes-test: ## build deploy/kubernetes and check its objects
	$(GO) test -C internal/pins/kubernetes -mod=readonly -count=1 .

.PHONY: lint
lint: ## run the linters pinned in internal/pins/lint
	$(GO) build -C internal/pins/lint -mod=readonly -o ../../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	bin/golangci-lint run ./...

.PHONY: fmt
fmt: ## format all Go files
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: ci
ci: ## run what continuous integration runs
	.ci/run
