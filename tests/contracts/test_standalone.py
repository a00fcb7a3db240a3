"""The stand-alone script is generated from the package and runs on Python 3.6."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "dist-tools" / "rocsteady-snapshot.py"


def test_is_generated() -> None:
    """The committed file is what the generator writes now."""
    tool = ROOT / "tools" / "make_standalone.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_needs_nothing_newer_than_3_6() -> None:
    """Syntax by the grammar of 3.6, library by vermin."""
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 6))
    pytest.importorskip("vermin")
    command = [
        sys.executable,
        "-c",
        "from vermin import main; main()",
        "-t=3.6-",
        "--no-tips",
        "--violations",
        str(SCRIPT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_imports_only_the_standard_library() -> None:
    """Nothing of the package or of others."""
    tree = ast.parse(SCRIPT.read_text("utf-8"))
    names = {
        alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names <= set(sys.stdlib_module_names)
