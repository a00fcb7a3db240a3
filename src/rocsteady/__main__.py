"""Entry point: the exit code is 2, with one line, whenever the command could not do its work."""

from __future__ import annotations

import os
import sys

from rocsteady import __version__


def main() -> None:
    """Run the command line. ``ROCSTEADY_DEBUG=1`` shows the traceback of an internal error."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"rocsteady {__version__}\n")
        return
    from rocsteady.cli.app import app
    from rocsteady.model import RocsteadyError

    try:
        app()
    except RocsteadyError as error:
        fail(str(error))
    except SystemExit:
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":  # click's answer to a closed pipe, which is no failure
            raise SystemExit(0) from None
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away: nothing is left to say
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except MemoryError:
        fail("out of memory")
    except Exception as error:
        if os.environ.get("ROCSTEADY_DEBUG"):
            raise
        fail(f"internal error ({type(error).__name__}: {error}); ROCSTEADY_DEBUG=1 shows where; please report it")


def fail(message: str) -> None:
    """One line on standard error, exit code 2."""
    sys.stderr.write(f"rocsteady: {' '.join(message.split())}\n")
    raise SystemExit(2)


if __name__ == "__main__":
    main()
