"""Sequence entropy: how much the cases of a log branch."""

from __future__ import annotations

import math
from collections import Counter

from discreet.log.variants import Variants


def sequence_entropy(variants: Variants) -> float:
    """Normalised sequence entropy of a log (Augusto, Mendling, Vidgof, Wurm 2022), in [0, 1].

    All cases form a prefix tree. A case that leaves the paths of those before it opens a new
    part with the rest of its events; the entropy says how the events spread over the parts.
    0: one path; towards 1: every case its own. Which case comes first decides where a part
    begins; here the more frequent variants do, so that the figure does not depend on the order
    of a file.
    """
    order = sorted(range(len(variants)), key=lambda i: (-int(variants.counts[i]), i))
    part_of: dict[tuple[int, int], tuple[int, int]] = {}
    grown: set[int] = {0}  # nodes that something has been appended to; the root opens parts
    events: Counter[int] = Counter()
    for i in order:
        node, part = 0, 0
        for code in variants.codes[variants.offsets[i] : variants.offsets[i + 1]].tolist():
            if (node, code) not in part_of:
                fresh = len(part_of) + 1
                if node in grown:
                    part = fresh
                grown.add(node)
                part_of[node, code] = fresh, part
            node, part = part_of[node, code]
            events[part] += int(variants.counts[i])
    total = sum(events.values())
    if total < 2:
        return 0.0
    spread = sum(many * math.log(many) for many in events.values())
    return 1 - spread / (total * math.log(total))
