# %% [markdown]
# # Pit props: a proof from beginning to end
#
# Jeffers (1967) measured 13 properties of 180 pit props, and publications on sparse components have looked at their
# correlations since. Which seven properties go together most? There are 1,716 choices of seven.

# %%
import certpca

X = certpca.pitprops()
solution = certpca.solve(X, 7, certify=True)
print(solution)
for name, loading in zip(solution.names, solution.loadings, strict=True):
    print(f"{name:8s} {loading:.3f}")

# %% [markdown]
# What was found captures as much as the bound allows, so that no other choice is better. All thirteen properties
# together capture the largest eigenvalue; how much of it is lost by fewer? A path has a component and a proof for
# each number of features:

# %%
path = certpca.path(X, range(1, 14), certify=True, target_gap=1e-6)
print(path)

# %%
from matplotlib import pyplot

from certpca import plots

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
plots.draw("path", path, ax=left)
plots.draw("loadings", solution.names, solution.loadings, "loading", ax=right)

# %% [markdown]
# The proof is a file. It is checked against the data alone: by the checker that comes with the package, and by a
# [second one in whole numbers](../docs/exact.md), which shares no code with the first.

# %%
certpca.save_certificate(solution.certificate, "pitprops.json")
certificate = certpca.load_certificate("pitprops.json")
first = certpca.verify(certificate, X)
second = certpca.verify(certificate, X, exact=True)
print(f"{first.matrix}: no {first.sparsity} of {first.size} features capture more than {first.upper_bound:.8f}")
print(f"in whole numbers: {float(second.upper_bound):.8f}")

# %% [markdown]
# Next: [what happens to a claim that is not true](round_trip.py), [several components of these
# data](components_together.py), [the paper's table](../docs/paper.md).
