# What can be done with a checkout. Nothing here is needed by an installed gpulet.
# CARGO_TARGET_DIR is honoured; so is GPULET_CACHE, where `make setup` keeps what it unpacks.

TARGET := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help setup bed clusters controlplane coredns build sim demo demo-cluster demo-stop test e2e lint bench clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## install what is missing (Debian packages, containerd, a control plane, cargo-deny); safe to repeat
	scripts/setup

bed: # the part of setup that running needs
	@scripts/setup bed

clusters: bed # the part of setup that scenarios with a control plane need
	@scripts/setup registry controlplane

controlplane: ## build the test control plane alone: K8S=1.37 (the default) or K8S=1.34
	scripts/setup controlplane

coredns: ## build CoreDNS for tests
	scripts/setup coredns

build:
	cargo build --workspace

sim: ## the GPU simulator: target/sim/lib/libnvidia-ml.so.1 and target/sim/bin/gpusim
	cargo build -p gpu-sim
	@mkdir -p $(TARGET)/sim/lib $(TARGET)/sim/bin
	@ln -f $(TARGET)/debug/libnvidia_ml.so $(TARGET)/sim/lib/libnvidia-ml.so.1
	@ln -f $(TARGET)/debug/gpusim $(TARGET)/sim/bin/gpusim
	@ln -sf libnvidia-ml.so.1 $(TARGET)/sim/lib/libnvidia-ml.so

demo: bed build sim ## GPU pods on real containerd, from nothing; DEMO_KEEP=1 leaves it running
	$(TARGET)/debug/demo

demo-cluster: clusters build sim ## a Deployment of GPU pods, scaled by kubectl on a real control plane
	$(TARGET)/debug/demo-cluster

demo-stop: ## end a demo that was left running
	$(TARGET)/debug/demo stop

test: clusters ## every test and every scenario; the last line counts them
	scripts/setup python
	scripts/test

e2e: clusters build sim ## scenarios: all, or S=<name> (S=--list); NODE=stock: with the stock kubelet
	$(TARGET)/debug/e2e $(S)

lint: ## format, clippy, licences and bans
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo fetch --locked # for all platforms, which cargo-deny looks at
	cargo fetch --locked
	cargo deny --offline check bans licenses sources

bench: clusters sim ## speed and size beside the bare CRI calls of the same run: all, or ROW=<name>; STOCK=1: the stock kubelet, too
	cargo build --release -p gpulet -p gpuctl
	cargo build -p e2e
	GPULET_BIN=$(abspath $(TARGET))/release/gpulet $(TARGET)/debug/bench

clean: ## remove what was built; the cache of `make setup` stays
	cargo clean
