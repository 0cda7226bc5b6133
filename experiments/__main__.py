"""Make tables and figures: all, or those named.

python -m experiments                  every artefact, full profile
python -m experiments --quick          fewer cases, for a look: minutes; nothing under docs/ is replaced
python -m experiments --list           what there is
python -m experiments populations      one of them; "paper" stands for everything of the paper
python -m experiments --render         draw again from kept results
python -m experiments paper --workers 7 --threads 2   in several processes, each held to so many cores
python -m experiments --hgdp chr1.bed  also the paper's figures for its own data, which you have to fetch
"""

import argparse
import contextlib
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine import facts

from benchmarks import render as benchmark_tables
from experiments import data, pages, parallel, running

FILES = {
    "hgdp": "PLINK .bed of one chromosome of HGDP/HapMap, for the paper's figures",
    "gse10072": "series matrix of GEO (GSE10072_series_matrix.txt.gz), likewise",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__, formatter_class=_Plain)
    parser.add_argument("names", nargs="*", metavar="NAME", help="artefacts or folders of them; all by default")
    parser.add_argument("--list", action="store_true", help="say what there is, and how long it took")
    parser.add_argument("--quick", action="store_true", help="fewer cases and tighter limits; pages go to --docs")
    parser.add_argument("--again", action="store_true", help="compute even where results are kept")
    parser.add_argument("--render", action="store_true", help="compute nothing")
    parser.add_argument("--stale", action="store_true", help="use cached parts that other code computed")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave one of them out")
    parser.add_argument("--workers", type=int, default=0, help="compute in so many processes (default: in this one)")
    parser.add_argument("--threads", type=int, default=2, help="cores for each of these processes (default 2)")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="end these processes then; what is kept stays"
    )
    parser.add_argument("--docs", type=Path, help="where pages go (default docs; with --quick .cache/quick-docs)")
    for name, what in FILES.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    options = parser.parse_args(arguments)
    known = running.artefacts()
    wanted = []
    for name in options.names or list(known):
        found = [other for other in known if other == name or other.startswith(f"{name}.")]
        if not found:
            parser.error(f"there is no artefact {name!r}; see --list")
        wanted += [other for other in found if other not in options.without and other not in wanted]
    if options.list:
        for name, module in known.items():
            done = running.kept(name)
            took = f"{done['seconds']:.0f} s" if done else "not yet"
            print(f"{name:<28}{took:>9}  {module.TITLE}")
        return 0
    files = {name: path for name in FILES if (path := getattr(options, name)) is not None}
    for name, path in files.items():
        if not path.is_file():
            parser.error(f"--{name}: there is no file {path}")
    elsewhere = options.docs or (running.CACHE.parent / "quick-docs" if options.quick else None)
    with _pages_at(elsewhere or pages.DOCS):
        failed = 0
        if options.workers and not options.render:
            limits = {"workers": options.workers, "threads": options.threads, "seconds": options.seconds}
            open_ones = [name for name in wanted if not _is_current(name, options)]
            if parallel.work(open_ones, **limits, quick=options.quick, stale=options.stale):
                print("unfinished: the same command goes on where this one stopped", file=sys.stderr)
                wanted = [name for name in wanted if _is_there(name, options)]
                failed = 1
        for number, name in enumerate(wanted, 1):
            print(f"[{number}/{len(wanted)}] {known[name].TITLE}", file=sys.stderr, flush=True)
            mine = {key: path for key, path in files.items() if key in getattr(known[name], "FILES", ())}
            failed += not _make(running.Run(name, options.quick, mine, options.stale), options)
        failed += not _refresh(options.quick, benchmarks=elsewhere is None)
    if failed:
        print(f"{failed} failed, see above", file=sys.stderr)
    return 1 if failed else 0


def _is_there(name: str, options: argparse.Namespace) -> bool:
    """Whether all parts of an artefact are kept, so that it takes no time to put together."""
    if _is_current(name, options):
        return True
    with contextlib.suppress(Exception):  # others are told when the artefact is made
        try:
            _computed(running.Run(name, options.quick, {}, options.stale, kept_only=True), options)
        except running.NotKeptError:
            return False
    return True


def _is_current(name: str, options: argparse.Namespace) -> bool:
    """Whether a finished result of this very source is kept."""
    done = None if options.quick or options.again else running.kept(name)
    return done is not None and done["machine"]["source"] == facts()["source"]


def _computed(run: running.Run, options: argparse.Namespace) -> Any:
    """Return the result of an artefact, from what workers computed where there were some."""
    module = running.artefacts()[run.name]
    if options.workers and not hasattr(module, "jobs") and not run.files:
        return run.part(parallel.WHOLE, lambda: module.compute(run))
    return module.compute(run)


def _make(run: running.Run, options: argparse.Namespace) -> bool:
    """Compute and render one artefact; False where it failed."""
    module = running.artefacts()[run.name]
    try:
        done = running.kept(run.name, quick=run.quick)
        absent = data.missing(module.NEEDS)
        if options.render or (_is_current(run.name, options) and not run.files):
            if done is None:
                run.say("no result is kept: skipped")
            else:
                module.render(done["result"])
            return True
        if absent:
            run.say(
                f"needs {', '.join(absent)} beside the checkout: {'drawn from the kept result' if done else 'skipped'}"
            )
            if done is not None:
                module.render(done["result"])
            return True
        if getattr(module, "FILES", ()) and not run.files:
            run.say(f"skipped: bring {' or '.join(f'--{name} FILE' for name in module.FILES)}")
            return True
        start, begin = facts(), time.perf_counter()
        result = _computed(run, options)
        seconds = time.perf_counter() - begin
        running.keep(run, start, seconds, result, options.threads if options.workers else None)
        module.render(result)
    except Exception as error:  # one artefact that fails must not take the others with it
        where = traceback.extract_tb(error.__traceback__)[-1]
        run.say(f"FAILED: {type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})")
        return False
    run.say(f"done in {seconds:.0f} s")
    return True


def _refresh(quick: bool, *, benchmarks: bool) -> bool:
    """Write what pages say about all artefacts together, and what they quote from benchmarks."""
    try:
        from experiments.paper import page

        contents = {name: running.kept(name, quick=quick) for name in running.artefacts()}
        page.write_about({name: content for name, content in contents.items() if content is not None})
        if benchmarks:
            benchmark_tables.main()
    except Exception as error:
        print(f"  quoted numbers: FAILED: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


@contextlib.contextmanager
def _pages_at(folder: Path) -> Iterator[None]:
    """Let pages go to a folder for a while."""
    before = pages.DOCS
    pages.DOCS = folder
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        pages.DOCS = before


class _Plain(argparse.RawDescriptionHelpFormatter):
    """Keep the lines of the description."""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on where this one stopped")
