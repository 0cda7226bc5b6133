"""Help that shows commands at work, and shells that complete them: both come from the parser."""

import shlex
import shutil
import subprocess

import pytest

from certpca.frontends.cli.commands import commands
from certpca.frontends.cli.completion import SHELLS, described
from certpca.frontends.cli.main import main, parser

EXAMPLES = [
    (name, example.split("#")[0].split("|")[0].strip())
    for name, command in commands().items()
    for example in getattr(command, "EXAMPLES", ())
    if example.startswith("certpca")
]


def shown(capsys, *words):
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_is_a_command_line_that_is_understood(name, example):
    words = shlex.split(example.split(">")[0])[1:]
    options, unknown = parser(words).parse_known_args(words)
    assert not unknown
    assert options.run is commands()[name].run


def test_every_command_that_reads_files_shows_examples(capsys):
    for name, command in commands().items():
        if command.READS_FILES:
            assert "examples:\n  certpca " in shown(capsys, name)


def test_options_of_plink_are_shown_where_they_apply(capsys):
    assert "--maf" in shown(capsys, "solve", "cohort.bed")
    assert "--header" not in shown(capsys, "solve", "cohort.bed")
    assert "--maf" not in shown(capsys, "solve", "data.csv")
    assert "PLINK files" not in shown(capsys, "solve", "data.csv")
    assert "--header" in shown(capsys, "solve", "data.csv")
    assert "--array" in shown(capsys, "transform", "r.json", "cells.h5ad")
    assert "--maf" in shown(capsys, "solve")  # of which file, nobody knows yet


def test_an_option_for_other_files_is_refused_with_the_files_it_is_for(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,5\n")
    assert main(["solve", str(tmp_path / "data.csv"), "-k", "1", "--maf", "0.1"]) == 2
    assert "maf: only for PLINK files (.bed, .pgen)" in capsys.readouterr().err


@pytest.fixture
def script(tmp_path, capsys):
    def made(shell):
        assert main(["completion", shell]) == 0
        file = tmp_path / f"certpca.{shell}"
        file.write_text(capsys.readouterr().out)
        return file

    return made


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


def needs(shell):
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def completed_by_bash(file, *words):
    listed = " ".join(shlex.quote(word) for word in words)
    ask = f"source {file}; COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _certpca; "
    return run("bash", "-c", ask + "printf '%s\\n' \"${COMPREPLY[@]}\"").split("\n")[:-1]


@needs("bash")
def test_bash_completes_commands_options_choices_and_files(script, tmp_path):
    file = script("bash")
    assert completed_by_bash(file, "certpca", "de") == ["decompose", "demo"]
    assert completed_by_bash(file, "certpca", "solve", "x", "--mis") == ["--missing"]
    assert completed_by_bash(file, "certpca", "solve", "x", "--missing", "") == ["error", "mean"]
    assert completed_by_bash(file, "certpca", "completion", "z") == ["zsh"]
    assert completed_by_bash(file, "certpca", "solve", "x", "-k", "") == [""]
    (tmp_path / "my data.csv").write_text("")
    begin = f"{tmp_path}/my"
    assert completed_by_bash(file, "certpca", "solve", begin) == [f"{begin} data.csv"]
    assert completed_by_bash(file, "certpca", "solve", "x", "--output", begin) == [f"{begin} data.csv"]


@needs("fish")
def test_fish_completes_commands_options_and_choices(script):
    file = script("fish")

    def asked(line):
        answer = run("fish", "--no-config", "-c", f"source {file}; complete -C {shlex.quote(line)}")
        return [entry.split("\t")[0] for entry in answer.splitlines()]

    assert asked("certpca de") == ["decompose", "demo"]
    assert asked("certpca solve --mis") == ["--missing"]
    assert asked("certpca solve x --missing ") == ["error", "mean"]
    assert asked("certpca completion z") == ["zsh"]


@needs("zsh")
def test_zsh_takes_the_script(script):
    file = script("zsh")
    ask = f"autoload -U compinit; compinit -D; source {file}; whence -w _certpca; print $_comps[certpca]"
    assert run("zsh", "-f", "-c", ask).split("\n")[:2] == ["_certpca: function", "_certpca"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_there(script, shell):
    text = script(shell).read_text()
    for command in described(parser(list(commands()))):
        assert command.name in text
        for option in command.options:
            for flag in option.flags:
                assert (flag if shell != "fish" else flag.lstrip("-")) in text


def test_an_unknown_shell_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["completion", "tcsh"])
    assert stop.value.code == 2
    assert "choose from" in capsys.readouterr().err
