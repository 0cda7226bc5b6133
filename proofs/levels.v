(* The inequality behind the certificates of kind `l0-dual` and `l0-level`, checked by Coq.

   Everything is about real numbers and finite sums. Vectors are functions from indices; those of sample space have d
   entries, loadings have n. The columns of F are a 0, ..., a (n-1); R is a symmetric matrix of order d with
   R >= 0. The last theorem says what a checker relies on: if

       k R + sum of Y_i  <=  lambda I,

   with dual matrices Y_i of the forms that docs/format.md admits, made from any vectors c_i whatever, then no unit
   vector x with at most k nonzero loadings has |F x|^2 > lambda.

   Only the standard library is used. Check it with proofs/check. *)

Require Import Reals Lra Lia Psatz.
From Certpca Require Import sums.
Local Open Scope R_scope.

(* --- dual matrices of rank one ----------------------------------------------------------------------------------- *)

Section OneFeature.
  Variables (d : nat) (R0 : matrix) (a : vector).
  Hypothesis sym : symmetric d R0.
  Hypothesis psd : semidefinite d R0.

  (* B = a a' - R *)
  Definition B (u v : vector) : R := dot d a u * dot d a v - form d R0 u v.

  Lemma B_symmetric u v : B u v = B v u.
  Proof. unfold B. rewrite (form_swap d R0 u v sym). ring. Qed.

  Lemma B_minus u x t c : B u (minus x t c) = B u x - t * B u c.
  Proof. unfold B. rewrite dot_minus, form_minus_right. ring. Qed.

  (* B has at most one positive direction, so Cauchy and Schwarz hold the other way round where q > 0. *)
  Lemma reversed c x : 0 < B c c -> B c c * B x x <= B x c * B x c.
  Proof.
    intros Hq.
    assert (Hac : dot d a c <> 0).
    { intros E. unfold B in Hq. rewrite E in Hq. pose proof (psd c). lra. }
    set (t := dot d a x / dot d a c).
    set (y := minus x t c).
    assert (Hy : B y y <= 0).
    { unfold B. replace (dot d a y) with 0.
      - pose proof (psd y). lra.
      - unfold y. rewrite dot_minus. unfold t. field. exact Hac. }
    assert (Hyc : B y c = B x c - t * B c c).
    { rewrite B_symmetric. unfold y. rewrite B_minus, (B_symmetric c x). ring. }
    assert (Hyy : B y y = B x x - 2 * t * B x c + t * t * B c c).
    { unfold y at 2. rewrite B_minus, (B_symmetric y x), (B_symmetric y c).
      unfold y. rewrite !B_minus, (B_symmetric c x). ring. }
    assert (B x c * B x c - B c c * B x x = B y c * B y c - B c c * B y y) as E
      by (rewrite Hyc, Hyy; ring).
    assert (0 <= B y c * B y c) by nra.
    assert (0 <= - (B c c * B y y)) by nra.
    lra.
  Qed.

  (* Y = (B c)(B c)' / q' dominates B for every 0 < q' <= q. *)
  Theorem dual_dominates c q x : 0 < q -> q <= B c c -> B x x <= B x c * B x c / q.
  Proof.
    intros Hq Hle.
    pose proof (reversed c x ltac:(lra)) as H.
    apply Rmult_le_reg_r with (r := q); [exact Hq|].
    replace (B x c * B x c / q * q) with (B x c * B x c) by (field; lra).
    destruct (Rle_dec (B x x) 0) as [Hn|Hp]; nra.
  Qed.

  (* So does (1 - 1/kappa) a a' where a a' <= kappa R. *)
  Theorem shrunk_dominates kappa x :
    0 < kappa -> (forall u, dot d a u * dot d a u <= kappa * form d R0 u u) ->
    B x x <= (1 - 1 / kappa) * (dot d a x * dot d a x).
  Proof.
    intros Hk H. unfold B. pose proof (H x) as Hx.
    assert (dot d a x * dot d a x / kappa <= form d R0 x x).
    { apply Rmult_le_reg_r with (r := kappa); [exact Hk|].
      replace (dot d a x * dot d a x / kappa * kappa) with (dot d a x * dot d a x) by (field; lra). lra. }
    replace ((1 - 1 / kappa) * (dot d a x * dot d a x))
      with (dot d a x * dot d a x - dot d a x * dot d a x / kappa) by (field; lra).
    lra.
  Qed.
End OneFeature.

(* --- supports ---------------------------------------------------------------------------------------------------- *)

Definition chosen (s : nat -> bool) (i : nat) (value : R) : R := if s i then value else 0.
Definition count (n : nat) (s : nat -> bool) : R := sum n (fun i => chosen s i 1).

(* What is admitted as a dual matrix of a feature. *)
Inductive admitted (d : nat) (R0 : matrix) (a : vector) (Y : vector -> R) : Prop :=
| nothing : (forall u, dot d a u * dot d a u <= form d R0 u u) -> (forall u, Y u = 0) -> admitted d R0 a Y
| whole : (forall u, Y u = dot d a u * dot d a u) -> admitted d R0 a Y
| shrunk kappa : 1 <= kappa -> (forall u, dot d a u * dot d a u <= kappa * form d R0 u u) ->
    (forall u, Y u = (1 - 1 / kappa) * (dot d a u * dot d a u)) -> admitted d R0 a Y
| suggested c q : 0 < q -> q <= B d R0 a c c ->
    (forall u, Y u = B d R0 a u c * B d R0 a u c / q) -> admitted d R0 a Y.

Lemma admitted_is_dual d R0 a Y :
  symmetric d R0 -> semidefinite d R0 -> admitted d R0 a Y ->
  forall u, 0 <= Y u /\ dot d a u * dot d a u - form d R0 u u <= Y u.
Proof.
  intros sym psd [H E|E|kappa Hk H E|c q Hq Hle E] u; rewrite E.
  - pose proof (H u); lra.
  - pose proof (psd u); nra.
  - assert (0 <= 1 - 1 / kappa).
    { apply Rmult_le_reg_r with (r := kappa); [lra|].
      replace ((1 - 1 / kappa) * kappa) with (kappa - 1) by (field; lra). lra. }
    pose proof (shrunk_dominates d R0 a kappa u ltac:(lra) H) as D. unfold B in D.
    split; [apply Rmult_le_pos; nra|exact D].
  - pose proof (dual_dominates d R0 a sym psd c q u Hq Hle) as D. unfold B at 1 in D.
    split; [|exact D].
    apply Rmult_le_reg_r with (r := q); [exact Hq|].
    replace (B d R0 a u c * B d R0 a u c / q * q) with (B d R0 a u c * B d R0 a u c) by (field; lra). nra.
Qed.

(* --- the level inequality ---------------------------------------------------------------------------------------- *)

Section Level.
  Variables (d n : nat) (a : nat -> vector) (R0 : matrix) (Y : nat -> vector -> R) (k lambda : R).
  Hypothesis sym : symmetric d R0.
  Hypothesis psd : semidefinite d R0.
  Hypothesis duals : forall i, (i < n)%nat -> admitted d R0 (a i) (Y i).
  Hypothesis positive : 0 <= lambda.
  Hypothesis bounded : forall u, k * form d R0 u u + sum n (fun i => Y i u) <= lambda * dot d u u.

  Lemma directions s u :
    count n s <= k -> sum n (fun i => chosen s i (dot d (a i) u * dot d (a i) u)) <= lambda * dot d u u.
  Proof.
    intros Hk.
    assert (sum n (fun i => chosen s i (dot d (a i) u * dot d (a i) u))
            <= sum n (fun i => form d R0 u u * chosen s i 1 + Y i u)) as H.
    { apply sum_le; intros i Hi.
      destruct (admitted_is_dual _ _ _ _ sym psd (duals i Hi) u) as [H0 H1].
      unfold chosen; destruct (s i); lra. }
    rewrite sum_plus, sum_scale in H. fold (count n s) in H.
    pose proof (bounded u). pose proof (psd u).
    assert (form d R0 u u * count n s <= form d R0 u u * k) by (apply Rmult_le_compat_l; assumption).
    lra.
  Qed.

  (* F x *)
  Definition image (x : vector) : vector := fun r => sum n (fun i => x i * a i r).

  Lemma image_dot x u : dot d (image x) u = sum n (fun i => x i * dot d (a i) u).
  Proof.
    unfold dot, image.
    transitivity (sum d (fun r => sum n (fun i => x i * (a i r * u r)))).
    { apply sum_ext; intros r _. rewrite Rmult_comm, <- sum_scale. apply sum_ext; intros; ring. }
    rewrite sum_swap. apply sum_ext; intros i _. rewrite sum_scale. reflexivity.
  Qed.

  Theorem no_sparse_vector_captures_more x s :
    (forall i, (i < n)%nat -> s i = false -> x i = 0) ->  (* x is zero off the support s, *)
    count n s <= k ->                                     (* which has at most k features, *)
    dot n x x = 1 ->                                      (* and has length one *)
    dot d (image x) (image x) <= lambda.
  Proof.
    intros Hs Hk Hx.
    set (z := image x).
    set (g := fun i => chosen s i (dot d (a i) z)).
    assert (E : dot d z z = dot n x g).
    { unfold z at 1. rewrite image_dot. unfold dot at 2. apply sum_ext; intros i Hi. unfold g, chosen.
      destruct (s i) eqn:Es; [reflexivity|rewrite (Hs i Hi Es); ring]. }
    pose proof (cauchy_schwarz n x g) as C. rewrite Hx, <- E in C.
    assert (dot n g g <= lambda * dot d z z) as D.
    { replace (dot n g g) with (sum n (fun i => chosen s i (dot d (a i) z * dot d (a i) z))).
      - apply directions; exact Hk.
      - unfold dot at 3. apply sum_ext; intros i _. unfold g, chosen. destruct (s i); ring. }
    pose proof (dot_nonneg d z).
    destruct (Rle_dec (dot d z z) 0); [lra|]. nra.
  Qed.
End Level.

Print Assumptions no_sparse_vector_captures_more.
