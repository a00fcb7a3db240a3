"""The HTML report opened in a real browser: it is laid out, shows the cause first, and asks for nothing outside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LOG = (
    "[    9.605986] amdgpu 0000:23:00.0: Direct firmware load for amdgpu/arcturus_gpu_info.bin failed with error -2\n"
    "[    9.605988] amdgpu 0000:23:00.0: Fatal error during GPU init <script>alert(1)</script>\n"
    "[    9.606063] amdgpu: probe of 0000:23:00.0 failed with error -2\n"
)


@pytest.mark.skipif(CHROMIUM is None, reason="needs the Debian package chromium")
def test_report_in_chromium(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    (tmp_path / "dmesg.txt").write_text(LOG)
    page = tmp_path / "report.html"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "rocsteady",
            "diagnose",
            str(tmp_path / "dmesg.txt"),
            "--format",
            "html",
            "-o",
            str(page),
        ],
        check=False,
    )
    browser = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-quic", f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    dom = subprocess.run([*browser, "--dump-dom", page.as_uri()], capture_output=True, timeout=120, check=True)
    text = dom.stdout.decode()
    assert "<article" in text and "failing" in text
    assert text.index("<h2>Causes</h2>") < text.index("<article")
    assert "<script>" not in text, "log text must be escaped"
    shot = tmp_path / "report.png"
    subprocess.run(
        [*browser, f"--screenshot={shot}", "--window-size=1000,1400", page.as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert shot.stat().st_size > 20_000, "the page is blank"
