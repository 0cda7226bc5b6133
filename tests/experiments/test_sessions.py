"""Pages that show what an analyst types: what is shown is what was run."""

from pathlib import Path

import pytest
from experiments.sessions import session, shown


def test_commands_and_code_are_run_where_their_files_are():
    here = Path.cwd()
    with session() as typed:
        (typed.folder / "data.csv").write_text("a,b,c\n1,2,0\n3,5,1\n4,4,2\n0,1,7\n")
        assert "1 of 3 features" in typed.shell("certpca solve data.csv -k 1 --output one.json")
        assert (typed.folder / "one.json").exists()
        assert typed.python("x = 3\nprint(1 + x)") == "4"
        assert typed.python("print(x)") == "3"
    assert Path.cwd() == here
    first, second, _ = typed.steps
    assert shown(first)[1] == "    $ certpca solve data.csv -k 1 --output one.json"
    assert shown(second)[1:] == ["```python", "x = 3", "print(1 + x)", "```", "", "    4"]


def test_what_fails_is_not_shown():
    here = Path.cwd()
    with session() as typed:
        with pytest.raises(RuntimeError, match=r"ended with status 2: .*there is no file"):
            typed.shell("certpca solve nowhere.csv -k 1")
        with pytest.raises(ZeroDivisionError):
            typed.python("1 / 0")
        assert not typed.steps
    assert Path.cwd() == here
