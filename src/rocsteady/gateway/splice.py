"""Put another model name into a request without touching any other byte."""

from __future__ import annotations

import json
import re

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STEP = re.compile(rb'[\[\]{}"]')
_SPACE = re.compile(rb"[ \t\r\n]*")


def splice_model(body: bytes, name: str) -> bytes:
    """The body with the value of the top-level key ``model`` replaced; as it is where there is none.

    ``body`` is a valid JSON object (it was decoded before). Where the key stands twice, each is replaced.
    """
    new = json.dumps(name).encode()
    cuts: list[tuple[int, int]] = []
    depth, at = 0, 0
    key: bytes | None = None
    while step := _STEP.search(body, at):
        at, sign = step.start(), step.group()
        if sign in b"{[":
            depth += 1
            key = None
            at += 1
        elif sign in b"}]":
            depth -= 1
            at += 1
        else:
            string = _STRING.match(body, at)
            if string is None:
                return body
            after = _next(body, string.end())
            if depth == 1 and body[after : after + 1] == b":":
                key = string.group()
                at = _next(body, after + 1)
                if _is_model(key) and body[at : at + 1] == b'"':
                    value = _STRING.match(body, at)
                    if value is None:
                        return body
                    cuts.append(value.span())
                    at = value.end()
                continue
            at = string.end()
    for start, end in reversed(cuts):
        body = body[:start] + new + body[end:]
    return body


def _next(body: bytes, at: int) -> int:
    found = _SPACE.match(body, at)
    return found.end() if found else at


def _is_model(key: bytes) -> bool:
    if b"\\" not in key:
        return key == b'"model"'
    try:
        return bool(json.loads(key) == "model")
    except ValueError:
        return False
