"""The JSON that certpca writes and prints, described as JSON Schema: made from the checks that files must pass.

`python -m certpca.results.json_schemas` writes the files in `json_schema_files/` that ship with the package, and the
tables in docs/json.md; a test compares both with what is made here.
"""

import json
from pathlib import Path
from typing import Any

from certpca.results.component_files import COMPONENTS
from certpca.results.field_checks import (
    Check,
    either,
    fields,
    list_of,
    null,
    number,
    one_of,
    table_of,
    text,
    truth,
    whole,
)
from certpca.results.schema import (
    CERTIFICATE,
    MOST_DETAILS,
    MOST_FEATURES,
    NORMALISATION,
    READING,
    SOLUTION,
    SPARSITY_PATH,
)
from certpca.results.set_codec import SET_CERTIFICATE

FOLDER = Path(__file__).parent / "json_schema_files"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_COUNT, _NAMES = whole(0, MOST_FEATURES), either(null, list_of(text(), MOST_FEATURES))
_NUMBERS = list_of(number(), MOST_FEATURES)
_PRINTED = {"understood": text(), "warnings": list_of(text(), 1_000), "passes": number(0.0)}
_BOUND = {"upper_bound": either(null, number()), "gap": either(null, number())}

_PROOF = fields(
    {
        "proved": truth,
        "kind": text(64),
        "upper_bound": number(0.0),
        "claimed": number(0.0),
        "objective": number(),
        "gap": number(),
        "failure_probability": number(0.0, 1.0),
        "size": whole(1, MOST_FEATURES),
        "matrix": text(),
        "normalisation": NORMALISATION,
        "reading": READING,
        "arithmetic": text(),
    },
    {
        "sparsity": whole(1, MOST_FEATURES),
        "sparsities": list_of(whole(1, MOST_FEATURES), MOST_FEATURES),
        "problem": text(64),
        "features_in_no_optimum": list_of(_COUNT, MOST_FEATURES),
        "features_in_every_optimum": list_of(_COUNT, MOST_FEATURES),
        "details": table_of(number(), MOST_DETAILS),
    },
)
_REFUSAL = fields({"proved": truth, "reason": text(10_000)})
_SCORES = fields(
    {
        "format": one_of("certpca scores 1"),
        "method": one_of("projection", "regression"),
        "samples": _NAMES,
        "scores": list_of(_NUMBERS, MOST_FEATURES),
    }
)
_INFO = fields(
    {
        "format": one_of("certpca info 1"),
        "file": text(),
        "samples": either(null, _COUNT),
        "features": _COUNT,
        "type": text(64),
        "sparse": truth,
        "stays_in_file": truth,
        "feature_names": _NAMES,
        "sample_names": _NAMES,
        "missing": _COUNT,
        "features_with_missing": _COUNT,
        "constant_features": _COUNT,
        "smallest_deviation": number(0.0),
        "largest_deviation": number(0.0),
        "matrix": text(),
        "memory_bytes": whole(0, 2**63 - 1),
        "product_seconds": number(0.0),
        "search_seconds": list_of(number(0.0), 2, 2),
        "checking_seconds": number(0.0),
    }
)
_CHOICE = fields(
    {
        "sparsity": whole(1, MOST_FEATURES),
        "reason": text(),
        "method": text(64),
        "scores": list_of(either(null, number()), MOST_FEATURES),
        "errors": list_of(either(null, number()), MOST_FEATURES),
    }
)
_OF_THE_SET = {
    **_BOUND,
    "sparsities": list_of(whole(1, MOST_FEATURES), MOST_FEATURES),
    "objective": number(0.0),
    "message": text(),
    "reading": READING,
    "certificate": either(null, SET_CERTIFICATE),
}

# name: what it is, its check, and fields that files need not have.
DOCUMENTS: dict[str, tuple[str, Check, dict[str, Check]]] = {
    "solution": ("A sparse component: solve --output, solve --json.", SOLUTION, {}),
    "components": ("Several components: decompose --output, decompose --json.", COMPONENTS, _OF_THE_SET),
    "path": ("Components by sparsity: path and choose, --output or --json.", SPARSITY_PATH, {"choice": _CHOICE}),
    "certificate": ("A proved upper bound: certify --output, certify --json.", CERTIFICATE, {"status": text(64)}),
    "set-certificate": ("A proved upper bound for several components together.", SET_CERTIFICATE, {}),
    "proof": ("What a checker established: verify --json.", _PROOF, {}),
    "refusal": ("Why a checker refused: verify --json.", _REFUSAL, {}),
    "scores": ("Scores of samples: transform --output, transform --json.", _SCORES, {}),
    "info": ("What is in a file: info --json.", _INFO, {}),
}

ABOUT = {
    "format": "what the file is, and of which version",
    "support": "positions, from 0 and increasing, of the features with nonzero loadings",
    "supports": "of each component",
    "names": "of these features; null where the data have no names",
    "loadings": "a unit vector on the support, in its order; of sets, one for each component",
    "objective": "variance captured; of sets, the sum over components",
    "explained_variance_ratio": "objective divided by the total variance",
    "relative_objective": "objective divided by the largest eigenvalue; null where that is not known",
    "upper_bound": "what no such loadings exceed; null where nothing is proved",
    "gap": "the largest possible loss, 1 - objective / upper_bound; null where nothing is proved",
    "size": "number of features",
    "sparsity": "largest number of nonzero loadings that was allowed",
    "sparsities": "of each component",
    "matrix": "in words, the matrix whose variance is captured",
    "solver": "what proposed the support",
    "status": "how the run ended",
    "message": "the same as a sentence",
    "seconds": "time that it took",
    "refitted": "whether the loadings are the best ones on the support",
    "history": "seconds, objective and upper bound at every step that improved something",
    "details": "numbers particular to the solver, and how often a file was read: walks, and those of each phase",
    "reading": "how the file was read, as options of load_table",
    "constraints": "what else was asked of the component: features forced in or out, groups, signs",
    "certificate": "the certificate, with the name and hash of the file that holds its evidence",
    "mean": "what is subtracted from the columns of the support before scores are taken; null without data",
    "scale": "what these columns are then divided by",
    "components": "the solutions, one for each component",
    "solutions": "one for each sparsity, increasing",
    "together": "what the components are together",
    "deflation": "how a greedy component was taken out of the matrix",
    "explained_variance": "of each component by itself",
    "adjusted_variance": "of each component beyond the ones before it",
    "total_variance": "of all components together, by regression on their scores",
    "trace": "the total variance of the data",
    "choice": "of choose: sparsity, reason, method, and the criterion with its standard error at each sparsity",
    "kind": "which rule of the checker applies",
    "problem": "what the components are together",
    "features_in_no_optimum": "features proved to be in no best support: in a certificate how many, in a proof which",
    "features_in_every_optimum": "likewise, in every best support",
    "normalisation": "how data became the matrix",
    "fingerprint": "a hash of the data",
    "tree": "the shape of a search tree, where the proof has one",
    "evidence": "the file beside this one that holds the large arrays, and its hash",
    "proved": "whether the checker accepts the certificate",
    "claimed": "the bound that the certificate states; upper_bound is what the checker derived",
    "failure_probability": "of a proof that draws random numbers; 0 for all others",
    "arithmetic": "how rounding was allowed for",
    "reason": "why the certificate was refused",
    "method": "what scores are, or how a sparsity was chosen",
    "samples": "names of samples, or in info how many there are; null where there are none",
    "scores": "a row for each sample, a number for each component",
    "understood": "printed only: what was found in the file",
    "warnings": "printed only: what is uncertain about it",
    "passes": "printed only: how often a streamed file was read",
    "file": "the file that was asked about",
    "features": "how many",
    "type": "of the numbers",
    "sparse": "whether zeros are left out",
    "stays_in_file": "whether the numbers are streamed, not loaded",
    "feature_names": "the first of them",
    "sample_names": "the first of them",
    "missing": "how many values are missing",
    "features_with_missing": "in how many features",
    "constant_features": "features without variance",
    "smallest_deviation": "smallest standard deviation of a feature that has one",
    "largest_deviation": "the largest",
    "memory_bytes": "to expect for data and products with them",
    "product_seconds": "measured: one product with the matrix",
    "search_seconds": "to expect of solve: from, to",
    "checking_seconds": "to expect before a checker looks at any evidence",
}


def document(name: str) -> dict[str, Any]:
    """Return the schema of a document."""
    what, check, more = DOCUMENTS[name]
    schema = json.loads(json.dumps(dict(check.schema)))
    for field, part in {**more, **_PRINTED}.items():
        schema["properties"].setdefault(field, json.loads(json.dumps(part.schema)))
    for field, part in schema["properties"].items():
        part["description"] = ABOUT[field]
    return {"$schema": DIALECT, "$id": f"certpca-{name}-1", "title": f"certpca {name}", "description": what, **schema}


def written(name: str) -> str:
    """Return the text of the file that ships."""
    return json.dumps(document(name), indent=1, ensure_ascii=False) + "\n"


def table(name: str) -> str:
    """Return the fields of a document as a Markdown table."""
    schema = document(name)
    lines = [f"{DOCUMENTS[name][0]}", "", "| field | type | always | what it is |", "|---|---|---|---|"]
    for field, part in schema["properties"].items():
        always = "yes" if field in schema["required"] else ""
        lines.append(f"| `{field}` | {_type(part)} | {always} | {part['description']} |")
    return "\n".join(lines)


def _type(schema: dict[str, Any]) -> str:
    """Say in a few words what a value is."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items']).partition(' of ')[0]}s" if schema["items"] else "list"
    kind = str(schema.get("type", "any"))
    return {"object": "mapping", "boolean": "truth value", "string": "text"}.get(kind, kind)


def main() -> None:
    """Write the files that ship, and the tables of the docs page where there is a checkout around."""
    from certpca.runtime.atomic_write import write_text_whole

    FOLDER.mkdir(exist_ok=True)
    for name in DOCUMENTS:
        write_text_whole(FOLDER / f"{name}.json", written(name))
    page = Path(__file__).parents[3] / "docs" / "json.md"
    if page.exists():
        write_text_whole(page, with_tables(page.read_text(encoding="utf-8")))


def with_tables(page: str) -> str:
    """Put the tables into the text of the docs page, between their marks."""
    for name in DOCUMENTS:
        begin, end = f"<!-- schema {name} -->\n", "<!-- /schema -->"
        head, _, rest = page.partition(begin)
        page = head + begin + table(name) + "\n" + end + rest.partition(end)[2]
    return page


if __name__ == "__main__":
    main()
