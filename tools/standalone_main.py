"""The command line of the stand-alone script. ``tools/make_standalone.py`` puts it behind the modules it uses.

Python 3.6, standard library only; run as part of the generated file, never by itself.
"""

import argparse
import os
import sys
import tarfile

from rocsteady.events.wanted import COMMANDS as LOG_COMMANDS
from rocsteady.events.wanted import LOGS
from rocsteady.facts.wanted import COMMANDS, FILES
from rocsteady.hostfs.capture import Capture, Wanted, summary

VERSION = "0"
DEFAULT_OUTPUT = "rocsteady-snapshot.tar.gz"


def main(arguments=None):  # type: (list[str] | None) -> int
    """Parse arguments, take the snapshot; the exit code is 2 where that was not possible."""
    parser = argparse.ArgumentParser(
        description="Captures this node for 'rocsteady diagnose' elsewhere. Reads only; needs no root and no packages."
    )
    parser.add_argument("-o", "--output", default=DEFAULT_OUTPUT, help="file to write, .tar.gz (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="show what would be taken, and take nothing")
    parser.add_argument("--log", action="append", default=[], metavar="NAME", help="add a log: container name or file")
    parser.add_argument("--no-redact", action="store_true", help="keep names, addresses, serial numbers and secrets")
    parser.add_argument("--root", default="/", help="take a tree as if it were this machine")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    parser.add_argument("--version", action="version", version="rocsteady-snapshot " + VERSION)
    options = parser.parse_args(arguments)
    wanted = Wanted(FILES, LOGS, COMMANDS + LOG_COMMANDS)
    if not os.path.isdir(options.root):
        return fail(options.root + ": no such directory")
    if not options.output.endswith((".tar.gz", ".tgz")):
        return fail(options.output + ": the name must end in .tar.gz")
    say = None if options.quiet else lambda text: sys.stderr.write("  " + text + "\n")
    capture = Capture(options.root, wanted, not options.no_redact, tuple(options.log), say, VERSION)
    if options.list:
        for kind, what in capture.plan():
            sys.stdout.write(f"{kind:<8} {what}\n")
        return 0
    partial = f"{options.output}.partial-{os.getpid()}"
    try:
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
                manifest = capture.take(archive)
        os.replace(partial, options.output)
    except (OSError, KeyboardInterrupt) as error:
        if os.path.exists(partial):
            os.unlink(partial)
        return fail("{}: {}".format(options.output, getattr(error, "strerror", None) or "interrupted"))
    for line in summary(manifest, options.output):
        sys.stderr.write(line + "\n")
    return 0


def fail(message):  # type: (str) -> int
    """One line and exit code 2."""
    sys.stderr.write("rocsteady-snapshot: " + message + "\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
