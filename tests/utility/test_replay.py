from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.models.petri import SINK, SOURCE, Net, Transition
from discreet.models.replay import replay
from tests.conftest import RealLogs, read_once
from tests.models.small_logs import log_of, small_logs

pm4py = pytest.importorskip("pm4py", reason="model quality needs the extra pm4py")

from discreet.utility.model import Model, discover, quality  # noqa: E402

FITNESS = 0.01
GENERALISATION = 0.03
"""How far we may be from PM4Py, whose search for silent steps misses some that ours finds."""


def sequence(*labels: str | None) -> Net:
    """A net that does the labels one after another."""
    places = [SOURCE, *range(2, len(labels) + 1), SINK]
    return Net(
        tuple(
            Transition(label, frozenset({before}), frozenset({after}))
            for label, before, after in zip(labels, places, places[1:], strict=False)
        )
    )


def choice_of(*labels: str) -> Net:
    """A net that does one of the labels."""
    return Net(tuple(Transition(x, frozenset({SOURCE}), frozenset({SINK})) for x in labels))


def test_a_log_that_fits() -> None:
    found = quality(sequence("a", "b"), log_of(ab=5))
    assert found.fitness == 1.0
    assert found.precision == 1.0
    assert found.f_score == 1.0
    assert found.generalisation == pytest.approx(1 - 5**-0.5)


def test_escaping_edges() -> None:
    """Of three activities that may begin, one is seen."""
    found = quality(choice_of("a", "b", "c"), log_of(a=4))
    assert found.fitness == 1.0
    assert found.precision == pytest.approx(1 / 3)


def test_missing_and_remaining_tokens() -> None:
    # a skipped: b lacks its token, and the one of the start remains.
    found = quality(sequence("a", "b"), log_of(b=1))
    assert found.fitness == pytest.approx(1 - (1 / 2 + 1 / 2) / 2)


def test_silent_steps_are_taken_on_the_way_and_at_the_end() -> None:
    found = quality(sequence(None, "a", None, "b", None), log_of(ab=3))
    assert found.fitness == 1.0
    assert found.precision == 1.0


def test_activities_the_model_lacks_are_passed_over() -> None:
    assert quality(sequence("a", "b"), log_of(axb=1)).fitness == 1.0


def test_an_empty_log_has_no_fitness() -> None:
    assert quality(sequence("a"), Variants.empty()).fitness == 0.0


def test_simplicity_of_a_plain_sequence_is_one() -> None:
    assert sequence("a", "b").simplicity == 1.0


def reachable(net: Net, marked: frozenset[int]) -> set[str]:
    """The labels enabled after any silent steps, by exhaustive search."""
    seen, waiting, labels = {marked}, [marked], set()
    while waiting:
        here = waiting.pop()
        for transition in net.transitions:
            if transition.inputs <= here:
                if transition.label is not None:
                    labels.add(transition.label)
                    continue
                there = here - transition.inputs | transition.outputs
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
    return labels


@given(small_logs)
@settings(max_examples=30, deadline=None)
def test_enabled_activities_are_all_that_silent_steps_reach(log: Variants) -> None:
    net = discover(log).net
    result = replay(net, log)
    names = np.array(result.automaton.activities)
    enabled = result.automaton.enabled()
    for states, fits in zip(result.states, result.fitting, strict=True):
        for state in set(states[fits].tolist()):
            marked = result.automaton.marked(state)
            assert set(names[enabled[state]]) == reachable(net, marked)


def theirs(log: Variants, model: Model) -> tuple[float, float, float, float]:
    """PM4Py's own figures for the net that we copied."""
    import pandas as pd
    from pm4py.algo.evaluation.generalization import algorithm as generalization
    from pm4py.algo.evaluation.precision import algorithm as precision
    from pm4py.algo.evaluation.replay_fitness import algorithm as fitness
    from pm4py.algo.evaluation.simplicity import algorithm as simplicity

    net, initial, final = model.pm4py_net
    rows = [
        (f"{i}-{k}", label, position)
        for i, (word, count) in enumerate(log)
        for k in range(count)
        for position, label in enumerate(word)
    ]
    frame = pd.DataFrame(rows, columns=["case:concept:name", "concept:name", "time:timestamp"])
    frame["time:timestamp"] = pd.to_datetime(frame["time:timestamp"], unit="s", utc=True)
    quiet = {"show_progress_bar": False}
    tokens = fitness.Variants.TOKEN_BASED
    escaping = precision.Variants.ETCONFORMANCE_TOKEN
    return (
        fitness.apply(frame, net, initial, final, quiet, variant=tokens)["log_fitness"],
        precision.apply(frame, net, initial, final, quiet, variant=escaping),
        generalization.apply(frame, net, initial, final, quiet),
        simplicity.apply(net),
    )


def agree(log: Variants) -> None:
    model = discover(log)
    found = model.quality(log)
    fitness, precision, generalisation, simplicity = theirs(log, model)
    assert found.fitness == pytest.approx(fitness, abs=FITNESS)
    assert found.precision == pytest.approx(precision, abs=1e-9)
    assert found.generalisation == pytest.approx(generalisation, abs=GENERALISATION)
    assert found.simplicity == pytest.approx(simplicity, abs=1e-12)
    assert found.precision_complete <= found.precision + 1e-12


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["hospital", "loans", "permits"])
def test_agrees_with_pm4py_on_samples(name: str) -> None:
    agree(sample_log(name, cases=150, seed=3).variants)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["BPIC2013_open_problems", "CoSeLoG_receipt"])
def test_agrees_with_pm4py_on_real_logs(name: str, real_logs: RealLogs) -> None:
    agree(read_once(real_logs[name][1]).variants)


def test_counts_weigh_as_cases_do() -> None:
    net = sequence("a", "b")
    once = quality(net, log_of(ab=1, b=1))
    often = quality(net, log_of(ab=7, b=7))
    assert once.fitness == pytest.approx(often.fitness)
    assert once.precision == pytest.approx(often.precision)
    assert once.generalisation < often.generalisation
