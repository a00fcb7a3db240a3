"""The catalog command finds what an alert names, too."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rocsteady.catalog.observed import observed


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rocsteady", "catalog", *arguments], capture_output=True, text=True, check=False
    )


def test_modes_of_alerts_are_listed_shown_and_found() -> None:
    mode = next(iter(observed().values()))
    listed = json.loads(run("list", "--category", "observed", "--format", "json").stdout)["modes"]
    assert {row["id"] for row in listed} == observed().keys()
    for name in (mode.id, mode.id.lower(), mode.slug):
        done = run("show", name)
        assert done.returncode == 0 and mode.sources[0].url in done.stdout
    assert json.loads(run("show", mode.id, "--format", "json").stdout)["id"] == mode.id
    assert mode.slug in run("search", *mode.title.split()).stdout


@pytest.mark.parametrize("arguments", [("show", "OBS-9999"), ("list", "--category", "nonsense")])
def test_what_is_not_there(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
