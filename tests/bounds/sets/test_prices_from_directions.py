import numpy as np
import pytest

from certpca.bounds.sets.prices.assignments import Assignment
from certpca.bounds.sets.prices.generation import Generation
from certpca.bounds.sets.prices.master import Pool


@pytest.mark.parametrize("inside", [((), ()), ((3,), ()), ((3, 5), (7,))])
def test_directions_price_features_as_well_as_supports_do(inside, rng):
    loadings = rng.standard_normal((48, 3)) * [2.0, 1.5, 1.0]
    matrix = np.corrcoef(loadings @ rng.standard_normal((3, 200)) + rng.standard_normal((48, 200)))
    assignment = Assignment.of((13, 13), inside, {9})
    by_supports = Generation(Pool(matrix), lambda: False, 1e-3, many=100).run(assignment)
    by_directions = Generation(Pool(matrix), lambda: False, 1e-3, many=0).run(assignment)
    given = [9, *inside[0], *inside[1]]
    assert (by_directions.priced.prices >= 0).all()
    assert not by_directions.priced.prices[given].any()
    assert by_directions.priced.bound == pytest.approx(by_supports.value, rel=0.02)
    assert by_directions.priced.bound >= by_supports.value * (1 - 1e-3)
