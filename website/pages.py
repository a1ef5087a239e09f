"""Reference pages that are written from the code itself: commands from their parser, options from the engines."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from matchwood.commands.cli import parser
from matchwood.engines import engine_class, engine_names

ENGINE_PAGES = {
    "atree": "atree.md",
    "betree": "betree.md",
    "counting": "unions.md",
    "hem": "hem.md",
    "kindex": "kindex.md",
    "pstbloom": "pst-engines.md",
    "psthash": "pst-engines.md",
}
"""Where the options of an engine are explained."""


def commands() -> str:
    """Every command with its usage and options, as `--help` has them."""
    head = "Written from the argument parser. [The command line](../command-line.md) has examples of each command."
    sections = ["# Commands, every option", head]
    for words, told, command in _commands(parser(), "matchwood"):
        sections += [f"## `{words}`", _sentence(told), f"```text\n{_usage(command)}\n```", _arguments(command)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _commands(whole: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """The words of each command, what it is for, and its parser."""
    for action in whole._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield f"{words} {name}", told.get(name, ""), command
                yield from _commands(command, f"{words} {name}")


def _usage(command: argparse.ArgumentParser) -> str:
    """The usage in lines of 80 characters, whatever the terminal's width."""
    command.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=86)
    prefix = "usage: "
    lines = command.format_usage().strip().split("\n")
    return "\n".join(line.removeprefix(prefix).removeprefix(" " * len(prefix)) for line in lines)


def _arguments(command: argparse.ArgumentParser) -> str:
    shown = [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
    shown = [action for action in shown if not isinstance(action, argparse._SubParsersAction)]
    rows = [f"| {_name(action)} | {_cell(_help(action, command))} |" for action in shown]
    return "\n".join(["| argument | |", "|---|---|", *rows]) if rows else ""


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {_value(action)}"
    return ", ".join(f"`{option}{value}`" for option in sorted(action.option_strings, key=len, reverse=True))


def _value(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _help(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    told = (action.help or "") % {**vars(action), "prog": command.prog}
    choices = f" One of {', '.join(f'`{choice}`' for choice in action.choices)}." if action.choices else ""
    return f"{_sentence(told)}{choices}"


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text[-1:] in ('.', '') else '.'}"


def engine_options() -> str:
    """A table of options for each engine, with what each accepts."""
    sections = ["# Engine options", _OPTIONS_HEAD]
    for name in engine_names():
        engine = engine_class(name)
        page = ENGINE_PAGES.get(name)
        explained = f"[What they do](../{page})." if page else ""
        sections += [f"## `{name}`", explained, _option_table(engine)]
    return "\n\n".join(section for section in sections if section) + "\n"


_OPTIONS_HEAD = """Written from the engines. Pass options by name:
`mw.Index(engine="kindex", options={"form": "dnf"})`. An unknown option, or a value of the wrong type, is an error.
With `engine="auto"`, options leave only the engines that have all of them.

Two options work with every engine: `spaces` is `"sorted"` (the default) or `"pstree"`, and `as_published=True` gives
you the system as its paper describes it. The last column shows what `as_published` sets."""


def _option_table(engine: Any) -> str:
    if not engine.options:
        return "No options of its own."
    rows = [_option_row(engine, option, default) for option, default in sorted(engine.options.items())]
    return "\n".join(["| option | default | accepts | as published |", "|---|---|---|---|", *rows])


def _option_row(engine: Any, option: str, default: Any) -> str:
    published = f"`{engine.published[option]!r}`" if option in engine.published else ""
    return f"| `{option}` | `{_cell(repr(default))}` | {_accepted(engine, option, default)} | {published} |"


def _accepted(engine: Any, option: str, default: Any) -> str:
    if option in engine.choices:
        return ", ".join(f"`{choice!r}`" for choice in engine.choices[option])
    if option in engine.limits:
        least, most = engine.limits[option]
        return f"{type(default).__name__}, {least:,} to {most:,}"
    return "`True`, `False`" if isinstance(default, bool) else type(default).__name__


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
