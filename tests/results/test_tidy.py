"""Results as tables."""

import numpy as np

import certpca


def test_loadings_have_a_row_each_the_largest_first():
    found = certpca.decompose(certpca.pitprops(), 2, 4)
    table = found.to_frame()
    assert list(table) == ["component", "feature", "position", "loading", "sign"]
    for j, part in enumerate(found.components, start=1):
        mine = table[table.component == j]
        order = np.argsort(-np.abs(part.loadings), kind="stable")
        np.testing.assert_array_equal(mine.loading, part.loadings[order])
        np.testing.assert_array_equal(mine.position, part.support[order] + 1)
        assert mine.feature.tolist() == [(part.names or ())[i] for i in order]
        assert (mine.sign == np.where(mine.loading > 0, "+", "-")).all()


def test_summaries_say_what_is_proved_and_leave_the_rest_empty():
    proved = certpca.solve(certpca.pitprops(), 3, certify=True)
    row = proved.summary_frame().iloc[0]
    assert (row.component, row.sparsity, row.nonzero, row.upper_bound) == (1, 3, 3, proved.upper_bound)
    found = certpca.decompose(certpca.pitprops(), 2, 4)
    table = found.summary_frame()
    np.testing.assert_allclose(table.adjusted_variance_ratio, found.adjusted_variance_ratio)
    assert table.upper_bound.isna().all()
    assert table.gap.isna().all()


def test_a_path_is_told_by_sparsity():
    along = certpca.path(certpca.pitprops(), [2, 5], certify=True)
    assert along.to_frame().sparsity.value_counts().to_dict() == {2: 2, 5: 5}
    np.testing.assert_array_equal(along.summary_frame().upper_bound, along.upper_bounds)


def test_features_without_names_have_positions_alone(rng):
    table = certpca.solve(rng.standard_normal((20, 5)), 2).to_frame()
    assert (table.feature == "").all()
    assert table.position.between(1, 5).all()
