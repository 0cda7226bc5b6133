"""Tools for AnnData objects, named as scanpy names its own: `certpca.tl.spca(adata, …)`."""

from certpca.frontends.annotated.spca import spca

__all__ = ["spca"]
