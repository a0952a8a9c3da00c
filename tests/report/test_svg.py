"""Every kind of picture: well formed, escaped, in light and dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.models.tree import activity, loop, parallel, sequence
from discreet.models.writers import TreeDocument
from discreet.report import can_draw, draw
from discreet.report.plots import Curve, box_plot, heat_map, line_plot
from discreet.report.svg import STYLE

ODD = 'a <script>b</script> & "c" \x07 \n and a label that is much too long for its box'
LINE = np.array([1.0, 2.0, 3.0])
LOGARITHMIC = pytest.mark.parametrize("logarithmic", [False, True])


def parsed(picture: str) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return root


def pictures() -> dict[str, str]:
    """One of each kind, with a label that would break what is not escaped."""
    tree = sequence(activity(ODD), parallel(activity("b"), loop(activity("c"))))
    return {
        "follows": draw(Follows.of_variants(Variants.from_counts({(ODD, "b"): 3, ("b",): 1}))),
        "tree": draw(tree),
        "document": draw(TreeDocument(tree)),
        "refusal": draw(TreeDocument(None)),
        "lines": line_plot(ODD, [Curve(ODD, LINE, LINE, "#fff")], across=lambda _: ODD, down=ODD),
        "map": heat_map(ODD, [ODD], [ODD], [[None]], [[ODD]], [[ODD]], (0, 1)),
        "boxes": box_plot([ODD], [ODD], [[[0.1, 0.5]]], [(ODD, 0.3)]),
    }


@pytest.mark.parametrize("kind", list(pictures()))
def test_a_picture_is_well_formed_and_its_text_stays_text(kind: str) -> None:
    picture = pictures()[kind]
    tags = {element.tag.rpartition("}")[2] for element in parsed(picture).iter()}
    assert "script" not in tags
    if kind != "refusal":
        assert "&lt;script&gt;" in picture or "&lt;script" in picture


@pytest.mark.parametrize("kind", list(pictures()))
def test_a_picture_has_the_one_style_and_only_classes_of_it(kind: str) -> None:
    picture = pictures()[kind]
    assert f"<style>{STYLE}</style>" in picture
    used = {e.get("class") for e in parsed(picture).iter() if e.get("class")}
    assert used <= set(re.findall(r"\.([a-z]+)\{", STYLE))


def test_every_colour_of_the_page_has_a_dark_one() -> None:
    light, dark = STYLE.split("@media(prefers-color-scheme:dark)")
    own_ground = {"onlight", "ondark"}  # written on cells that bring their own colour
    assert set(re.findall(r"\.([a-z]+)\{", light)) - own_ground == set(
        re.findall(r"\.([a-z]+)\{", dark)
    )


@LOGARITHMIC
def test_plots_take_zeros_and_nothing(logarithmic: bool) -> None:
    zeros = np.zeros(3)
    curves = [Curve("a", LINE, zeros, "#fff"), Curve("b", np.empty(0), np.empty(0), "#000")]
    parsed(line_plot("t", curves, across=str, down="n", logarithmic=logarithmic))
    parsed(heat_map("t", ["1"], ["1"], [[0.0]], [["0"]], [[""]], (0, 0), logarithmic=logarithmic))
    assert box_plot(["g"], ["s"], [[[]]], logarithmic=logarithmic) == ""


def test_other_things_cannot_be_drawn() -> None:
    assert not can_draw(sample_log("hospital", cases=5, seed=1))
