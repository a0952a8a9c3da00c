"""The command line: a thin face of the public API."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Bad input ends with one clear message and exit code 2."""
    from discreet.certificate import CertificateError
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
