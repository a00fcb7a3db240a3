"""No stop string gets out in part, wherever the text is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocsteady.cpu_worker.stops import StopFilter
from rocsteady.cpu_worker.utf8 import Utf8

TEXT = st.text(alphabet="abc", max_size=40)


@given(
    st.lists(TEXT, max_size=20), st.lists(st.text(alphabet="abc", min_size=1, max_size=5), max_size=3), st.booleans()
)
def test_equals_the_text_up_to_the_first_stop(pieces: list[str], stops: list[str], include: bool) -> None:
    filtered = StopFilter(stops, include)
    out = ""
    for piece in pieces:
        for character in piece:
            out += filtered.step(character)
            if filtered.found is not None:
                break
        if filtered.found is not None:
            break
    out += filtered.end()
    text = "".join(pieces)
    ends = [text.find(s) + len(s) for s in stops if s in text]
    if not ends:
        assert out == text and filtered.found is None
    else:
        seen = text[: min(ends)]  # what was there when the first stop string was complete
        assert (filtered.found is not None and seen.endswith(filtered.found)) or filtered.found in seen
        start = seen.find(filtered.found)
        assert out == seen[: start + (len(filtered.found) if include else 0)]


@given(st.text(max_size=30))
def test_characters_come_whole(text: str) -> None:
    decoder = Utf8()
    data = text.encode("utf-8", "replace")
    assert "".join(decoder.step(bytes((b,))) for b in data) == data.decode()
