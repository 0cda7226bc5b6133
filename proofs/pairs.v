(* The inequality behind the certificates of kind `search-tree` and `pair-rows`, checked by Coq.

   A is any symmetric form on n features, U a symmetric and K an antisymmetric matrix, alpha > 0, all of them any numbers.
   With C_ij = U_ij^2 / (2 (alpha_i + alpha_j)) + K_ij, if

       A - U + diag(alpha)  <=  lambda I   on the vectors that are zero off some features,

   then x'Ax <= lambda + the sum of C_ij over i, j in s, for every unit vector x that is zero off s. The
   features of s are among those; that is how a node of a search tree is bounded. *)

Require Import Reals Lra Lia Psatz.
From Certpca Require Import sums.
Local Open Scope R_scope.

Definition zero_off (n : nat) (s : nat -> bool) (x : vector) : Prop :=
  forall i, (i < n)%nat -> s i = false -> x i = 0.

Definition within (s : nat -> bool) (i j : nat) (value : R) : R :=
  if s i then (if s j then value else 0) else 0.

Definition sum2 (n : nat) (f : nat -> nat -> R) : R := sum n (fun i => sum n (fun j => f i j)).

Lemma sum2_plus n f g : sum2 n (fun i j => f i j + g i j) = sum2 n f + sum2 n g.
Proof.
  unfold sum2. rewrite <- sum_plus. apply sum_ext; intros i _. apply sum_plus.
Qed.

Lemma sum2_le n f g :
  (forall i j, (i < n)%nat -> (j < n)%nat -> f i j <= g i j) -> sum2 n f <= sum2 n g.
Proof. intros H. apply sum_le; intros i Hi. apply sum_le; intros j Hj. apply H; assumption. Qed.

(* An antisymmetric matrix adds nothing. *)
Lemma antisymmetric_cancels n s (K : matrix) :
  (forall i j, (i < n)%nat -> (j < n)%nat -> K i j = - K j i) ->
  sum2 n (fun i j => within s i j (K i j)) = 0.
Proof.
  intros H.
  assert (sum2 n (fun i j => within s i j (K i j)) = - sum2 n (fun i j => within s i j (K i j))) as E.
  { transitivity (sum2 n (fun i j => -1 * within s i j (K i j))).
    - unfold sum2 at 1. rewrite sum_swap. unfold sum2. apply sum_ext; intros j Hj. apply sum_ext; intros i Hi.
      unfold within. rewrite (H i j Hi Hj). destruct (s i), (s j); ring.
    - unfold sum2. transitivity (-1 * sum n (fun i => sum n (fun j => within s i j (K i j)))); [|ring].
      rewrite <- sum_scale. apply sum_ext; intros i _. apply sum_scale. }
  lra.
Qed.

(* The two terms of a pair: 2pq <= p^2 + q^2. *)
Lemma pair_bound u y z w : 0 < w -> u * (y * z) <= w / 2 * (y * y * (z * z)) + u * u / (2 * w).
Proof.
  intros Hw.
  assert (0 <= (w * (y * z) - u) * (w * (y * z) - u) / (2 * w)) as H.
  { apply Rmult_le_pos; [apply (Rle_0_sqr (w * (y * z) - u))|]. left. apply Rinv_0_lt_compat. lra. }
  replace ((w * (y * z) - u) * (w * (y * z) - u) / (2 * w))
    with (w / 2 * (y * y * (z * z)) + u * u / (2 * w) - u * (y * z)) in H by (field; lra).
  lra.
Qed.

(* The quartic terms of a unit vector add up to its weighted length. *)
Lemma quartic n (x alpha : vector) :
  dot n x x = 1 ->
  sum2 n (fun i j => (alpha i + alpha j) / 2 * (x i * x i * (x j * x j))) = sum n (fun i => alpha i * (x i * x i)).
Proof.
  intros Hx.
  set (t := sum n (fun i => alpha i * (x i * x i))).
  transitivity (sum2 n (fun i j => / 2 * (alpha i * (x i * x i)) * (x j * x j))
                + sum2 n (fun i j => / 2 * (x i * x i) * (alpha j * (x j * x j)))).
  { rewrite <- sum2_plus. unfold sum2. apply sum_ext; intros i _. apply sum_ext; intros j _. field. }
  assert (sum2 n (fun i j => / 2 * (alpha i * (x i * x i)) * (x j * x j)) = / 2 * t) as E1.
  { unfold sum2. transitivity (sum n (fun i => / 2 * (alpha i * (x i * x i)))).
    - apply sum_ext; intros i _. rewrite sum_scale. fold (dot n x x). rewrite Hx. ring.
    - apply sum_scale. }
  assert (sum2 n (fun i j => / 2 * (x i * x i) * (alpha j * (x j * x j))) = / 2 * t) as E2.
  { unfold sum2. transitivity (sum n (fun i => (/ 2 * t) * (x i * x i))).
    - apply sum_ext; intros i _. rewrite sum_scale. fold t. ring.
    - rewrite sum_scale. fold (dot n x x). rewrite Hx. ring. }
  rewrite E1, E2. field.
Qed.

Section Pairs.
  Variables (n : nat) (A U K : matrix) (alpha : vector) (lambda : R) (node : nat -> bool).
  Hypothesis antisymmetric : forall i j, (i < n)%nat -> (j < n)%nat -> K i j = - K j i.
  Hypothesis positive : forall i, (i < n)%nat -> 0 < alpha i.
  Hypothesis bounded : forall x, zero_off n node x ->
    form n A x x - form n U x x + sum n (fun i => alpha i * (x i * x i)) <= lambda * dot n x x.

  Definition C (i j : nat) : R := U i j * U i j / (2 * (alpha i + alpha j)) + K i j.

  Theorem pairs_bound_every_support s x :
    (forall i, (i < n)%nat -> node i = false -> s i = false) ->  (* s is a support of the node, *)
    zero_off n s x ->                                             (* x is zero off s *)
    dot n x x = 1 ->                                              (* and has length one *)
    form n A x x <= lambda + sum2 n (fun i j => within s i j (C i j)).
  Proof.
    intros Hin Hs Hx.
    assert (zero_off n node x) as Hnode by (intros i Hi Hf; apply (Hs i Hi), (Hin i Hi Hf)).
    pose proof (bounded x Hnode) as Hb. rewrite Hx in Hb.
    assert (form n U x x <= sum n (fun i => alpha i * (x i * x i))
                            + sum2 n (fun i j => within s i j (U i j * U i j / (2 * (alpha i + alpha j))))) as Hu.
    { rewrite <- (quartic n x alpha Hx), <- sum2_plus. apply sum2_le; intros i j Hi Hj. unfold within.
      pose proof (positive i Hi). pose proof (positive j Hj).
      destruct (s i) eqn:Ei; [destruct (s j) eqn:Ej|].
      - apply pair_bound. lra.
      - rewrite (Hs j Hj Ej). lra.
      - rewrite (Hs i Hi Ei). lra. }
    assert (sum2 n (fun i j => within s i j (C i j))
            = sum2 n (fun i j => within s i j (U i j * U i j / (2 * (alpha i + alpha j))))) as Hc.
    { transitivity (sum2 n (fun i j => within s i j (U i j * U i j / (2 * (alpha i + alpha j))))
                    + sum2 n (fun i j => within s i j (K i j))).
      - rewrite <- sum2_plus. unfold sum2. apply sum_ext; intros i _. apply sum_ext; intros j _.
        unfold within, C. destruct (s i), (s j); ring.
      - rewrite (antisymmetric_cancels n s K antisymmetric). ring. }
    rewrite Hc. lra.
  Qed.
End Pairs.

Print Assumptions pairs_bound_every_support.
