"""Certificates altered at random: in their fields, their trees, their arrays and their data."""

import copy
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.golden.tampered import stored

from certpca.checker import fingerprint
from certpca.results.certificate import Source

Arrays = dict[str, np.ndarray]


def _number(value: Any, rng: np.random.Generator) -> Any:
    """Return another number in the place of one."""
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 2]))
    return float(
        rng.choice([-value, 0.0, value * (1 + 10 ** rng.uniform(-9, 0)), value * (1 - 10 ** rng.uniform(-9, 0))])
    )


def _places(at: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all numbers and lists in a tree."""
    inner = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
    own = [way] if way and isinstance(at, int | float | list) else []
    return own + [place for key, value in inner for place in _places(value, (*way, key))]


def _in_tree(fields: dict[str, Any], rng: np.random.Generator) -> None:
    places = _places(fields["tree"])
    if not places:
        fields["tree"] = [] if rng.integers(2) else None
        return
    *way, last = places[int(rng.integers(len(places)))]
    at = fields["tree"]
    for step in way:
        at = at[step]
    if isinstance(at[last], list):
        at[last] = at[last][:-1] if rng.integers(2) else at[last][::-1]
    else:
        at[last] = _number(at[last], rng)


def _in_arrays(arrays: Arrays, rng: np.random.Generator) -> None:
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name].copy()
    match int(rng.integers(6)):
        case 0:
            del arrays[name]
            return
        case 1:
            array = array[..., :-1] if array.ndim else array.reshape(1)
        case 2 if array.dtype.kind == "f":
            array = array * (1 + 0.3 * rng.standard_normal(array.shape))
        case 3 if array.dtype.kind == "f":
            array = np.asarray(array, dtype=np.float32)
        case _ if array.size:
            place = tuple(int(rng.integers(length)) for length in array.shape)
            array[place] = _number(array[place].item(), rng)
    arrays[name] = np.asarray(array)


def _in_fields(fields: dict[str, Any], rng: np.random.Generator) -> None:
    names = ["upper_bound", "objective", "sparsity", "features_in_no_optimum", "features_in_every_optimum"]
    name = str(rng.choice([name for name in [*names, "size"] if name in fields]))
    if name == "upper_bound":
        fields[name] *= float(1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-10, -1))
    else:
        fields[name] = _number(fields[name], rng)


def _in_loadings(fields: dict[str, Any], rng: np.random.Generator) -> None:
    for name in ("support", "loadings", "supports"):
        if fields.get(name) and rng.integers(2):
            at = fields[name]
            while isinstance(at[0], list) and at[0]:
                at = at[int(rng.integers(len(at)))]
            if at and not isinstance(at[0], list):
                place = int(rng.integers(len(at)))
                at[place] = _number(at[place], rng)


def _in_normalisation(fields: dict[str, Any], values: np.ndarray, rng: np.random.Generator) -> None:
    how = fields["normalisation"]
    name = str(rng.choice(sorted(how)))
    others: dict[str, list[Any]] = {"kind": ["matrix", "data"], "center": [True, False], "scale": [True, False, "2pq"]}
    others |= {"divisor": [1.0, 2.0, 99.0, 1.5], "missing": [None, -9, -1], "fill_missing": [True, False]}
    how[name] = others[name][int(rng.integers(len(others[name])))]
    if rng.integers(4):
        fields["fingerprint"] = fingerprint(Source(values=values, **how))


def tampered(file: Path, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Alter the certificate in a file, once or twice, hashes adapted; return the data to hold it against."""
    fields = json.loads(file.read_text())
    beside = fields.get("evidence")
    arrays: Arrays = {}
    if beside:
        with np.load(file.parent / beside["file"]) as archive:
            arrays = {name: archive[name] for name in archive.files}
    original = copy.deepcopy(fields)
    for _ in range(int(rng.integers(1, 3))):
        match int(rng.integers(10)):
            case 0 | 1 | 2 if arrays:
                _in_arrays(arrays, rng)
            case 3 | 4 if original.get("tree") is not None:
                _in_tree(fields, rng)
            case 5:
                _in_loadings(fields, rng)
            case 6:
                _in_normalisation(fields, values, rng)
            case 7:
                values = values.copy()
                values[0, 0] += 1
                if rng.integers(2):
                    fields["fingerprint"] = fingerprint(Source(values=values, **fields["normalisation"]))
            case _:
                _in_fields(fields, rng)
    if arrays or beside:
        raw = stored(arrays, zipfile.ZIP_STORED)
        (file.parent / "tampered.npz").write_bytes(raw)
        fields["evidence"] = {"file": "tampered.npz", "digest": hashlib.blake2b(raw, digest_size=20).hexdigest()}
    file.write_text(json.dumps(fields))
    return values
