"""Where each public name is described: the pages of the reference, in the order in which readers need them."""

import certpca

GROUPS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "verbs": (
        "Verbs",
        "What is asked for: one component, several, a range of sparsities, a proof.",
        ("solve", "certify", "verify", "decompose", "path", "transform", "project", "solve_sdp"),
    ),
    "choosing": (
        "Choosing and judging",
        "How many features and components, which are found again, what they go with.",
        (
            "choose_sparsity",
            "Choice",
            "choose_components",
            "ComponentChoice",
            "stability",
            "Stability",
            "associations",
            "Associations",
        ),
    ),
    "estimators": (
        "Estimators and AnnData",
        "Transformers for scikit-learn, and a function for AnnData objects.",
        ("SparsePCA", "SparseKernelPCA"),
    ),
    "results": (
        "Results and their files",
        "What verbs return, and how it is stored.",
        (
            "Solution",
            "Status",
            "Components",
            "ComponentSet",
            "Path",
            "Projection",
            "Relaxation",
            "Constraints",
            "save_solution",
            "load_solution",
            "save_components",
            "load_components",
            "save_path",
            "load_path",
            "save_eigenvec",
        ),
    ),
    "certificates": (
        "Certificates",
        "Proofs as values and as files.",
        (
            "Certificate",
            "SetCertificate",
            "Proof",
            "SetProof",
            "Source",
            "Expected",
            "save_certificate",
            "load_certificate",
        ),
    ),
    "data": (
        "Data",
        "From files, arrays and kernels to the matrix that is asked about.",
        (
            "from_data",
            "from_matrix",
            "from_kernel",
            "DataOptions",
            "load_table",
            "Table",
            "open_npy",
            "read_parquet",
            "read_h5ad",
            "read_zarr",
            "read_geo",
            "SeriesMatrix",
            "pitprops",
            "balding_nichols",
            "Genotypes",
            "rotated_hadamard",
            "RotatedHadamard",
        ),
    ),
    "genotypes": (
        "Genotypes",
        "PLINK files and panels of markers.",
        ("read_plink", "read_pgen", "write_plink", "marker_panel", "MarkerPanel", "save_markers", "load_markers"),
    ),
    "reports": ("Reports", "A page to read, print or send.", ("write_report", "Facts", "SetFacts", "Files")),
    "extending": (
        "Solvers and limits",
        "Which solvers there are, how to add one, and how runs are limited and watched.",
        (
            "available_solvers",
            "solver_named",
            "register",
            "Solver",
            "Candidate",
            "Budget",
            "Progress",
            "Step",
            "Operator",
            "verify_operator",
            "Factor",
            "Cost",
        ),
    ),
    "errors": (
        "Errors",
        "What is raised, and when.",
        (
            "CertpcaError",
            "InvalidDataError",
            "InvalidProblemError",
            "UnknownArgumentError",
            "DataFileError",
            "CertificateError",
            "MissingDependencyError",
            "ClusterError",
        ),
    ),
}
ELSEWHERE = {"tl.spca": "certpca.frontends.annotated.spca.spca"}  # public by a module, and where that takes it from


def missing_names() -> list[str]:
    """Return public names that no page describes, and names that are not public."""
    return sorted(set(certpca.__all__) ^ {name for _, _, names in GROUPS.values() for name in names})


def page_of(name: str) -> str:
    """Return the page and anchor of a public name, from the root of the site's sources."""
    if name in ELSEWHERE:
        return f"api/estimators.md#{ELSEWHERE[name]}"
    return next(f"api/{page}.md#certpca.{name}" for page, (_, _, names) in GROUPS.items() if name in names)


def page_text(page: str) -> str:
    """Return the Markdown of one page of the reference."""
    title, about, names = GROUPS[page]
    wanted = [f"certpca.{name}" for name in names]
    if page == "estimators":
        wanted += ELSEWHERE.values()
    return "\n\n".join([f"# {title}", about, *(f"::: {name}" for name in wanted)]) + "\n"


def index_text() -> str:
    """Return the first page of the reference: every public name with its first sentence."""
    lines = ["# Reference", "", "Every public name; all are in `certpca` itself.", ""]
    for page, (title, about, names) in GROUPS.items():
        lines += [f"## [{title}]({page}.md)", "", about, "", "| name | what it is |", "|---|---|"]
        for name in names:
            lines.append(f"| [`{name}`]({page}.md#certpca.{name}) | {_first_line(getattr(certpca, name))} |")
        if page == "estimators":
            spca = next(iter(ELSEWHERE.values()))
            lines.append(f"| [`tl.spca`]({page}.md#{spca}) | {_first_line(certpca.tl.spca)} |")
        lines.append("")
    return "\n".join(lines)


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().split("\n")[0].replace("|", "\\|")
