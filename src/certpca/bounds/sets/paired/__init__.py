"""Prices of directions and of features, sought together with the pair bound that will prove what they leave.

The least of tr M + Σ_i w_i + Σ_t [λ_max(A − M − U_t + diag α_t) + T_t], by M, w and the points (U_t, K_t, α_t) at once.
Prices that are best for the components themselves are not best for a bound of them: where features are hundreds, the
bound leaves several times as much at those as it does at these, and they take no longer than one such bound.
"""
