"""A probe that compares facts of one GPU is a statement about that GPU, also on a node with several."""

from __future__ import annotations

from rocsteady.catalog import Catalog, load_catalog
from tests.support import judged, tree


def test_each_capped_gpu_has_its_own_finding() -> None:
    files: dict[str, str | bytes] = {}
    for card, (address, cap) in enumerate([("03", 150), ("43", 300), ("83", 150)]):
        base = f"sys/class/drm/card{card}/device"
        files |= {
            f"{base}/vendor": "0x1002\n", f"{base}/device": "0x740f\n",
            f"{base}/uevent": f"DRIVER=amdgpu\nPCI_SLOT_NAME=0000:{address}:00.0\n",
            f"{base}/hwmon/hwmon{card}/name": "amdgpu\n",
            f"{base}/hwmon/hwmon{card}/power1_cap": f"{cap}000000\n",
            f"{base}/hwmon/hwmon{card}/power1_cap_default": "300000000\n",
        }  # fmt: skip
    mode = next(m for m in load_catalog().modes.values() if m.slug == "power-cap-below-default")
    answer = judged(tree(files), Catalog({mode.id: mode}))
    assert {f.subject.id for f in answer.findings} == {"0000:03:00.0", "0000:83:00.0"}
