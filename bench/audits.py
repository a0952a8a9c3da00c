"""Releases per second of processor time: one by one, and as audits make them.

python bench/audits.py                # every mechanism, the smaller log of its first pair
python bench/audits.py 0.5 headtail   # one mechanism, half a second for each log of each pair
"""

from __future__ import annotations

import sys
from time import process_time

from discreet.audits.measurement import batched, releases
from discreet.audits.subjects import AuditSubject, audited_names, subjects_of
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism


def per_second(mechanism: Mechanism, log: EventLog, seconds: float, *, many: bool) -> float:
    """Time releases of a log, after a first one."""
    releases(mechanism, log, 1)
    done, size, begin = 0, 1, process_time()
    while (took := process_time() - begin) < seconds:
        if many:
            releases(mechanism, log, size)
        else:
            for _ in range(size):
                mechanism.release(log)
        done += size
        size = min(2 * size, 10_000)
    return done / took


def title(subject: AuditSubject) -> str:
    """What is audited."""
    return f"{subject.mechanism} {' '.join(map(str, subject.parameters.values()))}"


def every_mechanism(seconds: float) -> None:
    """Print one line per mechanism and parameters, on the smaller log of its first pair."""
    print(f"{'releases per second':<66}{'release':>9}{'batched':>9}{'ratio':>7}")
    for subject in (one for name in audited_names() for one in subjects_of(name)):
        pair = subject.pairs(quick=True)[0]
        mechanism, log = subject.build(pair), pair.logs[0]
        one = per_second(mechanism, log, seconds, many=False)
        if batched(mechanism):
            many = per_second(mechanism, log, seconds, many=True)
            print(f"{title(subject)[:64]:<66}{one:>9,.0f}{many:>9,.0f}{many / one:>7.1f}")
        else:
            print(f"{title(subject)[:64]:<66}{one:>9,.0f}")


def every_pair(name: str, seconds: float) -> None:
    """Print one line per parameters and pair: the rate of an audit on either log."""
    for subject in subjects_of(name):
        print(title(subject))
        for pair in subject.pairs():
            mechanism = subject.build(pair)
            rates = [per_second(mechanism, log, seconds, many=True) for log in pair.logs]
            print(f"    {pair.name:<30}" + "".join(f"{rate:>9,.0f}" for rate in rates), flush=True)


def main(seconds: str = "0.1", *names: str) -> None:
    """Every mechanism, or all pairs of those named."""
    if not names:
        every_mechanism(float(seconds))
    for name in names:
        every_pair(name, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
