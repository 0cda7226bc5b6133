# %% [markdown]
# # Genotypes: a marker panel
#
# 300 people of three populations, 1,500 variants, drawn from the Balding-Nichols model and written as PLINK files, as
# a cohort would come.

# %%
from pathlib import Path

import numpy as np

import certpca

drawn = certpca.balding_nichols(300, 1500, populations=3, fst=0.2, missing=0.01, rng=1)
chromosomes = np.repeat([1, 2, 3], 500)
positions = np.tile(np.arange(1, 501) * 50_000, 3)
certpca.write_plink("cohort", drawn.data, chromosomes=chromosomes, positions=positions)
cohort = certpca.read_plink("cohort", maf=0.05)
print(cohort.shape, "after the filter")

# %% [markdown]
# Twelve markers whose weighted sum varies most, and a proof how far from the best twelve they can be. Genotypes stay
# packed; missing calls take the mean of their variant.

# %%
solution = certpca.solve(cohort, 12, certify=True, missing="mean", target_gap=0.02, time_limit=60)
print(solution)
print(f"no twelve markers capture more than {solution.upper_bound:.4f}: a gap of at most {solution.gap:.1%}")
panel = certpca.marker_panel(solution, cohort, missing="mean")
print(f"{int(np.asarray(panel.proved).sum())} of {panel.size} markers are proved to be in every best choice")

# %% [markdown]
# Markers with chromosome, position, alleles and loading are a table, from which other people are scored:

# %%
certpca.save_markers(panel, "panel.tsv")
print(Path("panel.tsv").read_text())

# %% [markdown]
# Do twelve markers for each of two components tell the populations apart? Beside them, dense components of all
# variants.

# %%
from matplotlib import pyplot
from sklearn.decomposition import PCA

from certpca import plots

two = certpca.decompose(cohort, 2, 12, missing="mean")
sparse = two.scores()
calls = np.where(drawn.data < 0, np.nan, drawn.data)
dense = PCA(2).fit_transform(np.where(np.isnan(calls), np.nanmean(calls, axis=0), calls))
names = ["population 1", "population 2", "population 3"]
figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
plots.draw("scores", sparse[:, 0], sparse[:, 1], drawn.population, names, ax=left)
plots.draw("scores", dense[:, 0], dense[:, 1], drawn.population, names, ax=right)
left.set_title("24 markers")
right.set_title("all variants")

# %% [markdown]
# [Panels of real cohorts, linkage, other strands and new samples](../docs/genetics.md); [populations of 1000
# Genomes](../docs/populations.md).
