"""Sparse components of an AnnData object, written back into it."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from certpca.frontends.annotated.tables import is_annotated, table_of
from certpca.results.certificate import Certificate
from certpca.results.component_set import GREEDY
from certpca.results.set_certificate import SetCertificate
from certpca.runtime.budget import Budget, Listener
from certpca.runtime.errors import InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.components import Components
from certpca.verbs.decompose import decompose
from certpca.verbs.transform import transform
from certpca.verbs.validation import checked_memory, named_arguments, require

PLACES = {"obsm": "X_spca", "varm": "SPCs", "uns": "spca"}


@named_arguments
def spca(
    adata: Any,
    n_components: int,
    sparsity: int | Sequence[int] | None = None,
    solver: str | Solver | None = None,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    mask_var: Any = None,
    key_added: str | None = None,
    total: int | None = None,
    together: str = GREEDY,
    deflation: str | None = None,
    certify: bool = False,
    target_gap: float | None = None,
    rng: int | np.random.Generator = 0,
    time_limit: float | None = None,
    budget: Budget | None = None,
    memory: float | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    center: bool = True,
    scale: bool | str = False,
    missing: str = "error",
) -> Components:
    """Find sparse components of an AnnData object, and put scores, loadings and what is proved where scanpy looks.

    Parameters
    ----------
    adata : AnnData
        In memory, or backed by a file, which is then streamed. It is changed in place.
    n_components : int
        How many components.
    sparsity : int or sequence of int, optional
        Largest number of nonzero loadings, for all components or one for each; or give `total`.
    solver : str or Solver, optional
        What finds greedy components; by default ``"auto"``.
    layer : str, optional
        A layer instead of X.
    use_rep : str, optional
        A representation in ``.obsm`` instead of variables: components are then combinations of its columns.
    mask_var : str or array_like of bool, optional
        Only these variables, such as ``"highly_variable"``; by default all. The others have loadings of zero.
    key_added : str, optional
        The name under which all results go, instead of ``X_spca``, ``SPCs`` and ``spca``.
    total : int, optional
        In place of `sparsity`, for components chosen together; see `certpca.decompose`.
    together : {"greedy", "disjoint", "orthogonal", "uncorrelated", "shared"}
        What the components are together; see `certpca.decompose`.
    deflation : str, optional
        How a greedy component is taken out; by default ``"schur"``.
    certify : bool
        Also prove how far from the optimum the components can be.
    target_gap : float, optional
        Where a proof ends; by default 0.01.
    rng : int or numpy.random.Generator
        Seed or generator.
    time_limit : float, optional
        Seconds for all of it, proofs included.
    budget : Budget, optional
        Limits steps too, in place of `time_limit`.
    memory : float, optional
        GiB for data on their way from the file of a backed object; by default 0.25.
    listener : callable, optional
        Called with a `Step` after each step; returning False ends the run.
    checkpoint : path_like, optional
        A folder from which the same call goes on.
    center : bool
        Subtract means, implicitly: sparse data stay sparse.
    scale : bool or {"2pq"}
        Divide by standard deviations, implicitly.
    missing : {"error", "mean"}
        What to do with missing values.

    Returns
    -------
    Components
        All that was found, certificates included: `certpca.save_components` keeps them for `certpca verify`. The object
        has scores in ``.obsm["X_spca"]``, loadings in ``.varm["SPCs"]`` (with `use_rep`, in
        ``.uns["spca"]["loadings"]``), and in ``.uns["spca"]`` variance, variance_ratio, adjusted_variance_ratio, params
        and a summary of the certificate: bounds, gaps, kinds and the fingerprint of the data.

    Raises
    ------
    InvalidProblemError
        Where an argument has no meaning for these data, or would have no effect.
    InvalidDataError
        Where the data cannot be used as they are.

    See Also
    --------
    certpca.decompose : The same for arrays and files.
    certpca.SparsePCA : For scikit-learn; it takes AnnData objects too.

    Examples
    --------
    >>> import anndata, certpca, numpy as np
    >>> cells = anndata.AnnData(np.random.default_rng(0).standard_normal((40, 12)))
    >>> found = certpca.tl.spca(cells, 2, 4)
    >>> cells.obsm["X_spca"].shape, cells.varm["SPCs"].shape, sorted(cells.uns["spca"])[:2]
    ((40, 2), (12, 2), ['adjusted_variance_ratio', 'certificate'])
    """
    require(is_annotated(adata), "adata", "an AnnData object; for arrays and files there is decompose", type(adata))
    if key_added is not None:
        require(isinstance(key_added, str) and bool(key_added), "key_added", "a name", key_added)
    if memory is not None:
        checked_memory(memory)
        if not getattr(adata, "isbacked", False):
            msg = f"memory={memory!r} would have no effect: the AnnData object is not backed by a file"
            raise InvalidProblemError(msg)
    table = table_of(adata, layer=layer, use_rep=use_rep, mask_var=mask_var, memory=memory)
    prepared = {"center": center, "scale": scale, "missing": missing}
    found = decompose(
        table.data,
        n_components,
        sparsity,
        solver,
        total=total,
        together=together,
        deflation=deflation,
        certify=certify,
        target_gap=target_gap,
        rng=rng,
        time_limit=time_limit,
        budget=budget,
        listener=listener,
        checkpoint=checkpoint,
        names=table.names,
        **prepared,  # type: ignore[arg-type]
    )
    scores = transform(table.data, found, missing=missing, names=table.names)
    chosen = mask_var if isinstance(mask_var, str) else "array" if mask_var is not None else None
    said = {"layer": layer, "use_rep": use_rep, "mask_var": chosen, "deflation": found.deflation}
    params: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    params |= {"n_components": len(found.components), "sparsities": np.array(found.sparsities), "together": together}
    about = {
        "params": {**params, **prepared},
        "variance": found.explained_variance,
        "variance_ratio": found.explained_variance_ratio,
        "adjusted_variance_ratio": found.adjusted_variance_ratio,
        "total_variance_ratio": found.total_variance_ratio,
        "certificate": _summary(found),
    }
    places = PLACES if key_added is None else dict.fromkeys(PLACES, key_added)
    if table.chosen is None:
        about["loadings"] = found.loadings
    else:
        loadings = np.zeros((len(adata.var_names), len(found.components)))
        loadings[table.chosen] = found.loadings
        adata.varm[places["varm"]] = loadings
    adata.obsm[places["obsm"]] = scores
    adata.uns[places["uns"]] = about
    return found


def _summary(found: Components) -> dict[str, Any]:
    """Return what is proved in the form that h5ad has for it: numbers, texts and lists of these."""
    whole = found.certificate
    steps = [certificate for certificate in found.certificates if certificate is not None]
    certificates: list[Certificate | SetCertificate] = list(steps) if whole is None else [whole]
    if not certificates:
        return {"proved": False, "verdict": found.verdict()}
    return {
        "proved": True,
        "about": "each step, for what the earlier ones left" if whole is None else "the set",
        "verdict": found.verdict(),
        "upper_bound": np.array([certificate.upper_bound for certificate in certificates]),
        "objective": np.array([certificate.objective for certificate in certificates]),
        "gap": np.array([certificate.gap for certificate in certificates]),
        "kind": np.array([certificate.kind for certificate in certificates], dtype=object),
        "fingerprint": np.array([certificate.fingerprint for certificate in certificates], dtype=object),
        "matrix": certificates[0].matrix,
    }
