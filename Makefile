# thunkline: `make demo`, `make test`; `make help` lists the rest. Build products go to $(B).
B      ?= build
PREFIX ?= /usr/local
CC     ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
SAN    ?=
VERSION := 0.1.0
SONAME  := libthunkline.so.0
.DELETE_ON_ERROR:
.SECONDEXPANSION:
MAKEFLAGS += --no-builtin-rules
# All cores, unless -j says otherwise; a make within another shares its jobs.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
# A line for each file; V=1: the commands, V=0: nothing.
V ?= $(if $(findstring s,$(firstword -$(MAKEFLAGS))),0)
Q = $(if $(filter 1,$(V)),,@)
quote = '$(subst ','\'',$(1))'
say = $(if $(V),,@printf '%-4s %s\n' $(1) $(2))
.SUFFIXES:

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes \
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wcast-qual -Wcast-align -Wwrite-strings -Wvla \
  -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference -Wswitch-enum
ifeq ($(findstring clang,$(CC)),)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches
endif
OPT    ?= -O2
SIMD_OPT ?= -O3
# Graphs of millions go through these folders: about 5 % less time, for 1 % more code.
CORE := base graph op rewrite
CORE_OPT ?= $(OPT:-O2=-O3)
CFLAGS ?= -g
# What makes bugs harder to exploit, in builds that optimise: guards of stacks, and checked calls of libc (3 where compiler
# and libc know it, else 2; the sanitizers have their own).
optimised := $(filter-out -O0,$(filter -O%,$(OPT) $(CFLAGS)))
fortify = $(shell echo '#include <stdlib.h>' | $(CC) -O1 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fsyntax-only -xc - 2>/dev/null && echo 3 || echo 2)
HARDEN := $(if $(optimised),-fstack-protector-strong $(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(fortify)))
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(if $(CI),-Werror) $(OPT) $(HARDEN) $(CFLAGS) -Ilib -Ilib/include -I$(B)/gen \
  -fvisibility=hidden -fPIC -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread \
  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) -DTL_VERSION='"$(VERSION)"' -MMD -MP
# The tools start in half a millisecond: small libraries go into them where the archives exist. They lie at other addresses
# each time, and what the linker resolves is resolved and read-only before they begin; LINK=-no-pie starts 0.15 ms sooner.
archive = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a 2>/dev/null)),-Wl$(comma)-Bstatic -l$(1) -Wl$(comma)-Bdynamic,-l$(1))
comma  := ,
SHARED_LIBS = -lm -ldl -pthread $(shell pkg-config --libs yaml-0.1 libzstd 2>/dev/null || echo -lyaml -lzstd)
LDLIBS := $(call archive,yaml) $(call archive,zstd) -lm -ldl -pthread
NOW    := -Wl,-z,relro,-z,now
LINK   ?= -pie $(NOW)
LDFLAGS += $(if $(SAN),-fsanitize=$(SAN))

# ---- sources: found, never listed -----------------------------------------------------------
LIB_C   := $(filter-out %.simd.c lib/mpi/%,$(shell find lib -name "*.c" | sort))
SIMD_C  := $(filter %.simd.c,$(shell find lib -name "*.c" | sort))
TOOLS   := gload ggrad grewrite grun gprof
CMD_C   := $(wildcard cmd/*/*.c)
EMBEDDED_C := $(patsubst %,$(B)/gen/%.c,rule_texts optim_texts op_texts onnx_texts onnx_write_texts page_texts)
GEN_C   := $(B)/gen/catalogue.c $(EMBEDDED_C)
ARCH    := $(shell uname -m)
# Loops are compiled once per level of CPU; only x86-64 has more than the baseline.
ifeq ($(ARCH),x86_64)
LEVELS  := 0 1 2
LEVEL_FLAGS_1 := -march=x86-64-v3
LEVEL_FLAGS_2 := -march=x86-64-v4 -mprefer-vector-width=512
else
LEVELS  := 0
endif
LIB_O   := $(LIB_C:%.c=$(B)/%.o) $(GEN_C:.c=.o) \
           $(foreach l,$(LEVELS),$(SIMD_C:%.simd.c=$(B)/%.simd$(l).o))
TOOL_BIN := $(TOOLS:%=$(B)/bin/%)

## all: the five tools, the library as archive and shared object (the default)
all: $(TOOL_BIN) $(B)/libthunkline.a $(B)/libthunkline.so
lib: $(B)/libthunkline-all.a

# Files that change only when the text in them does: other flags, or a source less, make anew what they were used for.
# AS_BUILT=1 takes what is there, whatever it was built with.
$(B)/flags: keep = $(CC) $(ALL_CFLAGS) $(SIMD_OPT) $(CORE_OPT)
$(B)/sources: keep = $(LIB_O) $(CMD_C) $(LDFLAGS) $(LINK)
$(B)/flags $(B)/sources: $(if $(AS_BUILT),,FORCE)
	@mkdir -p $(@D)
	@printf '%s\n' $(call quote,$(keep)) > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@
$(foreach d,$(CORE),$(B)/lib/$d/%.o): private CFLAGS += $(CORE_OPT)
# Where Debian installs libraries.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
$(B)/lib/cli/ranks.o: CFLAGS += $(if $(MULTIARCH),-DTL_MULTIARCH='"$(MULTIARCH)"')
# What the tools look at as they start lies together: strings that the linker merges are strewn over those of the whole
# library, and each takes a page fault.
START := $(shell $(CC) -Werror -fno-merge-constants -fsyntax-only -x c /dev/null 2>/dev/null && echo -fno-merge-constants)
$(B)/lib/cli/%.o $(B)/cmd/%.o: private CFLAGS += $(START)
$(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@
define SIMD_RULE
$(B)/%.simd$(1).o: %.simd.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$<)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(SIMD_OPT) $$(LEVEL_FLAGS_$(1)) -DTL_LEVEL=$(1) -c $$< -o $$@
endef
$(foreach l,$(LEVELS),$(eval $(call SIMD_RULE,$(l))))
# Short loops of multiply-adds, which are slower by a tenth where a line of the cache ends in them.
$(LEVELS:%=$(B)/lib/ops/nn/conv.simd%.o): CFLAGS += -falign-loops=32

# The catalogue: every `const OpList ops_*` and `const MacroList macros_*` in the tree, by name.
CATALOGUE_C := $(shell grep -lE "^const (OpList ops|MacroList macros)_" -r lib --include="*.c" | sort)
$(B)/gen/catalogue.c: $(CATALOGUE_C) lib/gen/catalogue.awk $(B)/sources Makefile
	@mkdir -p $(@D)
	$(Q)awk -f lib/gen/catalogue.awk $(CATALOGUE_C) > $@
# Texts that the programs carry: each table of base/embedded.h, made of these files.
rule_texts := $(wildcard lib/rewrite/rules/*.rules)
optim_texts := $(wildcard lib/optim/*.yaml)
op_texts := $(wildcard lib/ops/*/*.ops.yaml)
onnx_texts := $(wildcard lib/io/onnx/*.rows)
onnx_write_texts := $(wildcard lib/io/onnx/*.to)
# A page has no modules: what it imports becomes one script, and what runs beside it another.
page_texts := $(addprefix $(B)/gen/page/,page.css page.html main.js worker.js)
PAGE_JS := $(wildcard lib/page/*.js)
$(B)/gen/page/%.js: $(PAGE_JS) lib/gen/bundle.awk
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f lib/gen/bundle.awk lib/page/$*.js > $@
$(B)/gen/page/page.%: lib/page/page.%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(EMBEDDED_C): $(B)/gen/%.c: $$($$*) lib/gen/embed.awk Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -v table=$* -f lib/gen/embed.awk $(sort $($*)) > $@

# The compiler's own, which may be one for another machine.
prog = $(shell $(CC) -print-prog-name=$(1))
$(B)/libthunkline-all.a: $(LIB_O) $(B)/sources
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(call prog,ar) qcs $@ $(filter %.o,$^)
# The public archive: one object in which only tl_* and Tl* are visible.
$(B)/libthunkline.a: $(LIB_O) $(B)/sources
	$(call say,AR,$@)
	$(Q)$(call prog,ld) -r -o $(B)/thunkline.o $(filter %.o,$^)
	$(Q)$(call prog,objcopy) --wildcard --keep-global-symbol='tl_*' --keep-global-symbol='Tl*' $(B)/thunkline.o
	@rm -f $@
	$(Q)$(call prog,ar) rcs $@ $(B)/thunkline.o
$(B)/libthunkline.so: $(LIB_O) $(B)/sources
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(NOW) -Wl,-soname,$(SONAME) $(if $(SAN),,-Wl,--no-undefined) $(LDFLAGS) -o $@ $(filter %.o,$^) $(SHARED_LIBS)

# Messages between ranks, where there is an MPI; without mpirun nothing needs it.
MPICC ?= mpicc
MPI_LIB := $(if $(shell command -v $(MPICC) 2>/dev/null),$(B)/tl_mpi.so)
$(B)/tl_mpi.so: lib/mpi/tl_mpi.c $(B)/flags
	$(call say,MPI,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(addprefix -isystem ,$(shell $(MPICC) --showme:incdirs)) -shared $(NOW) $(LDFLAGS) -o $@ $< \
	  $(shell $(MPICC) --showme:link)

# A distribution mends libraries in one place: its packages have them shared.
$(TOOLS:%=$(B)/shared/%): private LDLIBS = $(SHARED_LIBS)
define TOOL_RULE
$(B)/bin/$(1) $(B)/shared/$(1): $(patsubst %.c,$(B)/%.o,$(wildcard cmd/$(1)/*.c)) $(B)/libthunkline-all.a $(B)/sources
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(LDFLAGS) $$(LINK) -o $$@ $$(filter %.o %.a,$$^) $$(LDLIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call TOOL_RULE,$(t))))

# ---- tests: each tests/unit/*.c and tests/prop/*.c is a program (tests/unit/test.h) -----------
# The longest first: the others then fill the cores.
UNIT_C := $(sort $(wildcard tests/prop/*.c)) $(sort $(wildcard tests/unit/*.c))
UNIT_BIN := $(UNIT_C:%.c=$(B)/%)
$(B)/tests/%: $(B)/tests/%.o $(B)/libthunkline-all.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)
# Calls that build graphs, which fail in tests/prop/building and tests/prop/allocations.
BUILD_WRAP := op_apply op_apply1 op_call1 op_call2 op_call3 apply_named op_cast_to shape_of shape_vector ints_stack sum_to_shape op_zeros_like const_int const_number compiler_var compiler_ints compiler_tree compiler_constant tensor_new tensor_clone tensor_cast
# Makes allocations fail in the tools themselves: their objects, and calls that come to the program first. It counts for
# `make coverage` when it ends, not each time when a tool would.
ALLOC_WRAP := malloc calloc realloc aligned_alloc free mmap munmap pthread_create buffer_new _exit $(BUILD_WRAP)
$(B)/tests/prop/allocations: $$(FUZZ_CMD)
$(B)/tests/prop/allocations: private override LDFLAGS := $(filter-out %flush.o -Wl$(comma)--wrap=%,$(LDFLAGS)) $(ALLOC_WRAP:%=-Wl,--wrap=%)
$(B)/tests/prop/building $(B)/tests/prop/onnx_building $(B)/tests/prop/shards_building $(B)/tests/prop/text_building: private override LDFLAGS += $(BUILD_WRAP:%=-Wl,--wrap=%)
## demo: build the tools and train the digits model
## test: all tests and lints
# Installs what is missing, and says so.
setup-build setup-deb setup-test setup-mpi: setup-%:
	@CC="$(CC)" tests/setup.sh $*
demo: setup-build
	@echo "building the tools"
	@$(MAKE) --no-print-directory V=0 tools
	@examples/digits/demo.sh $(abspath $(B)/bin)
test: setup-test
	@$(MAKE) --no-print-directory test-programs
	@tests/run.sh $(B) $(UNIT_BIN) $(FUZZ_C:%.c=$(B)/%)
## mpi: install Open MPI, build tl_mpi.so for it, and run its tests with 1, 2 and 4 ranks
mpi: setup-build setup-mpi
	@$(MAKE) --no-print-directory tools $(B)/tl_mpi.so $(B)/tests/unit/ranks $(B)/tests/prop/sharded
	@$(B)/tests/unit/ranks && $(B)/tests/prop/sharded && TL_BIN=$(abspath $(B))/bin bats tests/bats/ranks.bats
## tools: only the five tools
tools: $(TOOL_BIN)
test-programs: all $(MPI_LIB) man generated $(UNIT_BIN) fuzz-programs
## check-san: all tests under AddressSanitizer and UBSan
check-san:
	@TEST_SECONDS=3600 $(MAKE) --no-print-directory B=$(B)-san SAN=address,undefined OPT=-O1 test
## check-arm64: unit programs and a part of the bats tests on 64-bit Arm, by QEMU
ARM64_CC ?= aarch64-linux-gnu-gcc
check-arm64:
	@tests/arm64.sh $(B)-arm64 $(ARM64_CC)
## golden: write the expected outputs anew
# Writes tests/golden/*.out anew: look at the difference before committing it.
golden: tools
	tests/golden/run.sh --update $(B)/bin
## unit: the unit and property programs; TRIES=n allocations of each command line fail, 0 for all
unit: $(UNIT_BIN)
	@ok=1; for t in $(UNIT_BIN); do $$t || ok=0; done; test $$ok = 1

# ---- what is made from the option tables: man pages, completions (committed, checked for staleness) ----
DUMP := $(B)/gen/options.tsv
$(DUMP): $(TOOL_BIN)
	@mkdir -p $(@D)
	$(Q)for t in $(TOOLS); do $(B)/bin/$$t --dump=options; done > $@
MAN := $(TOOLS:%=$(B)/man/%.1)
$(B)/gen/totals.1: lib/prof/fields.def lib/gen/totals.awk
	@mkdir -p $(@D)
	$(Q)awk -f lib/gen/totals.awk $< > $@
$(B)/man/%.1: cmd/%/$$*.1.in $(B)/bin/% cmd/exit_status.1.in $(B)/gen/totals.1
	@mkdir -p $(@D)
	$(Q)$(B)/bin/$* --dump=man > $@.options
	$(Q)sed -e '/^@OPTIONS@$$/{r $@.options' -e 'd;}' -e '/^@EXIT_STATUS@$$/{r cmd/exit_status.1.in' -e 'd;}' \
	  -e '/^@TOTALS@$$/{r $(B)/gen/totals.1' -e 'd;}' $< > $@
# Section 3 is the public header's text in a frame, section 7 is written in Markdown, or made from the catalogue.
MAN3 := $(patsubst lib/man/%.md,$(B)/man/%,$(wildcard lib/man/*.3.md))
$(MAN3): $(B)/man/lib%.3: lib/man/lib%.3.md lib/include/thunkline/%.h lib/gen/header.awk lib/gen/mdoc.awk
	@mkdir -p $(@D)
	$(Q)awk -f lib/gen/header.awk lib/include/thunkline/$*.h > $(B)/gen/lib$*.3.md
	$(Q)sed -e '/^@HEADER@$$/{r $(B)/gen/lib$*.3.md' -e 'd;}' $< | awk -f lib/gen/mdoc.awk > $@
MAN7 := $(patsubst lib/man/%.md,$(B)/man/%.7,$(filter-out %.3.md,$(wildcard lib/man/*.md))) $(B)/man/thunkline-ops.7 $(B)/man/thunkline-rules.7
$(B)/man/thunkline-ops.7 $(B)/man/thunkline-rules.7: $(B)/man/thunkline-%.7: $(B)/bin/gload lib/gen/manual_lists.awk lib/gen/mdoc.awk
	@mkdir -p $(@D)
	$(Q)$< --dump=$* > $(B)/gen/$*.tsv
	$(Q)awk -v page=$* -f lib/gen/manual_lists.awk $(B)/gen/$*.tsv > $(B)/gen/$*.md
	$(Q)awk -f lib/gen/mdoc.awk $(B)/gen/$*.md > $@
$(B)/man/%.7: lib/man/%.md lib/gen/mdoc.awk
	@mkdir -p $(@D)
	$(Q)awk -f lib/gen/mdoc.awk $< > $@
## man: the man pages
man: $(MAN) $(MAN3) $(MAN7)
COMPLETIONS := $(foreach t,$(TOOLS),completions/$(t).bash completions/_$(t) completions/$(t).fish)
$(B)/completions/%.bash: $(DUMP) lib/gen/completions.awk
	@mkdir -p $(@D)
	$(Q)awk -v shell=bash -v tool=$* -f lib/gen/completions.awk $(DUMP) > $@
$(B)/completions/_%: $(DUMP) lib/gen/completions.awk
	@mkdir -p $(@D)
	$(Q)awk -v shell=zsh -v tool=$* -f lib/gen/completions.awk $(DUMP) > $@
$(B)/completions/%.fish: $(DUMP) lib/gen/completions.awk
	@mkdir -p $(@D)
	$(Q)awk -v shell=fish -v tool=$* -f lib/gen/completions.awk $(DUMP) > $@
generated: $(COMPLETIONS:%=$(B)/%)
## completions: write the committed completions anew
completions: generated
	cp $(COMPLETIONS:%=$(B)/%) completions/

# ---- installing: PROGRAM_PREFIX renames tools, man pages, completions and what the bats library calls together ----
PROGRAM_PREFIX ?=
STRIP ?= -s
LIBDIR ?= $(PREFIX)/lib
TOOLS_FROM ?= $(B)/bin
bindir := $(DESTDIR)$(PREFIX)/bin
libdir := $(DESTDIR)$(LIBDIR)
datadir := $(DESTDIR)$(PREFIX)/share
# Names and paths in texts are those of this installation; with a prefix, nothing has gprof's name.
RENAME := sed -E -e 's/\<(gload|ggrad|grewrite|grun|gprof)\>/$(PROGRAM_PREFIX)\1/g' -e 's,/usr/local\>,$(PREFIX),g' \
  $(if $(PROGRAM_PREFIX),-e '/call graph profiler of GNU binutils/d')
PC := prefix=$(PREFIX)\nlibdir=$(LIBDIR)\nName: thunkline\nDescription: tensor graphs as files\nVersion: $(VERSION)\n$(strip \
  )Libs: -L$${libdir} -lthunkline\nLibs.private: -lyaml -lzstd -lm -ldl -lpthread\nCflags: -I$${prefix}/include\n
# Examples go as they are in the repository, without what their Makefiles build.
EXAMPLES := $(shell find examples -type f ! -name '*.so' ! -name '*.o' ! -name '*.tlg')
## install: PREFIX=/usr/local DESTDIR= PROGRAM_PREFIX= STRIP=-s (empty: with what debuggers read)
install: all $(MPI_LIB) man generated
	install -d $(bindir) $(libdir)/pkgconfig $(DESTDIR)$(PREFIX)/include/thunkline \
	  $(datadir)/man/man1 $(datadir)/man/man3 $(datadir)/man/man7 \
	  $(datadir)/thunkline/bats $(datadir)/thunkline/schemas \
	  $(datadir)/bash-completion/completions $(datadir)/zsh/site-functions $(datadir)/fish/vendor_completions.d
	for t in $(TOOLS); do p=$(PROGRAM_PREFIX)$$t; \
	  install $(STRIP) -m 755 $(TOOLS_FROM)/$$t $(bindir)/$$p; \
	  $(RENAME) $(B)/man/$$t.1 > $(datadir)/man/man1/$$p.1; \
	  $(RENAME) $(B)/completions/$$t.bash > $(datadir)/bash-completion/completions/$$p; \
	  $(RENAME) $(B)/completions/_$$t > $(datadir)/zsh/site-functions/_$$p; \
	  $(RENAME) $(B)/completions/$$t.fish > $(datadir)/fish/vendor_completions.d/$$p.fish; \
	  found=$$(command -v $$p || true); test -z "$$found" || test "$$found" = "$(PREFIX)/bin/$$p" || \
	    echo "note: $$p already names $$found here; make install PROGRAM_PREFIX=t gives t$$t"; done
	install -m 644 $(wildcard lib/include/thunkline/*.h) $(DESTDIR)$(PREFIX)/include/thunkline/
	install -m 644 $(B)/libthunkline.a $(libdir)/
	install $(STRIP) -m 755 $(B)/libthunkline.so $(libdir)/$(SONAME)
	$(if $(STRIP),strip --strip-debug $(libdir)/libthunkline.a)
	ln -sf $(SONAME) $(libdir)/libthunkline.so
	$(if $(MPI_LIB),install -d $(libdir)/thunkline && install $(STRIP) -m 755 $(MPI_LIB) $(libdir)/thunkline/)
	printf '$(PC)' > $(libdir)/pkgconfig/thunkline.pc
	for f in $(wildcard lib/bats/*.bash); do $(RENAME) $$f > $(datadir)/thunkline/bats/$${f##*/}; done
	for f in $(MAN3) $(MAN7); do $(RENAME) $$f > $(datadir)/man/man$${f##*.}/$${f##*/}; done
	install -m 644 $(wildcard schemas/*) $(datadir)/thunkline/schemas/
	install -m 644 LICENSE $(datadir)/thunkline/
	for f in $(EXAMPLES); do to=$(datadir)/thunkline/$$f; install -d $${to%/*}; \
	  case $$f in *.sh) $(RENAME) $$f > $$to; chmod 755 $$to;; *.md) $(RENAME) $$f > $$to;; *) install -m 644 $$f $$to;; esac; done
## uninstall: remove what install puts there, with the same PREFIX, DESTDIR and PROGRAM_PREFIX
uninstall:
	@rm -rf $(B)/uninstall
	@$(MAKE) --no-print-directory V=0 AS_BUILT=$(AS_BUILT) install DESTDIR=$(abspath $(B)/uninstall) >/dev/null 2>&1
	@cd $(B)/uninstall && find . ! -type d | while read -r f; do rm -f "$(abspath $(DESTDIR)/)$${f#.}"; done
	@cd $(B)/uninstall && find . -depth -type d -path '*/thunkline*' | while read -r d; do \
	  test ! -d "$(abspath $(DESTDIR)/)$${d#.}" || rmdir --ignore-fail-on-non-empty "$(abspath $(DESTDIR)/)$${d#.}"; done
	@rm -rf $(B)/uninstall

# ---- passing on: a tarball and packages, in $(OUT); the same bytes from the same sources ----
OUT ?= $(B)
DIST := thunkline-$(VERSION)
# The date of all files: that of the last commit, or what they have in an unpacked tarball.
SOURCE_DATE_EPOCH ?= $(shell { test -e .git && git log -1 --format=%ct 2>/dev/null; } || stat -c %Y Makefile)
# The files that git has, or all of a tarball but what was built there.
listed = if test -e .git; then git ls-files; else find $$(ls -A | grep -v '^build') -type f ! -name '*.o' ! -name '*.so' ! -name '*.tmp'; fi
## dist: build/dist/thunkline-VERSION.tar.gz, which builds without git
dist:
	@mkdir -p $(OUT)/dist
	$(call say,TAR,$(OUT)/dist/$(DIST).tar.gz)
	$(Q)$(listed) > $(OUT)/dist/files
	$(Q)LC_ALL=C sort $(OUT)/dist/files | tar --create --file=$(OUT)/dist/$(DIST).tar --format=ustar --no-recursion --files-from=- \
	  --transform='s,^,$(DIST)/,' --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner --mtime=@$(SOURCE_DATE_EPOCH)
	$(Q)gzip -9nf $(OUT)/dist/$(DIST).tar
	@rm $(OUT)/dist/files

## deb: PROGRAM_PREFIX=t packages for Debian in build/deb; DEBFULLNAME and DEBEMAIL say who packs them
# A package that needs no MPI.
DEB_INSTALL = MPI_LIB= DESTDIR=$(abspath $(OUT)/deb/tree/root) PREFIX=/usr LIBDIR=/usr/lib/$(shell dpkg-architecture -qDEB_HOST_MULTIARCH)
deb: DEB_PREFIX = $(or $(PROGRAM_PREFIX),t)
deb: setup-deb
	@$(MAKE) --no-print-directory AS_BUILT=$(AS_BUILT) all man generated $(TOOLS:%=$(B)/shared/%)
	$(call say,DEB,$(OUT)/deb)
	@rm -rf $(OUT)/deb/tree
	@$(MAKE) --no-print-directory V=0 AS_BUILT=1 install STRIP= TOOLS_FROM=$(B)/shared PROGRAM_PREFIX=$(DEB_PREFIX) $(DEB_INSTALL) > /dev/null
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) .ci/deb/build.sh $(OUT)/deb/tree $(VERSION) $(DEB_PREFIX)

# ---- benchmarks: one table of ratios to yardsticks that run beside (tests/bench) ----
YARDS := $(addprefix $(B)/tests/bench/,yard.o yard_llama.o yard_evals.o)
BENCH := $(addprefix $(B)/tests/bench/,gen start size overhead weights search kernels single threads loops convolutions networks evals workloads ranks) $(if $(MPI_LIB),$(B)/tests/bench/yard_mpi)
$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/tests/bench/bench.o $(YARDS) $(B)/libthunkline-all.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS)
$(B)/tests/bench/yard_mpi: tests/bench/yard_mpi.c
	@mkdir -p $(@D)
	$(Q)$(MPICC) -O2 -o $@ $<
$(YARDS): CFLAGS += -O3 -march=native
# As compilers do by themselves.
$(B)/tests/bench/yard_evals.o: ALL_CFLAGS += -ffp-contract=fast
$(B)/tests/bench/overhead.o: CFLAGS += -fno-builtin
## ulp: the largest error of each vectorised function, in units of the last place, by level of CPU
ulp: $(B)/tests/unit/vmath $(B)/tests/unit/vmath_complex
	@for t in $^; do "$$t" table; done | grep level
## bench: measure beside yardsticks; the figures go to build/bench/figures.json; COMPARE=FILE, those of an earlier run, says which ratios moved
bench: all $(MPI_LIB) $(BENCH)
	@CC="$(CC)" COMPARE="$(COMPARE)" tests/bench/run.sh $(abspath $(B))

## fuzz: SECONDS=10 libFuzzer on each target of tests/fuzz (clang)
## fuzz-seeds: mutate the seeds of each target a fixed number of times
# ---- fuzzing: `make fuzz SECONDS=n` runs each target of tests/fuzz for so long under libFuzzer, with sanitizers (clang);
# `make fuzz-seeds` mutates their seeds a fixed number of times with any compiler ----
FUZZ_C := $(wildcard tests/fuzz/*.c)
SECONDS ?= 10
fuzz:
	@$(MAKE) --no-print-directory CC=clang B=$(B)-fuzz SAN=fuzzer-no-link,address,undefined OPT=-O1 libfuzzer fuzz-programs $(B)-fuzz/tests/torture/graph
	@tests/fuzz/run.sh $(B)-fuzz/libfuzzer $(SECONDS)
fuzz-programs: $(FUZZ_C:%.c=$(B)/%)
fuzz-seeds: $(FUZZ_C:%.c=$(B)/%)
	@for t in $^; do $$t --rounds 20000 || exit 1; done
# The tools' option tables, for the command lines: their objects with mains of other names.
FUZZ_CMD := $(TOOLS:%=$(B)/tests/fuzz/cmd-%.o)
define FUZZ_CMD_RULE
$(B)/tests/fuzz/cmd-$(1).o: $(patsubst %.c,$(B)/%.o,$(wildcard cmd/$(1)/*.c))
	@mkdir -p $$(@D)
	$$(Q)ld -r -o $$@ $$^
	$$(Q)objcopy --redefine-sym main=$(1)_main $$@
endef
$(foreach t,$(TOOLS),$(eval $(call FUZZ_CMD_RULE,$(t))))
$(B)/tests/fuzz/cli $(B)/libfuzzer/cli: $(FUZZ_CMD)
libfuzzer: $(FUZZ_C:tests/fuzz/%.c=$(B)/libfuzzer/%)
$(B)/libfuzzer/%: tests/fuzz/%.c $(B)/libthunkline-all.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -DLIBFUZZER -fsanitize=fuzzer $(LDFLAGS) -MF $@.d -o $@ $< $(filter %.o,$^) $(B)/libthunkline-all.a $(LDLIBS)

# ---- coverage: what unit programs, bats and fuzz seeds reach, by gcov (gcc) ----
## coverage: lines and branches that the tests reach; what they never reach is listed in build-cov/coverage.txt
# What is inlined into several places counts once, as it is written.
COV := $(B)-cov
COV_FLUSH := $(COV)/tests/coverage/flush.o
COV_MAKE = $(MAKE) --no-print-directory B=$(COV) OPT=-O0 SIMD_OPT=-O0 CFLAGS='-g1 --coverage -fprofile-update=atomic -Wno-sign-conversion -Wno-attributes -Dalways_inline=noinline' LINK=-no-pie
COV_LINK := --coverage -Wl,--wrap=_exit,--wrap=abort,--wrap=raise $(abspath $(COV_FLUSH))
coverage: setup-test
	+@find $(COV) -name '*.gcda' -delete 2>/dev/null; $(COV_MAKE) $(COV_FLUSH)
	+@$(COV_MAKE) LDFLAGS='$(COV_LINK)' test-programs fuzz-programs
	@tests/coverage/run.sh $(COV) $(UNIT_BIN:$(B)/%=$(COV)/%) $(FUZZ_C:%.c=$(COV)/%)

# ---- torture: campaigns against the tools (tests/torture) ----
## torture: SECONDS=60 SEED=1 random graphs, failing allocations and writes, signals; failures are kept in build/torture
SEED ?= 1
TORTURE ?=
torture-programs: tools $(B)/tests/torture/graph $(B)/tests/prop/allocations $(B)/tests/torture/failalloc.so $(B)/tests/torture/failwrite.so
$(B)/tests/torture/%.so: tests/torture/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -fPIC -O1 -Wall -Wextra -o $@ $<
torture: SECONDS = 60
torture: torture-programs
	@tests/torture/run.sh $(B) $(SECONDS) $(SEED) $(TORTURE)

# ---- mutants: do the tests notice a changed operator, constant or comparison? (tests/mutants) ----
## mutants: N=100 SEED=1 change one place of lib and cmd at a time and run the tests; nine of ten must be found
N ?= 100
mutants: setup-test
	@tests/mutants/run.sh . $(B)-mutants $(N) $(SEED)

## help: this list
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST)) | sort | awk -F': ' '{ printf "%-13s %s\n", $$1, substr($$0, length($$1) + 3) }'

## metrics: figures about the shape of the code, to look at (tests/metrics)
metrics:
	@tests/metrics/run.sh
## clean: remove the build
clean:
	rm -rf $(B)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: FORCE mpi setup-mpi ulp dist deb setup-deb metrics mutants torture torture-programs coverage help bench fuzz fuzz-programs fuzz-seeds libfuzzer all man generated completions install uninstall lib tools unit clean demo test test-programs setup-build setup-test check-san check-arm64
.SECONDARY:
