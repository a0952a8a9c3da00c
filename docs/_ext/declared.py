"""Tables for the site that come from the declarations themselves and so cannot be out of date.

`{parameters} travas` gives a mechanism's parameters, `{reading}` the options of reading,
`{commands}` all commands with their options.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from discreet.log.reading import ALL, Reading
from discreet.mechanisms.registry import mechanism_class
from discreet.parameters import Parameter


class Parameters(SphinxDirective):
    """The parameters of one or more mechanisms, from their declarations."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """One table; a mechanism after the first adds only what the others lack."""
        found: dict[str, Parameter] = {}
        for name in self.arguments[0].split():
            found = mechanism_class(name).parameters() | found
        rows = [
            [f"`{p.option}`", _cell(p.help), _default(p.default), _cell(p.range)]
            for p in found.values()
        ]
        return _parsed(self, _table(["option", "meaning", "default", "allowed"], rows))


class HowToRead(SphinxDirective):
    """The options of reading a log, and where each can be given."""

    def run(self) -> list[nodes.Node]:
        """One table; Python takes all of them."""
        rows = [
            [
                f"`{option.name}`",
                _cell(option.help),
                _default(option.default),
                *("yes" if face in option.faces else "–" for face in ALL),
            ]
            for option in Reading.parameters().values()
        ]
        heads = ["option", "meaning", "default", "command line", "web app", "mapping file"]
        return _parsed(self, _table(heads, rows))


class Commands(SphinxDirective):
    """Every command with its options, as `--help` has them."""

    def run(self) -> list[nodes.Node]:
        """A section for each command."""
        import typer

        from discreet.cli.app import build

        group = typer.main.get_command(build())
        lines: list[str] = []
        for name, command in _leaves(group, "discreet"):
            lines += [f"## {name}", "", *_help(command), ""]
            rows = [
                [
                    ", ".join(f"`{one}`" for one in parameter.opts + parameter.secondary_opts),
                    _cell(getattr(parameter, "help", "") or ""),
                ]
                for parameter in command.params
                if not getattr(parameter, "hidden", False) and parameter.name != "help"
            ]
            if rows:
                lines += [*_table(["option", "meaning"], rows), ""]
        return _parsed(self, lines)


def _leaves(group: Any, prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        path = f"{prefix} {name}"
        found += _leaves(command, path) if hasattr(command, "commands") else [(path, command)]
    return found


def _help(command: Any) -> list[str]:
    """The text of a command; its examples, which are indented, as a block."""
    text = re.sub(r"\[/?bold\]", "**", inspect.cleandoc(command.help or ""))
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("  "):
            lines += [
                "```console",
                *(f"$ {line.strip()}" for line in paragraph.splitlines()),
                "```",
            ]
        else:
            lines += paragraph.splitlines()
        lines.append("")
    return lines


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]


def _default(value: Any) -> str:
    if value is None or value == ():
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _cell(text: str) -> str:
    """Plain text for a cell of a table."""
    plain = re.sub(r"\[/?(?:bold|italic)\]", "", " ".join(text.split()))
    return re.sub(r"([\\|*_<>\[\]])", r"\\\1", plain)


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """The nodes of some Markdown; its tables have a class of their own."""
    found = directive.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)
    for table in (table for node in found for table in node.findall(nodes.table)):
        table["classes"].append("declared")
    return found


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives, and Mermaid's sources as plain text."""
    app.add_directive("parameters", Parameters)
    app.add_directive("reading", HowToRead)
    app.add_directive("commands", Commands)
    app.add_lexer("mermaid", TextLexer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
