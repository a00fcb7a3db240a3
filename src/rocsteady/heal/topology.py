"""Takes links out of an RCCL topology file, so that the rings are built without them.

Source: what RCCL writes with ``NCCL_TOPO_DUMP_FILE`` and reads with ``NCCL_TOPO_FILE``.
Sample: ``<pci busid="0000:05:00.0" ...><gpu dev="0" ...><xgmi target="0000:15:00.0" count="1" tclass="0x038000"/></gpu></pci>``
"""

from __future__ import annotations

from xml.etree import ElementTree

from rocsteady.model import InputError

LINKS = ("xgmi", "nvlink")
"""RCCL calls its links xgmi; nvlink is what it inherited and some releases still write."""


def without_links(text: str, pairs: list[tuple[str, str]]) -> str:
    """The file without the links between these pairs of GPUs (BDF), in both directions.

    Raises:
        InputError: it is no such file, or a link is not in it.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("topology file: it declares entities, which RCCL does not write")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"topology file: {error}") from error
    if root.tag != "system":
        raise InputError(f"topology file: <system> was wanted, found <{root.tag[:40]}>")
    wanted = {(a.lower(), b.lower()) for a, b in pairs} | {(b.lower(), a.lower()) for a, b in pairs}
    removed: set[tuple[str, str]] = set()
    for pci in root.iter("pci"):
        here = pci.get("busid", "").lower()
        for gpu in pci.findall("gpu"):
            for link in list(gpu):
                there = (here, link.get("target", "").lower())
                if link.tag in LINKS and there in wanted:
                    gpu.remove(link)
                    removed.add(there)
    for a, b in pairs:
        if not removed & {(a.lower(), b.lower()), (b.lower(), a.lower())}:
            raise InputError(f"topology file: no link between {a} and {b}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"
