"""All text readers, in the order they are tried. A new reader is added here and nowhere else."""

from __future__ import annotations

from rocsteady.facts import environment, notes, uname
from rocsteady.facts.readers import TextReader

TEXT_READERS: tuple[TextReader, ...] = (
    notes.READER,
    environment.READER,
    uname.READER,
)
