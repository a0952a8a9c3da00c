"""The command line: a thin face of the public API."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. Bad input ends with one clear message and exit code 2."""
    from discreet.cli.console import plain_warnings

    with plain_warnings():
        _main()


def _main() -> None:
    from discreet.certificate import CertificateError
    from discreet.cli.options import only_for

    if "_DISCREET_COMPLETE" not in os.environ:
        only_for(sys.argv[1:])
    from discreet.cli.app import app
    from discreet.cli.console import complain
    from discreet.ledger.errors import LedgerError
    from discreet.log.errors import LogError
    from discreet.mechanisms.parameters import ParameterError

    try:
        app(prog_name="discreet")
    except (LogError, ParameterError, CertificateError, LedgerError) as error:
        complain(error)
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)
