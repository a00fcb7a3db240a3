"""Build hook: compile the catalog's YAML into the one file that is read at run time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileCatalog(BuildHookInterface[Any]):
    """Runs for wheels and for editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before files are collected."""
        sys.path.insert(0, str(Path(self.root) / "src"))
        from rocsteady.catalog.load import compile_modes

        compile_modes()
