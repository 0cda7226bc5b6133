# %% [markdown]
# # Round trip and tampering
#
# A certificate is made on one machine and believed on another. The one who believes it has the data and the file, and
# no reason to trust whoever sent it. Here is such a journey, and what becomes of files that were changed on the way.

# %%
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

import certpca

rng = np.random.default_rng(0)
factor = rng.standard_normal((120, 2))
X = rng.standard_normal((120, 60))
X[:, :6] += 1.5 * factor[:, :1]  # two planted groups of features
X[:, 6:14] += factor[:, 1:]
certificate = certpca.certify(X, 6, target_gap=1e-6)
certpca.save_certificate(certificate, "claim.json")
print(sorted(file.name for file in Path().glob("claim*")))

# %% [markdown]
# The file says what is claimed, in numbers that anyone can read; the evidence lies beside it.

# %%
claim = json.loads(Path("claim.json").read_text())
print({key: claim[key] for key in ("kind", "size", "sparsity", "objective", "upper_bound")})

# %% [markdown]
# The receiver loads both and has the claim recomputed from the data. Nothing that is printed below was taken from the
# file: the checker derives it.

# %%
proof = certpca.verify(certpca.load_certificate("claim.json"), X)
print(f"{proof.matrix}: no {proof.sparsity} of {proof.size} features capture more than {proof.upper_bound:.6f};")
print(f"those of the certificate capture {proof.objective:.6f}; {proof.outside.size} features are in no best choice")

# %% [markdown]
# Now the attacks. A bound that is a little too good, a component that is said to capture more than it does, a support
# with features exchanged, other data, and data that differ in one number. Each is refused, with the reason.


# %%
def refused(what: str, certificate: certpca.Certificate, data: np.ndarray) -> None:
    """Print what the checker says; a claim that it accepts would be an error here."""
    try:
        certpca.verify(certificate, data)
    except certpca.CertificateError as reason:
        print(f"{what}: {reason}")
    else:
        raise AssertionError(what)


touched = X.copy()
touched[17, 3] += 1e-6
refused("a lower bound", replace(certificate, upper_bound=0.999 * certificate.upper_bound), X)
refused("a better component", replace(certificate, objective=1.01 * certificate.objective), X)
refused("other features", replace(certificate, support=certificate.support + 20), X)
refused("other data", certificate, rng.standard_normal(X.shape))
refused("one number changed", certificate, touched)

# %% [markdown]
# The evidence can be changed too. It is not trusted either: whatever numbers it holds, the inequality they are put
# into is true, so that the worst they can do is to prove less than is claimed. And a file that is not what it says is
# refused before anything in it is used.

# %%
[evidence] = Path().glob("claim*.npz")
content = bytearray(evidence.read_bytes())
content[len(content) // 2] ^= 0xFF
evidence.write_bytes(content)
try:
    certpca.verify(certpca.load_certificate("claim.json"), X)
except certpca.CertpcaError as reason:
    print(f"{type(reason).__name__}: {reason}")
else:
    raise AssertionError

# %% [markdown]
# How much may be claimed? The receiver's bound comes out of the checker, for any claim above it; below it, none
# passes. The picture has the claims that were tried, around the bound that is proved.

# %%
from matplotlib import pyplot

factors = 1 + np.linspace(-4e-6, 4e-6, 33)
accepted = []
for factor in factors:
    try:
        certpca.verify(replace(certificate, upper_bound=factor * proof.upper_bound), X)
        accepted.append(True)
    except certpca.CertificateError:
        accepted.append(False)
accepted = np.array(accepted)
figure, ax = pyplot.subplots(figsize=(8, 2.2), layout="constrained")
for taken, colour, label in ((True, "#0072B2", "accepted"), (False, "#D55E00", "refused")):
    ax.scatter(1e6 * (factors - 1)[accepted == taken], accepted[accepted == taken], color=colour, label=label)
ax.axvline(1e6 * (proof.objective / proof.upper_bound - 1), color="grey", linestyle=":", label="captured")
ax.set_xlabel("claimed bound, in millionths above the one that is proved")
ax.set_yticks([0, 1], ["refused", "accepted"])
ax.set_ylim(-0.6, 1.6)
ax.legend(loc="lower right")

# %% [markdown]
# 83 tampered certificates of every kind come with the package, with what a checker has to say of each: [golden
# certificates](../src/certpca/golden/README.md). [How a referee checks a claim](../docs/reviewers.md).
