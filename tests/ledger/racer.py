"""Many processes that race for releases of one source; some are killed at random moments.

Run as `python -m tests.ledger.racer LEDGER FOLDER PROCESSES ATTEMPTS KILLS`. A granted release
puts a file into FOLDER, named by its entry. A killed process is replaced by one that makes the
same attempts again, as people do.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from discreet.ledger import storage
from discreet.ledger.errors import RefusedError
from discreet.ledger.ledger import Ledger
from discreet.privacy.guarantee import Budget, Guarantee

EPSILON = 0.04
"""What each release costs."""


def promise(epsilon: float, delta: float = 0.0) -> Guarantee:
    """A plain proved guarantee."""
    budget = Budget(epsilon, delta)
    return Guarantee(
        status="proved", claimed=budget, holds=budget, reason="By assumption.", case_column="case"
    )


def race(where: str, folder: Path, attempts: int, gate: int) -> None:
    """Try to book and, when granted, let a file leave."""
    os.read(gate, 1)
    ledger = Ledger(where)
    for _ in range(attempts):
        try:
            entry = ledger.book("s", promise(EPSILON), mechanism="m", parameters={})
        except RefusedError:
            continue
        (folder / str(entry.number)).write_text("released")


def main() -> None:
    """Start the race and wait for its end."""
    storage.LOCK_SECONDS = 600  # nobody gives up waiting for a turn, however slow the machine
    where, folder = sys.argv[1], Path(sys.argv[2])
    processes, attempts, kills = (int(text) for text in sys.argv[3:6])
    gate, opener = os.pipe()
    quotas = [attempts // processes + (i < attempts % processes) for i in range(processes)]
    running: dict[int, int] = {}
    gate_open = False

    def start(quota: int) -> None:
        child = os.fork()
        if child:
            running[child] = quota
            return
        code = 1
        try:
            if not gate_open:
                os.close(opener)
            race(where, folder, quota, gate)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)

    Ledger(where).close()  # all that is imported for it is there before the first fork
    for quota in quotas:
        start(quota)
    gate_open = True
    os.close(opener)  # end of file opens the gate for all, also for those who come later
    failed = 0
    while running:
        if kills:
            time.sleep(random.uniform(0.001, 0.05))
            victim = random.choice(list(running))
            os.kill(victim, signal.SIGKILL)
            kills -= 1
        child, status = os.waitpid(-1, os.WNOHANG if kills else 0)
        if child:
            quota = running.pop(child)
            if os.WIFSIGNALED(status):
                start(quota)
            failed += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
