"""Entry point: the exit code is 2, with one line, whenever the command could not do its work."""

from __future__ import annotations

import sys

from rocsteady import __version__


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"rocsteady {__version__}\n")
        return
    from rocsteady.cli.app import app
    from rocsteady.model import RocsteadyError

    try:
        app()
    except RocsteadyError as error:
        sys.stderr.write(f"rocsteady: {error}\n")
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None


if __name__ == "__main__":
    main()
