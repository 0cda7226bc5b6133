# %% [markdown]
# # A scikit-learn pipeline with few features
#
# 13 measurements of 178 wines of three cultivars come with scikit-learn. Which few of them tell the cultivars apart?

# %%
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certpca import SparsePCA

wines, cultivars = load_wine(return_X_y=True, as_frame=True)
print(wines.shape, cultivars.value_counts().tolist())

# %% [markdown]
# The sparsity is a setting like any other, so a search over settings chooses it. With a time limit a fit still gives
# as many components as were asked for, so that the shape of a pipeline never changes:

# %%
pipeline = make_pipeline(StandardScaler(), SparsePCA(n_components=2, time_limit=10), LogisticRegression())
search = GridSearchCV(pipeline, {"sparsepca__sparsity": [1, 2, 3, 4, 6, 8, 13]}, cv=5)
search.fit(wines, cultivars)
tried = zip(search.cv_results_["param_sparsepca__sparsity"], search.cv_results_["mean_test_score"], strict=True)
for sparsity, accuracy in tried:
    print(f"{int(sparsity):3d} features a component: accuracy {accuracy:.3f}")
dense = make_pipeline(StandardScaler(), PCA(n_components=2), LogisticRegression())
print(f"PCA, all 13 features: accuracy {cross_val_score(dense, wines, cultivars, cv=5).mean():.3f}")

# %% [markdown]
# Four measurements a component, with a proof that no other four do better:

# %%
model = make_pipeline(StandardScaler(), SparsePCA(n_components=2, sparsity=4, certify=True)).fit(wines)
components = model[-1]
for part in components.solutions_:
    print([str(wines.columns[j]) for j in part.support], part.loadings.round(2).tolist(), f"gap {part.gap:.1e}")
print("explained:", components.explained_variance_ratio_.round(3))
print("beyond the earlier ones:", components.adjusted_variance_ratio_.round(3))

# %%
from matplotlib import pyplot

from certpca import plots

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
scores = model.transform(wines)
plots.draw("scores", scores[:, 0], scores[:, 1], cultivars, ["cultivar 0", "cultivar 1", "cultivar 2"], ax=left)
for place, part in enumerate(components.solutions_):
    rows = [wines.columns[j] for j in part.support]
    right.barh([f"{place + 1}: {name}" for name in rows], part.loadings, label=f"component {place + 1}")
right.invert_yaxis()
right.legend(loc="lower right")

# %% [markdown]
# The rest of what `PCA` offers is there too: scores of samples and of models, whitening, frames with names:

# %%
standardised = model[0].transform(wines)
print("share of the variance that is rebuilt:", round(components.score(standardised), 3))
likely = components.score_samples(standardised)
print("least likely wines:", likely.argsort()[:3].tolist(), likely[likely.argsort()[:3]].round(1).tolist())
whitened = SparsePCA(n_components=2, sparsity=4, whiten=True).fit_transform(standardised)
print("deviations of whitened scores:", whitened.std(axis=0, ddof=1).round(6).tolist())
print(model.set_output(transform="pandas").fit_transform(wines).head(3).round(3))

# %% [markdown]
# [Every attribute and setting](../docs/estimators.md); [coming from scikit-learn's
# `SparsePCA`](../docs/coming_from.md).
