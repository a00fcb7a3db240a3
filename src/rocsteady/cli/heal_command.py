"""``rocsteady heal``: run, status, history, approve, pause, resume, explain."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rocsteady.heal.config import HealConfig
    from rocsteady.heal.journal import Journal

Format = Literal["text", "json"]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE",
        help="heal.toml; else $ROCSTEADY_HEAL_CONFIG, ./heal.toml, /etc/rocsteady/heal.toml.",
    ),
]  # fmt: skip
StateOption = Annotated[
    Path | None, typer.Option("--state", metavar="FILE", help="The state database, in place of the one in the config.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]
ByOption = Annotated[str | None, typer.Option("--by", help="Who says so; default: the user's name.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        help="Repair GPUs and workers: budgets, approval, receipts. Dry run by default.", no_args_is_help=True
    )
    group.command("run", epilog="Example:\n\n  rocsteady heal run --config heal.toml")(run)
    group.command("check", epilog="Example:\n\n  rocsteady heal check heal.toml")(check)
    group.command("status", epilog="Example:\n\n  rocsteady heal status --format json")(status)
    group.command("history", epilog="Example:\n\n  rocsteady heal history --last 20")(history)
    group.command("approve", epilog="Example:\n\n  rocsteady heal approve 1a2b3c4d-reset-1")(approve)
    group.command(
        "pause",
        epilog="Examples:\n\n  rocsteady heal pause --reason 'ticket 4711'\n\n  rocsteady heal pause --node n1 --for 2h",
    )(pause)
    group.command("resume", epilog="Example:\n\n  rocsteady heal resume")(resume)
    group.command(
        "explain", epilog="Examples:\n\n  rocsteady heal explain 1a2b3c4d\n\n  rocsteady heal explain 0000:05:00.0"
    )(explain)
    group.command("helper", epilog="Example:\n\n  rocsteady heal helper --config /etc/rocsteady/helper.toml")(helper)
    app.add_typer(group, name="heal")


def run(
    config: ConfigOption = None,
    act: Annotated[
        bool | None, typer.Option("--act/--dry-run", help="In place of dry_run in the config: really act, or only say.")
    ] = None,
    log_format: Annotated[Format, typer.Option("--log-format", help="Log on standard error: text or json.")] = "text",
) -> None:
    """Follow the GPUs and workers, receive alerts, and repair as far as the config allows."""
    from rocsteady.model import InputError

    loaded = _config(config)
    try:
        from rocsteady.heal.service import run as serve
    except ImportError as error:
        raise InputError(f"heal run needs {error.name}: pip install 'rocsteady[agent]'") from None
    import msgspec

    if act is not None:
        loaded = msgspec.structs.replace(loaded, dry_run=not act)

    def ready(address: str) -> None:
        mode = "dry run" if loaded.dry_run else "acting"
        sys.stderr.write(f"heal: {mode}, state {loaded.state}, {address}\n")
        sys.stderr.flush()

    def log(at: float, what: str, subject: str, detail: str) -> None:
        from rocsteady.heal.report import when

        if log_format == "json":
            line = msgspec.json.encode({"at": at, "what": what, "subject": subject, "detail": detail}).decode()
        else:
            line = f"{when(at)} {what} {subject}: {' '.join(detail.split())}"
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    serve(loaded, ready, log)


def helper(
    config: Annotated[
        Path, typer.Option("--config", metavar="FILE", help="helper.toml; only root may be able to write it.")
    ] = Path("/etc/rocsteady/helper.toml"),
    root: Annotated[Path, typer.Option(metavar="DIR", help="Root of the host: / or a mounted /host.")] = Path("/"),
) -> None:
    """The privileged part, run as root: a fixed list of verbs over a unix socket, for the users in its config."""
    from rocsteady.heal.helper.server import load_rules
    from rocsteady.heal.helper.server import run as serve

    def log(text: str) -> None:
        sys.stderr.write(" ".join(text.split()) + "\n")
        sys.stderr.flush()

    serve(load_rules(config), root, lambda address: log(f"helper: listening on {address}"), log)


def check(file: Annotated[Path, typer.Argument(help="heal.toml to check.")]) -> None:
    """Say whether a config is valid, and what heal would do by itself with it."""
    loaded = _config(file)
    policy = loaded.policy()
    from rocsteady.heal.ladder import load_ladder

    sys.stdout.write(
        f"{file}: valid, {len(loaded.node)} nodes, {len(loaded.worker)} workers, "
        f"{'dry run' if loaded.dry_run else 'acting'}\n"
    )
    for mode in ("auto", "approve", "off"):
        kinds = [kind for kind in load_ladder().kinds if policy.mode(kind) == mode]
        sys.stdout.write(f"{mode}: {', '.join(kinds) or '-'}\n")


def status(config: ConfigOption = None, state: StateOption = None, format_: FormatOption = "text") -> None:
    """Open faults and actions, what holds them, pauses, the breaker. Exit code 1 when a fault is open."""
    import time

    from rocsteady.heal import report

    with _Opened(config, state) as (journal, running):
        document = report.status(journal.state(time.time()), running, time.time())
    _print(document, report.status_text(document), format_)
    if document["faults"]:
        raise typer.Exit(1)


def history(
    config: ConfigOption = None,
    state: StateOption = None,
    last: Annotated[int, typer.Option("--last", min=1, max=100_000, help="How many receipts and audit lines.")] = 50,
    format_: FormatOption = "text",
) -> None:
    """Receipts of what was done, would have been done in a dry run, or was refused. JSON has the audit log as well."""
    from rocsteady.heal import report

    with _Opened(config, state) as (journal, _):
        document = report.history(journal.receipts(last), journal.audit_lines(last))
    _print(document, report.history_text(document), format_)


def approve(
    action: Annotated[str, typer.Argument(help="Id of an action that waits, from heal status.")],
    config: ConfigOption = None,
    state: StateOption = None,
    deny: Annotated[bool, typer.Option("--deny", help="Say no: the fault goes to people.")] = False,
    by: ByOption = None,
    format_: FormatOption = "text",
) -> None:
    """Say yes to an action that waits. Evidence, budgets and locks are checked again before it begins."""
    import time

    from rocsteady.heal.journal import Approval
    from rocsteady.model import InputError

    with _Opened(config, state) as (journal, _):
        found = journal.action(action)
        if found is None or found.phase != "approval":
            raise InputError(f"{action}: no action that waits for approval is called so")
        journal.approve(Approval(action, _by(by), not deny, time.time()))
    word = "denied" if deny else "approved"
    _print({"schema": "rocsteady.heal-answer/1", "did": word, "action": action}, f"{word}: {found.detail}\n", format_)


def pause(
    config: ConfigOption = None,
    state: StateOption = None,
    node: Annotated[str, typer.Option("--node", help="Only this node; default: all.")] = "",
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long: 90s, 30m, 2h, 1d; default: until resume.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; shown in status.")] = "a person holds it",
    by: ByOption = None,
    format_: FormatOption = "text",
) -> None:
    """Begin no action any more. What is under way is ended, so that nothing is left half done."""
    import time

    from rocsteady.heal.records import Pause

    now = time.time()
    until = now + _seconds(for_) if for_ is not None else None
    with _Opened(config, state) as (journal, _):
        journal.pause(Pause(node, reason, _by(by), now, until))
    _print({"schema": "rocsteady.heal-answer/1", "did": "paused", "node": node}, f"paused: {node or 'all'}\n", format_)


def resume(
    config: ConfigOption = None,
    state: StateOption = None,
    node: Annotated[
        str, typer.Option("--node", help="Only this node; default: the pause of all, and the breaker.")
    ] = "",
    by: ByOption = None,
    format_: FormatOption = "text",
) -> None:
    """Lift a pause, and close the breaker. Exit code 1 when there was nothing to lift."""
    import time

    with _Opened(config, state) as (journal, _):
        lifted = journal.resume(node, _by(by), time.time())
    text = f"resumed: {node or 'all'}\n" if lifted else "nothing was paused\n"
    _print(
        {"schema": "rocsteady.heal-answer/1", "did": "resumed" if lifted else "nothing", "node": node}, text, format_
    )
    if not lifted:
        raise typer.Exit(1)


def explain(
    name: Annotated[str, typer.Argument(help="A fault, an action, a GPU (PCI address), a worker or a node.")],
    config: ConfigOption = None,
    state: StateOption = None,
    format_: FormatOption = "text",
) -> None:
    """Why something was done or not: evidence and its age, the rungs with what became of each, what holds it now."""
    import time

    from rocsteady.heal import report

    with _Opened(config, state) as (journal, _):
        document = report.explain(journal, journal.state(time.time()), name)
    _print(document, report.explain_text(document, time.time()), format_)


def _config(file: Path | None) -> HealConfig:
    from rocsteady.heal.config import load_heal_config
    from rocsteady.model import InputError

    named = os.environ.get("ROCSTEADY_HEAL_CONFIG")
    places = [Path(named)] if named else [Path("heal.toml"), Path("/etc/rocsteady/heal.toml")]
    chosen = file or next((p for p in places if p.is_file()), None)
    if chosen is None:
        raise InputError(f"no configuration: --config, or one of {', '.join(map(str, places))}")
    return load_heal_config(chosen)


class _Opened:
    """The journal of a healer that may be running, and whether it is."""

    def __init__(self, config: Path | None, state: Path | None) -> None:
        self._path = state or Path(_config(config).state)

    def __enter__(self) -> tuple[Journal, bool]:
        from rocsteady.heal.journal import Journal, is_held
        from rocsteady.model import InputError

        if not self._path.is_file():
            raise InputError(f"{self._path}: no such file; heal run makes it")
        self._journal = Journal(self._path)
        return self._journal, is_held(self._path)

    def __exit__(self, *_: object) -> None:
        self._journal.close()


def _by(name: str | None) -> str:
    import getpass

    if name:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _seconds(text: str) -> float:
    from rocsteady.model import InputError

    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not (number.isascii() and number.isdigit()) or not 0 < int(number) < 10**6:
        raise InputError(f"--for {text}: a number and s, m, h or d was wanted")
    return float(int(number) * units[unit])


def _print(document: dict[str, Any], text: str, format_: Format) -> None:
    if format_ == "json":
        import msgspec

        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n")
    else:
        sys.stdout.write(text)
