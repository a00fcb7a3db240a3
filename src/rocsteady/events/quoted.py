"""Text that holds the words of an error without being one: prompts of users, source code, documents, our reports.

``document`` judges a whole file by its beginning; ``quoted`` judges one line in which a pattern was found. Both
are narrow: a person's report of what was seen ("I get `HIP out of memory`") is not a quotation.
"""

from __future__ import annotations

import re

from rocsteady.events.prefix import split

_OURS = re.compile(r'^\s*\[?\s*\{\s*"schema"\s*:\s*"rocsteady\.|<title>rocsteady diagnosis</title>')
_ENTRY = re.compile(
    r"(?=.*^id: [A-Z][A-Z0-9]{1,5}-\d{4}$)(?=.*^slug: [a-z0-9-]+$)(?=.*^role: \w+$)", re.MULTILINE | re.DOTALL
)
_COMMIT = re.compile(r"\A\s*commit [0-9a-f]{12,40}(?: \([^\n]*\))?\n(?:Merge: [^\n]*\n)?Author: ")
_MANUAL = re.compile(r"\A\s*([\w.-]+\(\d\w{0,3}\)) .* \1\s*\n")
_SHORT_COMMIT = re.compile(r"^[0-9a-f]{7,16} (?!\w+ *=)[\w(]")
_CODE = re.compile(
    r"^\s*(?:(?:def|class|import|from|return|raise|assert|with|elif|async|static|struct|typedef|else if|const|enum) ?\b"
    r"|(?:if|for|while|switch) ?\(.*\) ?\{?$|(?:if|for|while|try|else|except|finally)\b.*:$|#(?:include|define|if|endif)\b"
    r"|[})\]]+[,;]?$|(?:Kind\()?$(?<=\()|@\w[\w.]*|[\w.>-]+\(.*\);?$|\w+ ?=(?!=) ?\S|[A-Za-z_]\w*: [\w\[\], |]+ = |r?f?\".*\",?$|.*[;{]$|/?\*+/?\s?)"
)
_STRONG = re.compile(
    r"^\s*(?:(?:async )?def \w+\(|class \w+[(:]|import \w|from [\w.]+ import |return\b|#include |#define |static |typedef |struct \w+ )"
)
_LOGGED = re.compile(
    r"^\s*(?:File \".*\", line \d+|Traceback \(most recent)|^(?:[\w@.:~\[\]()-]+[$#>]|\$) \w|^\w+Error: |^(?:INFO|WARNING|ERROR)\b"
)
_SAMPLE = 400
_FEWEST = 5
_STRONGEST = 2

_REQUEST = re.compile(
    r"\bprompt: ?['\"]|\bprompt=['\"]|GenerateReqInput\(|\"(?:messages|prompt|content|role)\"\s*:\s*[\[\"]|\btext='"
)
_STATEMENT = re.compile(
    r"(?:^|[\s;])(?:raise|throw)\s+[\w.:]+\(\s*[frbu]?[\"'(]|\b(?:dev_(?:err|warn|info|notice|crit)|pr_\w+|DRM_\w+|drm_(?:err|warn|info|dbg)\w*|"
    r"printk|f?printf|WARN(?:_ONCE)?|_?log(?:ger|ging)?\.\w+|warnings\.warn)\(|\bin str\(\w+\)|(?:^|\s)assert [^:]+, [frbu]?[\"']"
    r"|^\s*[A-Z][A-Z_]+ = [frbu]?[\"']"
)
_ADVICE = re.compile(
    r"^\W*(?:if|when|whenever|in case)\s+(?:you|the [\w ]{1,20}|it|there|this)\s+(?:see|get|encounter|shows?|prints?|says?|hit|run into)\b",
    re.IGNORECASE,
)
_MEANING = re.compile(
    r"^[`\"'][^`\"']*[`\"'][^`\"']{0,40}?\s(?:means|indicates|is raised|is announced|is printed|may occur|can occur)\b|^.{0,200}\b(?:is raised by|is announced by)\b"
)
_REPORT = re.compile(r"^\s{4,6}[\w./-]+:\d+  \S|^\s{2,4}(?:Not to be confused: |→ |explains: )")


def document(head: str) -> str | None:
    """What kind of document this is, in words, where it is surely no log; ``head`` is the beginning of the file."""
    if _OURS.search(head[:4000]):
        return "a report of rocsteady"
    if _ENTRY.match(head):
        return "a failure mode of a catalog"
    if _COMMIT.match(head):
        return "a history of commits"
    if _MANUAL.match(head):
        return "a manual page"
    lines = [x.rstrip() for x in head.split("\n") if x.strip()][:_SAMPLE]
    if len(lines) < _FEWEST:
        return None
    if sum(1 for x in lines if _SHORT_COMMIT.match(x)) >= 0.9 * len(lines):
        return "a history of commits"
    code = sum(1 for x in lines if _CODE.match(x))
    strong = sum(1 for x in lines if _STRONG.match(x))
    if strong < _STRONGEST or code < 0.5 * len(lines) or any(_is_logged(x) for x in lines):
        return None
    return "source code"


def _is_logged(line: str) -> bool:
    if _LOGGED.match(line):
        return True
    parts = split(line, 2000)
    return parts.at is not None or parts.uptime is not None


def request(line: str, start: int) -> bool:
    """Whether the text from ``start`` on belongs to a prompt or chat message that a server logged."""
    match = _REQUEST.search(line, 0, start)
    return match is not None


def quoted(line: str, start: int) -> bool:
    """Whether what was found at ``start`` of this line is quoted: by a prompt, a statement, advice or our report.

    >>> quoted('    raise RuntimeError("No HIP GPUs are available")', 24)
    True
    >>> quoted("RuntimeError: No HIP GPUs are available", 14)
    False
    """
    if request(line, start):
        return True
    statement = _STATEMENT.search(line)
    if statement is not None and statement.start() <= start:
        return True
    if _REPORT.match(line):
        return True
    return (_ADVICE.match(line) is not None or _MEANING.match(line) is not None) and split(line, 2000).message == line
