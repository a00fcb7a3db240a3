# The two commands of the README are `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2

.PHONY: demo test check docs benchmarks clean

$(VENV)/.run: pyproject.toml constraints.txt
	sh tools/venv.sh "$(PYTHON)" "$(VENV)"
	$(BIN)/python -m pip install --quiet -c constraints.txt .
	touch $@

$(VENV)-dev/.ready: pyproject.toml constraints.txt
	sh tools/venv.sh "$(PYTHON)" "$(VENV)-dev"
	$(VENV)-dev/bin/python -m pip install --quiet -c constraints.txt -e '.[all,test,check]'
	touch $@

# A crash on a synthetic MI210 node, diagnosed.
demo: $(VENV)/.run
	@$(BIN)/rocsteady demo

check: $(VENV)-dev/.ready
	$(VENV)-dev/bin/ruff check .
	$(VENV)-dev/bin/ruff format --check .
	$(VENV)-dev/bin/mypy
	$(VENV)-dev/bin/lint-imports
	$(VENV)-dev/bin/python tools/generate_docs.py --check

# Debian packages that tests use are installed where we may; without them those tests skip and say which.
test: check
	sh tools/system_packages.sh
	$(VENV)-dev/bin/python -m pytest -n $(JOBS) -rs

docs: $(VENV)-dev/.ready
	$(VENV)-dev/bin/python tools/generate_docs.py

clean:
	rm -rf $(VENV) $(VENV)-dev build dist
