# %% [markdown]
# # Finance: which stocks move together
#
# Monthly prices of seven technology companies and two indices come with Matplotlib, from 1990 on. Their logarithmic
# returns, where all are known:

# %%
import numpy as np
import pandas
from matplotlib import cbook

import certpca

prices = pandas.read_csv(cbook.get_sample_data("Stocks.csv"), comment="#", index_col="Date", parse_dates=True)
prices = prices.drop(columns="DELL").dropna()
returns = np.log(prices).diff().dropna()
print(returns.shape, returns.index[0].date(), "to", returns.index[-1].date())

# %% [markdown]
# A portfolio of four, long only, with the largest variance for its size, for returns of unit variance. The proof is
# about portfolios that are long only, and says so.

# %%
together = certpca.solve(returns, 4, scale=True, nonnegative=True, certify=True, target_gap=1e-6)
print(together)
print(dict(zip(together.names, together.loadings.round(2).tolist(), strict=True)))

# %% [markdown]
# The indices are the market. What moves beside it? Returns without what the S&P 500 explains:

# %%
market = returns["^GSPC"]
slopes = returns.cov()["^GSPC"] / market.var()
rest = (returns - np.outer(market, slopes)).drop(columns=["^GSPC", "^IXIC"])
two = certpca.decompose(rest, 2, 3, scale=True, together="disjoint", certify=True, target_gap=1e-6)
print(two.verdict())
for part in two.components:
    print(dict(zip(part.names, part.loadings.round(2).tolist(), strict=True)))

# %% [markdown]
# Best in this sample is one statement; found again in other halves of the months is another.

# %%
again = certpca.stability(returns, 4, scale=True, subsamples=40, certify=True, target_gap=1e-6)
print(again)

# %%
from matplotlib import pyplot

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
standard = (returns - returns.mean()) / returns.std()
for column in standard:
    inside = column in together.names
    left.plot(standard[column].cumsum(), color="#0072B2" if inside else "0.75", label=column if inside else None)
left.set_ylabel("cumulated standardised returns")
left.legend(fontsize="small", title="in the component")
two.plot("components", right)

# %% [markdown]
# [423 stocks, by the command line and in Python](../docs/finance.md).
