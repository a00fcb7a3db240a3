"""The README's transcript is what the program prints, and every command it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from rocsteady.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


def test_transcript_is_the_golden_report() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    golden = (ROOT / "tests/golden/firmware-missing.txt").read_text(encoding="utf-8").rstrip()
    assert golden in readme


def test_commands_exist_and_are_documented() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    group = typer.main.get_group(app)
    for name in group.commands:
        assert re.search(rf"`{name}\b", readme), f"{name} is not in the README"
    for named in re.findall(r"^\| `([a-z-]+)", readme, re.MULTILINE):
        assert named in group.commands, named
