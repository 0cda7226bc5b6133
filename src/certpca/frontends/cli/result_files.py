"""What `--output` writes, by the ending of its name: JSON, tidy tables, or a report."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

JSON, TABLES, REPORT = "json", "tables", "report"
ENDINGS = {".json": JSON, "": JSON, ".csv": TABLES, ".tsv": TABLES, ".parquet": TABLES, ".html": REPORT}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
WHY_NOT = {
    TABLES: "a table has no room for the evidence; write a .json file",
    REPORT: "write a .json file, and a report from it with `certpca report`",
    JSON: "write a table (.csv, .tsv or .parquet)",
}


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files that an answer goes to.

    Parameters
    ----------
    options
        Of the command: the files, and how their data were read.
    table
        The data.
    preparation
        How they became a matrix, as options of verbs.
    """

    options: argparse.Namespace
    table: Any
    preparation: dict[str, Any]

    def write(
        self,
        answer: Any,
        save: Callable[[Any, str], object],
        tables: "Callable[[Any], dict[str, pandas.DataFrame]] | None" = None,
        report: "Callable[[Any], tuple[Any, dict[str, Any]]] | None" = None,
    ) -> None:
        """Write all of them, JSON first, as a report names it.

        Parameters
        ----------
        answer
            What a verb returned.
        save
            Writes it as JSON.
        tables
            Its tables by name; the first has none, and goes to the file itself.
        report
            The result that a report is on, and more that it tells.
        """
        files = list(self.options.output or ())
        stored = [file for file in files if kind_of(file) == JSON]
        reports = [file for file in files if kind_of(file) == REPORT]
        if reports and not stored:
            stored = [str(Path(reports[0]).with_suffix(".json"))]
        for file in stored:
            save(answer, file)
        for file in files:
            if kind_of(file) == TABLES and tables is not None:
                write_tables(tables(answer), Path(file))
        for file in reports if report is not None else ():
            assert report is not None
            self._report(*report(answer), target=file, stored=stored[0])

    def _report(self, result: Any, more: dict[str, Any], *, target: str, stored: str) -> None:
        from certpca.frontends.cli.commands.report import data_options
        from certpca.frontends.cli.reading_options import typed_again
        from certpca.frontends.report import Files, write_report
        from certpca.results.files import certificate_beside

        # A choice is stored as the path it was read off.
        named = {"path": stored} if "path" in more else {"result": stored}
        if result.certificate is not None and "path" not in more:
            named["certificate"] = str(certificate_beside(stored))
        files = Files(
            **named,
            data=self.options.file,
            data_options=tuple(data_options(self.options)),
            reading_options=tuple(typed_again(self.options)),
        )
        write_report(result, target, data=self.table.data, files=files, **self.preparation, **more)

    def with_scores(self, result: Any) -> "dict[str, pandas.DataFrame]":
        """Return the tables of a solution or of several components: loadings, components and scores."""
        from certpca.results.tidy import scores_frame
        from certpca.verbs.transform import transform

        tables = {"": result.to_frame(), "components": result.summary_frame()}
        if "covariance" not in self.preparation:
            given = {name: self.preparation[name] for name in ("missing", "names")}
            scores = transform(self.table.data, result, **given)
            tables["scores"] = scores_frame(scores, self.table.sample_names)
        return tables


def kind_of(file: str) -> str | None:
    """Return what a file becomes by its ending; None where the ending says nothing that is known."""
    return ENDINGS.get(Path(file).suffix.lower())


def check_endings(files: Sequence[str], allowed: Sequence[str]) -> None:
    """Refuse endings that say nothing, or something that the answer cannot become, before anything is computed."""
    from certpca.frontends.cli.options import usage_error
    from certpca.runtime.optional import require

    for file in files:
        kind = kind_of(file)
        if kind is None:
            known = ", ".join(ending for ending, other in ENDINGS.items() if ending and other in allowed)
            msg = f"the ending of {file!r} says nothing that --output knows; use {known}"
            raise usage_error(msg)
        if kind not in allowed:
            msg = f"--output {file}: this cannot become {Path(file).suffix}; {WHY_NOT[kind]}"
            raise usage_error(msg)
        if Path(file).suffix.lower() == ".parquet":
            require("pyarrow", extra="parquet", purpose="writing .parquet files")


def write_tables(tables: "dict[str, pandas.DataFrame]", file: Path) -> None:
    """Write tables beside each other, all of them or none: NAME.csv, NAME.scores.csv and so on."""
    from certpca.runtime.atomic_write import write_together

    def beside(name: str) -> Path:
        return file if not name else file.with_suffix(f".{name}{file.suffix}")

    write_together([(beside(name), _writer(frame, file.suffix.lower())) for name, frame in tables.items()])


def _writer(frame: "pandas.DataFrame", ending: str) -> Callable[[IO[bytes]], object]:
    if ending == ".parquet":
        return lambda stream: frame.to_parquet(stream, index=False)
    return lambda stream: stream.write(as_text(frame, ending).encode())


def as_text(frame: "pandas.DataFrame", ending: str = ".csv") -> str:
    """Return a table as text."""
    return str(frame.to_csv(sep=SEPARATORS[ending], index=False, lineterminator="\n"))


def note_certificate(files: Sequence[str], *, proved: bool) -> None:
    """Say that a proof is lost where only tables are written."""
    if proved and files and not any(kind_of(file) in (JSON, REPORT) for file in files):
        print("certpca: the certificate is not in tables; to keep it, add --output with a .json file", file=sys.stderr)
