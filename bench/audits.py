"""Releases per second and mechanism: one by one, and through the batched path that audits use."""

from __future__ import annotations

import sys
from time import perf_counter

from discreet.audits.sampling import batched, releases
from discreet.audits.subjects import audited_names, subjects_of
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism

SECONDS = 0.1


def per_second(mechanism: Mechanism, log: EventLog, seconds: float, *, many: bool) -> float:
    """Time releases of a log, after a first one."""
    mechanism.release(log)
    done, size, begin = 0, 1, perf_counter()
    while (took := perf_counter() - begin) < seconds:
        if many:
            releases(mechanism, log, size)
        else:
            for _ in range(size):
                mechanism.release(log)
        done += size
        size = min(2 * size, 10_000)
    return done / took


def main(seconds: float = SECONDS) -> None:
    """Print one line per mechanism and parameters, on the smaller log of its first pair."""
    print(f"{'releases per second':<66}{'release':>9}{'batched':>9}{'ratio':>7}")
    for subject in (one for name in audited_names() for one in subjects_of(name)):
        pair = subject.pairs(quick=True)[0]
        mechanism, log = subject.build(pair), pair.logs[0]
        one = per_second(mechanism, log, seconds, many=False)
        title = f"{subject.mechanism} {' '.join(map(str, subject.parameters.values()))}"[:64]
        if batched(mechanism):
            many = per_second(mechanism, log, seconds, many=True)
            print(f"{title:<66}{one:>9,.0f}{many:>9,.0f}{many / one:>7.1f}")
        else:
            print(f"{title:<66}{one:>9,.0f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
