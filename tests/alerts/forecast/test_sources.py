"""Points from files and from Prometheus' answers."""

from __future__ import annotations

import json
import math
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocsteady.alerts.forecast.files import Form, guessed, parse, read_points
from rocsteady.alerts.forecast.prometheus import Server, checked, query_range
from rocsteady.alerts.forecast.series import Refusal, regular
from rocsteady.model import InputError

FORMS: list[Form] = ["csv", "jsonl", "openmetrics", "prometheus"]
SERVER = Server(url="http://prometheus:9090", token="secret")


def answer(*series: list[list[object]]) -> bytes:
    rows = [{"metric": {"job": f"j{place}"}, "values": values} for place, values in enumerate(series)]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": rows}}).encode()


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b"time,value\n1700000000,0.5\n1700000060,0.75\n", "csv"),
        (b"1700000000,0.5\n1700000060,0.75\n", "csv"),
        (b"\xef\xbb\xbftime;ttft\r\n2023-11-14T22:13:20Z;0.5\r\n2023-11-14T22:14:20Z;0.75\r\n", "csv"),
        (b"timestamp\tvalue\n1700000000000\t0.5\n1700000060000\t0.75\n", "csv"),
        (b'{"time": 1700000000, "value": 0.5}\n\n{"ts": "2023-11-14 22:14:20", "v": 0.75}\n', "jsonl"),
        (b"[1700000000, 0.5]\n[1700000060, 0.75]\n", "jsonl"),
        (b'# TYPE a gauge\na{b="c d"} 0.5 1700000000\na{b="c d"} 0.75 1700000060\n# EOF\n', "openmetrics"),
        (b"a 0.5 1700000000000\na 0.75 1700000060000\n", "openmetrics"),
        (answer([[1700000000, "0.5"], [1700000060, "0.75"]]), "prometheus"),
    ],
)  # fmt: skip
def test_the_same_two_points(body: bytes, form: Form) -> None:
    assert guessed(body) == form
    assert parse(body, "x", form) == [(1700000000.0, 0.5), (1700000060.0, 0.75)]


def test_columns_and_series_are_named() -> None:
    table = b"time,p50,p95\n1,2,3\n4,5,\n"
    points = parse(table, "x", "csv", "p95")
    assert points[0] == (1.0, 3.0) and math.isnan(points[1][1])
    assert parse(b'{"time": 1, "a": 2, "b": 3}', "x", "jsonl", "b") == [(1.0, 3.0)]
    text = b'a{k="1"} 2 1\na{k="2"} 3 1\nb 4 1\n'
    assert parse(text, "x", "openmetrics", 'a{k="2"}') == [(1.0, 3.0)]
    assert parse(text, "x", "openmetrics", "b") == [(1.0, 4.0)]


@pytest.mark.parametrize(
    ("body", "form", "said"),
    [
        (b"time,p50,p95\n1,2,3\n", "csv", "--column"),
        (b"time,value\n1,2\nx,3\n", "csv", "x:3"),
        (b"time,value\n1,2\n2\n", "csv", "x:3"),
        (b'{"time": 1, "value": 2}\nnonsense\n', "jsonl", "x:2"),
        (b'{"value": 2}\n', "jsonl", "x:1"),
        (b'{"time": 1, "a": 2, "b": 3}\n', "jsonl", "x:1"),
        (b"a 1\n", "openmetrics", "timestamp"),
        (b"a 1 1\nb 1 1\n", "openmetrics", "--column"),
        (b"\xff\xfe", "csv", "UTF-8"),
        (b"<html>", "prometheus", "JSON"),
        (b"[]", "prometheus", "not an answer"),
        (b'{"status": "error", "error": "parse error at char 3"}', "prometheus", "char 3"),
        (answer([[1, "1"]], [[1, "2"]]), "prometheus", "2 series"),
        (answer([["x", "1"]]), "prometheus", "range"),
    ],
)  # fmt: skip
def test_bad_files_say_where(body: bytes, form: Form, said: str) -> None:
    with pytest.raises(InputError) as error:
        parse(body, "x", form)
    assert said in str(error.value)


@given(body=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)), form=st.sampled_from(FORMS))
def test_any_bytes_give_points_or_one_error(body: bytes, form: Form) -> None:
    try:
        points = parse(body, "x", form)
    except InputError:
        return
    assert all(isinstance(part, float) for point in points for part in point)


@given(
    st.lists(st.tuples(st.floats(), st.floats()), max_size=60),
    st.one_of(st.none(), st.floats(min_value=1e-3, max_value=1e6)),
)
def test_any_points_give_a_grid_or_a_reason(points: list[tuple[float, float]], step: float | None) -> None:
    series = regular(points, step, 100)
    if isinstance(series, Refusal):
        assert series.text
        return
    assert 1 <= len(series.values) <= 100
    assert math.isfinite(series.end) and math.isfinite(series.values[-1])


def test_a_grid_keeps_gaps_and_averages_a_cell() -> None:
    series = regular([(300.0, 5.0), (0.0, 1.0), (58.0, 2.0), (62.0, 4.0), (240.0, math.inf)], 60.0, 100)
    assert not isinstance(series, Refusal)
    assert series.dropped == 1 and series.end == 300.0
    assert [None if math.isnan(v) else v for v in series.values] == [1.0, 3.0, None, None, None, 5.0]


def test_missing_files(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read_points(path, None, None)


def test_a_range_is_asked_for() -> None:
    asked: list[urllib.request.Request] = []

    def transport(request: urllib.request.Request, timeout: float) -> bytes:
        asked.append(request)
        assert timeout == 10.0
        return answer([[1, "0.5"], [61, "NaN"], [121, "+Inf"]])

    points = query_range(SERVER, "up", 1.0, 121.0, 60.0, transport)
    assert points[0] == (1.0, 0.5) and all(math.isnan(value) for _, value in points[1:])
    assert asked[0].full_url == "http://prometheus:9090/api/v1/query_range"
    assert asked[0].data == b"query=up&start=1.000&end=121.000&step=60"
    assert asked[0].get_header("Authorization") == "Bearer secret"


def test_an_unreachable_server_is_one_line_without_the_token() -> None:
    def transport(_request: urllib.request.Request, _timeout: float) -> bytes:
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(InputError) as error:
        query_range(SERVER, "up", 1.0, 2.0, 1.0, transport)
    assert str(error.value) == "http://prometheus:9090: Connection refused"


@pytest.mark.parametrize(
    "url", ["", "localhost:9090", "file:///etc/passwd", "http://u:p@host", "http://host:99999", "http://"]
)
def test_addresses(url: str) -> None:
    with pytest.raises(InputError) as error:
        checked(url)
    assert "u:p" not in str(error.value)
