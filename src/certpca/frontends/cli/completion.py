"""Scripts that let shells complete the command line, made from its parser: nothing is listed twice."""

import argparse
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FILES = {"FILE", "RESULT", "FILE or NAME"}  # metavars of options that name files,
FOLDERS = {"DIR"}  # and folders


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Parameters
    ----------
    flags
        Its names, such as -k and --sparsity.
    text
        What it does.
    takes
        What follows it: "nothing", "file", "folder", "choice" or "value".
    choices
        What may follow it, where that is a list.
    """

    flags: tuple[str, ...]
    text: str
    takes: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its options; `words` may stand in the place of a file, such as the names of shells."""

    name: str
    text: str
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()


def described(parser: argparse.ArgumentParser) -> tuple[Command, ...]:
    """Return the commands of a parser that describes the options of all of them."""
    return tuple(_commands(parser))


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    for action in parser._actions:  # argparse has no public way to ask
        if not isinstance(action, argparse._SubParsersAction):
            continue
        texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, command in action.choices.items():
            options = [_option(part) for part in command._actions if part.option_strings]
            words = [str(word) for part in command._actions if not part.option_strings for word in part.choices or ()]
            yield Command(name, texts.get(name, ""), tuple(options), tuple(words))


def _option(action: argparse.Action) -> Option:
    choices = tuple(map(str, action.choices or ()))
    if action.nargs == 0:
        takes = "nothing"
    elif choices:
        takes = "choice"
    else:
        takes = {True: "file", False: "value"}[action.metavar in FILES]
        takes = "folder" if action.metavar in FOLDERS else takes
    text = "" if action.help in (None, argparse.SUPPRESS) else " ".join(str(action.help).split())
    return Option(tuple(action.option_strings), text, takes, choices)


def bash(commands: tuple[Command, ...]) -> str:
    """Return a script for bash."""

    def reply(option: Option) -> str:
        return {"file": _FILES, "folder": _FOLDERS, "value": "COMPREPLY=()"}.get(option.takes) or _words(option.choices)

    lines = [
        "# completion of certpca for bash: source this, or put it into /etc/bash_completion.d",
        "_certpca() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f"        {_words((*(command.name for command in commands), '--help', '--version'))}",
        "        return",
        "    fi",
        '    case "$command:$before" in',
    ]
    for command in commands:
        for option in command.options:
            if option.takes != "nothing":
                after = "|".join(f"{command.name}:{flag}" for flag in option.flags)
                lines.append(f"        {after}) {reply(option)}; return ;;")
    lines += ["    esac", '    case "$command" in']
    for command in commands:
        flags = tuple(flag for option in command.options for flag in option.flags)
        lines.append(f"        {command.name})")
        lines.append(f'            if [[ "$word" == -* ]]; then {_words(flags)}')
        lines.append(f"            else {_words(command.words) if command.words else _FILES}; fi ;;")
    lines += ["    esac", "}", "complete -o filenames -F _certpca certpca"]
    return "\n".join(lines) + "\n"


# Names of files may have spaces in them.
_FILES = """local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word"))"""
_FOLDERS = """local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$word"))"""


def _words(words: tuple[str, ...]) -> str:
    return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(words))} -- "$word"))'


def zsh(commands: tuple[Command, ...]) -> str:
    """Return a script for zsh."""

    def spec(option: Option) -> Iterator[str]:
        after = {
            "nothing": "",
            "file": ":file:_files",
            "folder": ":folder:_files -/",
            "value": ":value: ",
            "choice": f":choice:({' '.join(option.choices)})",
        }[option.takes]
        for flag in option.flags:
            yield shlex.quote(f"*{flag}[{_plain(option.text, '[]:')}]{after}")

    lines = [
        "#compdef certpca",
        "# completion of certpca for zsh: source this, or put it into a folder of $fpath under the name _certpca",
        "_certpca() {",
        "    local -a commands",
        "    commands=(",
        *(f"        {shlex.quote(f'{c.name}:{_plain(c.text)}')}" for c in commands),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe 'command' commands",
        "        return",
        "    fi",
        '    local command="${words[2]}"',
        "    shift words",
        "    (( CURRENT-- ))",
        '    case "$command" in',
    ]
    for command in commands:
        parts = [part for option in command.options for part in spec(option)]
        others = f"'*:word:({' '.join(command.words)})'" if command.words else "'*:file:_files'"
        lines.append(f"        {command.name})")
        lines.append("            _arguments " + " ".join([*parts, others]) + " ;;")
    lines += ["    esac", "}", 'if [ "$funcstack[1]" = "_certpca" ]; then _certpca; else compdef _certpca certpca; fi']
    return "\n".join(lines) + "\n"


def fish(commands: tuple[Command, ...]) -> str:
    """Return a script for fish."""
    lines = [
        "# completion of certpca for fish: put this into ~/.config/fish/completions/certpca.fish",
        "complete -c certpca -n __fish_use_subcommand -f",
    ]
    for command in commands:
        quoted = _quoted(command.text)
        lines.append(f"complete -c certpca -n __fish_use_subcommand -f -a {command.name} -d {quoted}")
        seen = f"'__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"complete -c certpca -n {seen} -f -a {_quoted(' '.join(command.words))}")
        for option in command.options:
            names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
            after = {
                "nothing": "",
                "file": "-r -F",
                "folder": "-x -a '(__fish_complete_directories)'",
                "value": "-x",
                "choice": f"-x -a {_quoted(' '.join(option.choices))}",
            }[option.takes]
            parts = ["complete -c certpca -n", seen, *names, after, f"-d {_quoted(option.text)}"]
            lines.append(" ".join(filter(None, parts)))
    return "\n".join(lines) + "\n"


def _plain(text: str, without: str = ":") -> str:
    """Leave out characters that mean something inside a description."""
    return "".join(" " if character in without else character for character in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[tuple[Command, ...]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
