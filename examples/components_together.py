# %% [markdown]
# # Several components, chosen jointly
#
# The best component, then the best of what it left, and so on: each step is as good as can be, and the set need not
# be. With `together=` all components are chosen for the sum of their variances, and one bound is proved for the set.

# %%
import certpca

X = certpca.pitprops()
greedy = certpca.decompose(X, 3, [5, 4, 4], deflation="schur")
jointly = certpca.decompose(X, 3, [5, 4, 4], together="disjoint", certify=True, target_gap=1e-6)
print(f"one after the other: {greedy.explained_variance.sum() / greedy.trace:.1%} along them")
print(f"jointly, no feature in two: {jointly.explained_variance.sum() / jointly.trace:.1%}")
print(jointly.verdict())

# %% [markdown]
# One after the other may share features, and correlated components count the same variance twice: *adjusted*
# variances do not. Compare like with like, with the features of earlier components excluded:

# %%
used, captured = [], 0.0
for sparsity in (5, 4, 4):
    part = certpca.solve(X, sparsity, exclude=used, certify=True, target_gap=1e-6)
    used += [int(j) for j in part.support]
    captured += part.objective
    print(f"best {sparsity} of the features left: {part.objective:.4f}, proved to {max(part.gap, 1e-6):.0e}")
more = jointly.objective / captured - 1
print(f"together they capture {captured:.4f}; chosen jointly, {jointly.objective:.4f}: {more:.1%} more")

# %% [markdown]
# What components must have in common is a choice: no feature twice, orthogonal loadings, uncorrelated scores, or one
# set of features for all.

# %%
for kind in ("disjoint", "orthogonal", "uncorrelated", "shared"):
    parts = certpca.decompose(X, 3, 4, together=kind, certify=True, target_gap=0.03, time_limit=5)
    print(f"{kind:13s} sum {parts.objective:.4f}, at most {parts.upper_bound:.4f}, gap {parts.gap:.1%}")

# %% [markdown]
# Or give the set one budget and let the search split it:

# %%
split = certpca.decompose(X, 3, total=10, together="disjoint", certify=True, target_gap=1e-6)
print([part.sparsity for part in split.components], f"{split.objective:.4f}", split.verdict())

# %%
from matplotlib import pyplot

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True)
greedy.plot("components", left)
jointly.plot("components", right)
left.set_xlabel("one after the other")
right.set_xlabel("jointly, no feature in two")

# %% [markdown]
# The certificate of a set is stored and verified like any other:

# %%
certpca.save_certificate(jointly.certificate, "set.json")
proof = certpca.verify(certpca.load_certificate("set.json"), X)
print(f"no such components capture more than {proof.upper_bound:.6f}; these capture {proof.objective:.6f}")

# %% [markdown]
# [Definitions of explained variance, and comparisons with other packages](../docs/components.md).
