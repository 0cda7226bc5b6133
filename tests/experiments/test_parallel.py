"""Artefacts computed by several processes: everything is done once, and what is finished survives a limit."""

import json

from experiments.__main__ import main

from experiments import parallel, running


def test_jobs_that_several_artefacts_need_are_there_once():
    found = parallel.jobs_of(["paper.figure3_synthetic", "paper.figure4_more_data"], quick=True)
    names = [(job.module, job.name) for job in found]
    assert len(names) == len(set(names))
    assert ("paper.curves", "synthetic auto") in names
    both = parallel.jobs_of(["paper.figure3_synthetic", "paper.figure3_synthetic", "paper.elements"], quick=True)
    assert both[-1] == parallel.Job("paper.elements", parallel.WHOLE)
    long = [job.seconds for job in both[:-1]]
    assert long == sorted(long, reverse=True)


def test_cores_are_dealt_out(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 4, 5, 6}, raising=False)
    assert parallel._blocks(2, 2) == [(3, 4), (5, 6)]
    assert parallel._blocks(3, 2)[2] == (3, 4)


def test_workers_compute_and_the_page_is_written_from_what_they_keep(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "CACHE", tmp_path / "cache")
    arguments = ["paper.elements", "--quick", "--docs", str(tmp_path / "docs"), "--workers", "1", "--threads", "1"]
    assert main(arguments) == 0
    (part,) = (tmp_path / "cache" / "paper.elements").glob("quick-*.json")
    assert json.loads(part.read_text())["label"] == parallel.WHOLE
    assert "Algorithm 1, spca-svd" in (tmp_path / "docs" / "paper.md").read_text()


def test_a_limit_leaves_the_rest_to_the_next_call(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(running, "CACHE", tmp_path / "cache")
    arguments = ["paper.elements", "--quick", "--docs", str(tmp_path / "docs"), "--workers", "1", "--threads", "1"]
    assert main([*arguments, "--seconds", "0"]) == 1
    assert "goes on" in capsys.readouterr().err
    assert running.kept("paper.elements", quick=True) is None
    assert main(arguments) == 0
