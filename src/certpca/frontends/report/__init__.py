"""A report on one result: HTML in a single file, Markdown, or a picture."""

from certpca.frontends.report.facts import Facts, Files, gather
from certpca.frontends.report.labels import read_labels
from certpca.frontends.report.metadata_file import read_metadata
from certpca.frontends.report.set_facts import SetFacts
from certpca.frontends.report.write import FORMATS, write_report

__all__ = ["FORMATS", "Facts", "Files", "SetFacts", "gather", "read_labels", "read_metadata", "write_report"]
