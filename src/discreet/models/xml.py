"""Writing XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """The text with a mark in place of characters that XML does not allow."""
    return _FORBIDDEN.sub("\ufffd", text)


def document(root: ElementTree.Element) -> str:
    """An indented document with its declaration."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
