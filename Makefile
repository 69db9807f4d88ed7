# SPDX-License-Identifier: MIT
# make [all]    the three programs, into build/
# make help     lists the rest

VERSION := 0.1.0
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
BINDIR ?= $(PREFIX)/bin
DOCDIR ?= $(PREFIX)/share/doc/numabalanced
# Where the daemon looks, whatever the prefix.
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
DESTDIR ?=
CC ?= gcc
PKG_CONFIG ?= pkg-config

# SANITIZE=address,undefined builds and tests in a folder of its own.
SANITIZE ?=
B := build$(if $(SANITIZE),/sanitize)

PKGS := numa hwloc libsystemd libcgroup inih json-c
CFLAGS ?= -O2 -g
# Debug builds of a sanitizer keep frames, and stop at the first undefined behaviour.
SAN_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
NB_CFLAGS := -std=gnu17 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wundef -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
	-DNB_VERSION='"$(VERSION)"' -Iinclude -Isrc -pthread -MMD -MP $(SAN_FLAGS) \
	$(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
NB_LDFLAGS := -pthread $(SAN_FLAGS)
NB_LIBS = $(shell $(PKG_CONFIG) --libs $(PKGS)) -lcap

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

.PHONY: help
.DEFAULT_GOAL := all
##
## Targets (V=1 shows the commands, SANITIZE=address,undefined builds in build/sanitize):
##   all          numabalanced, numabalancectl and numabalance-sim, into build/ (the default)
##   deps         installs the packages that are missing (Debian 12, as root): ./deps
##   demo         shows what the daemon does, in a virtual machine where this has one node
##   install      programs, unit and configuration; PREFIX (/usr/local) and DESTDIR
##   uninstall    takes them away again; the configuration stays
##   unit         builds the unit tests, into build/tests/
##   check        every test, the lab included
##   check-fast   the tests without the lab
##   check-long   check, with many more random machines
##   lab          the scenarios in virtual machines; tests/vm/run NAME… runs some of them
##   lint         clang-tidy and cppcheck
##   format       clang-format over the whole tree; format-check says what it would change
##   conf         writes conf/numabalanced.conf from the table of keys
##   clean        takes away what was built; the lab's kernels stay
##
help:
	@sed -n 's/^## \{0,1\}//p' Makefile

# --- what is built of what -------------------------------------------------
# Each folder of src/ is one library, less the main.c that makes a program of it.
layer = $(patsubst src/%.c,$(B)/obj/%.o,$(filter-out src/$(1)/main.c,$(sort $(wildcard src/$(1)/*.c))))
LAYERS := core linux report daemon sim ctl
LIBS := $(foreach l,$(LAYERS),$(B)/libnb$(l).a)
PROGRAMS := $(B)/numabalanced $(B)/numabalancectl $(B)/numabalance-sim
TEST_HELPERS := $(patsubst tests/unit/%.c,$(B)/obj/tests/%.o,tests/unit/test_main.c \
	$(filter-out $(wildcard tests/unit/test_*.c),$(wildcard tests/unit/*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/%,$(filter-out tests/unit/test_main.c,$(wildcard tests/unit/test_*.c)))

.PHONY: all
all: $(PROGRAMS)

$(B)/numabalanced: $(B)/obj/daemon/main.o $(B)/libnbdaemon.a $(B)/libnblinux.a $(B)/libnbreport.a $(B)/libnbcore.a
$(B)/numabalancectl: $(B)/obj/ctl/main.o $(B)/libnbctl.a $(B)/libnbreport.a $(B)/libnbcore.a
$(B)/numabalance-sim: $(B)/obj/sim/main.o $(B)/libnbsim.a $(B)/libnbreport.a $(B)/libnbcore.a
$(PROGRAMS):
	$(call say,LD,$@)
	$(Q)$(CC) $(NB_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NB_LIBS)

define library
$(B)/libnb$(1).a: $(call layer,$(1)) | $(B)/sources-$(1)
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach l,$(LAYERS),$(eval $(call library,$(l))))
.PHONY: $(foreach l,$(LAYERS),$(B)/sources-$(l))
$(foreach l,$(LAYERS),$(B)/sources-$(l)): ; @mkdir -p $(B)

$(B)/obj/%.o: src/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(NB_CFLAGS) $(CFLAGS) -c -o $@ $<

# The interface that the daemon hands out is the file that documents it.
$(B)/gen/%.varlink.inc: src/report/%.varlink
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sed 's/["\\]/\\&/g; s/.*/"&\\n"/' $< >$@
$(B)/obj/report/interface.o: $(B)/gen/io.numabalance.varlink.inc $(B)/gen/org.varlink.service.varlink.inc
$(B)/obj/report/interface.o: NB_CFLAGS += -I$(B)/gen

# Built anew when compiler or flags change.
$(B)/flags: FORCE
	@mkdir -p $(B) && echo '$(CC) $(subst ','\'',$(NB_CFLAGS) $(CFLAGS) $(LDFLAGS))' >$@.new && \
	{ cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }
.PHONY: FORCE
FORCE:

# The shipped configuration is written from the table of keys; a test compares.
$(B)/print-conf: conf/print-conf.c $(B)/libnbcore.a $(B)/flags
	$(call say,LD,$@)
	$(Q)$(CC) $(NB_CFLAGS) $(CFLAGS) $(NB_LDFLAGS) $(LDFLAGS) -o $@ $< $(B)/libnbcore.a $(NB_LIBS)
.PHONY: conf
conf: $(B)/print-conf
	$(Q)$< >conf/numabalanced.conf.new && mv conf/numabalanced.conf.new conf/numabalanced.conf

# --- tests -----------------------------------------------------------------
$(B)/tests/%: tests/unit/%.c $(TEST_HELPERS) $(LIBS) $(B)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(NB_CFLAGS) -Itests/unit $(CFLAGS) $(NB_LDFLAGS) $(LDFLAGS) -o $@ $< \
		$(TEST_HELPERS) $(B)/libnbdaemon.a $(B)/libnbsim.a $(B)/libnblinux.a $(B)/libnbctl.a \
		$(B)/libnbreport.a $(B)/libnbcore.a $(NB_LIBS)
$(B)/obj/tests/%.o: tests/unit/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(NB_CFLAGS) $(CFLAGS) -c -o $@ $<

.SECONDARY: $(TEST_HELPERS)

.PHONY: unit
unit: $(UNIT_TESTS)

# What runs in the lab's guests: no library but libc.
GUEST_PROGRAMS := $(B)/tests/vm/workload $(B)/tests/vm/masks
$(B)/tests/vm/workload: $(wildcard tests/vm/workload*.[ch]) $(B)/flags
$(B)/tests/vm/masks: tests/vm/masks.c $(B)/flags
$(GUEST_PROGRAMS):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(NB_CFLAGS)) $(CFLAGS) $(NB_LDFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.c,$^)

# Virtual machines of several nodes; tests/vm/run NAME… runs some of the scenarios.
.PHONY: lab
lab: lab-programs
	$(Q)BUILD=$(B) tests/vm/run
.PHONY: lab-programs
lab-programs: $(PROGRAMS) $(GUEST_PROGRAMS) $(B)/tests/test_nodes $(B)/tests/test_masks $(B)/tests/test_mover

# The unit tests run twice, the second time with sanitizers; `make check-fast` leaves
# the lab out, which takes most of the time. NB_SEEDS is the number of random machines.
SANITIZED_TESTS := $(patsubst $(B)/%,build/sanitize/%,$(UNIT_TESTS))
CHECKS = $(UNIT_TESTS) $(SANITIZED_TESTS) tests/purity tests/install tests/sim-cli tests/sim-compilers \
	'$(MAKE) -s --no-print-directory clang'
.PHONY: check check-fast check-long check-build
check-build: all unit
	$(Q)$(MAKE) --no-print-directory SANITIZE=address,undefined unit
	$(Q)MAKEFLAGS= tests/sim-compilers >/dev/null || :
check-fast: check-build
	$(Q)NB_SEEDS=$${NB_SEEDS:-40} tests/run -j 2 $(CHECKS) --
check: check-build lab-programs
	$(Q)NB_SEEDS=$${NB_SEEDS:-80} tests/run -j 2 $(CHECKS) -- tests/vm/selftest tests/demo tests/vm/run
check-long:
	$(Q)NB_SEEDS=$${NB_SEEDS:-1000} $(MAKE) --no-print-directory check

# How long one planning takes; prints a table and judges nothing.
$(B)/bench/%: tests/bench/%.c $(B)/libnbcore.a $(B)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(NB_CFLAGS) $(CFLAGS) $(NB_LDFLAGS) $(LDFLAGS) -o $@ $< $(B)/libnbcore.a $(NB_LIBS)
.PHONY: bench-plan
bench-plan: $(B)/bench/plan
	$(Q)$<

# Everything passes the other compiler too, without a warning.
C_FILES := $(sort $(wildcard src/*/*.c conf/*.c tests/*/*.c))
.PHONY: clang
clang: $(B)/gen/io.numabalance.varlink.inc $(B)/gen/org.varlink.service.varlink.inc
	$(Q)if ! command -v clang >/dev/null; then echo 'skip clang: is not installed'; \
	elif clang $(filter-out -MMD -MP,$(NB_CFLAGS)) -I$(B)/gen -Itests/unit -fsyntax-only $(C_FILES); \
	then echo 'ok clang'; else echo 'not ok clang'; false; fi

# Bugs, not taste: .clang-tidy names the checks.
.PHONY: lint
lint: $(B)/gen/io.numabalance.varlink.inc $(B)/gen/org.varlink.service.varlink.inc
	$(Q)printf '%s\n' $(C_FILES) | xargs -P 2 -n 8 sh -c 'clang-tidy --quiet "$$@" -- $$FLAGS' tidy
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 -j 2 \
		--enable=warning,portability --suppressions-list=tests/cppcheck.txt \
		-Iinclude -Isrc -Itests/unit src conf tests
lint: export FLAGS = $(filter-out -MMD -MP -Werror -DNB_VERSION%,$(NB_CFLAGS)) -DNB_VERSION="" -I$(B)/gen -Itests/unit

# Only what is ours: every C file that git knows.
FORMATTED = $$(git ls-files '*.[ch]')
.PHONY: format format-check
format:
	$(Q)clang-format -i $(FORMATTED)
format-check:
	$(Q)clang-format --dry-run --Werror $(FORMATTED)

.PHONY: deps demo
deps:
	$(Q)./deps
demo: lab-programs
	$(Q)BUILD=$(B) demo/run

# --- installing ------------------------------------------------------------
$(B)/numabalanced.service: systemd/numabalanced.service.in FORCE
	@mkdir -p $(B) && sed 's|@sbindir@|$(SBINDIR)|g; s|@sysconfdir@|$(SYSCONFDIR)|g; s|@docdir@|$(DOCDIR)|g' $< >$@

# A configuration that is there stays; the new one is put beside it.
CONF_TO = $(DESTDIR)$(SYSCONFDIR)/numabalanced.conf
.PHONY: install uninstall
install: all $(B)/numabalanced.service
	$(Q)install -Dm755 $(B)/numabalanced $(DESTDIR)$(SBINDIR)/numabalanced
	$(Q)install -Dm755 $(B)/numabalancectl $(DESTDIR)$(BINDIR)/numabalancectl
	$(Q)install -Dm755 $(B)/numabalance-sim $(DESTDIR)$(BINDIR)/numabalance-sim
	$(Q)install -Dm644 $(B)/numabalanced.service $(DESTDIR)$(UNITDIR)/numabalanced.service
	$(Q)install -Dm644 -t $(DESTDIR)$(DOCDIR) README.md LICENSE src/report/io.numabalance.varlink
	$(Q)if [ ! -e $(CONF_TO) ]; then install -Dm644 conf/numabalanced.conf $(CONF_TO); \
	elif cmp -s conf/numabalanced.conf $(CONF_TO); then :; \
	else install -m644 conf/numabalanced.conf $(CONF_TO).new && \
	echo 'install: $(CONF_TO) stays; the new one is $(CONF_TO).new'; fi
uninstall:
	$(Q)rm -f $(DESTDIR)$(SBINDIR)/numabalanced $(DESTDIR)$(BINDIR)/numabalancectl \
		$(DESTDIR)$(BINDIR)/numabalance-sim $(DESTDIR)$(UNITDIR)/numabalanced.service
	$(Q)rm -rf $(DESTDIR)$(DOCDIR)

-include $(wildcard $(B)/obj/*/*.d $(B)/tests/*.d $(B)/*.d)

.PHONY: clean
clean:
	$(Q)rm -rf build/obj build/gen build/tests build/sanitize build/compilers build/flags \
		$(wildcard build/libnb*.a) $(PROGRAMS)
