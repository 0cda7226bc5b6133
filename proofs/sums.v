(* Finite sums of real numbers, inner products and forms: what the other files need, from the standard library alone. *)

Require Import Reals Lra Lia Psatz.
Local Open Scope R_scope.

(* --- finite sums ------------------------------------------------------------------------------------------------- *)

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sum m f + f m
  end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n as [|n IH]; intros H; simpl; [reflexivity|].
  rewrite (IH (fun i Hi => H i (Nat.lt_lt_succ_r _ _ Hi))), (H n (Nat.lt_succ_diag_r n)); reflexivity.
Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros H; simpl; [lra|].
  pose proof (IH (fun i Hi => H i (Nat.lt_lt_succ_r _ _ Hi))).
  pose proof (H n (Nat.lt_succ_diag_r n)); lra.
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_scale n t f : sum n (fun i => t * f i) = t * sum n f.
Proof. induction n as [|n IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma sum_zero n : sum n (fun _ => 0) = 0.
Proof. induction n as [|n IH]; simpl; [reflexivity|rewrite IH; ring]. Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros H; rewrite <- (sum_zero n); apply sum_le; exact H. Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n as [|n IH]; simpl; [symmetry; apply sum_zero|].
  rewrite IH, <- sum_plus; reflexivity.
Qed.

(* --- inner products and forms ------------------------------------------------------------------------------------ *)

Definition vector := nat -> R.
Definition matrix := nat -> nat -> R.

Definition dot (d : nat) (u v : vector) : R := sum d (fun i => u i * v i).
Definition form (d : nat) (M : matrix) (u v : vector) : R :=
  sum d (fun i => sum d (fun j => M i j * (u i * v j))).
Definition minus (x : vector) (t : R) (c : vector) : vector := fun i => x i - t * c i.

Definition symmetric (d : nat) (M : matrix) : Prop := forall i j, (i < d)%nat -> (j < d)%nat -> M i j = M j i.
Definition semidefinite (d : nat) (M : matrix) : Prop := forall u, 0 <= form d M u u.

Lemma dot_minus d a x t c : dot d a (minus x t c) = dot d a x - t * dot d a c.
Proof.
  unfold dot, minus. rewrite <- sum_scale.
  replace (sum d (fun i => a i * x i) - sum d (fun i => t * (a i * c i)))
    with (sum d (fun i => a i * x i) + (-1) * sum d (fun i => t * (a i * c i))) by ring.
  rewrite <- sum_scale, <- sum_plus. apply sum_ext; intros; ring.
Qed.

Lemma form_minus_right d M u x t c : form d M u (minus x t c) = form d M u x - t * form d M u c.
Proof.
  unfold form, minus.
  replace (sum d (fun i => sum d (fun j => M i j * (u i * x j))) -
           t * sum d (fun i => sum d (fun j => M i j * (u i * c j))))
    with (sum d (fun i => sum d (fun j => M i j * (u i * x j))) +
          (- t) * sum d (fun i => sum d (fun j => M i j * (u i * c j)))) by ring.
  rewrite <- sum_scale, <- sum_plus. apply sum_ext; intros i _.
  rewrite <- sum_scale, <- sum_plus. apply sum_ext; intros; ring.
Qed.

Lemma form_swap d M u v : symmetric d M -> form d M u v = form d M v u.
Proof.
  intros H. unfold form. rewrite sum_swap. apply sum_ext; intros j Hj.
  apply sum_ext; intros i Hi. rewrite (H i j Hi Hj); ring.
Qed.

Lemma dot_nonneg d u : 0 <= dot d u u.
Proof. apply sum_nonneg; intros; nra. Qed.

(* --- the inequality of Cauchy and Schwarz ------------------------------------------------------------------------ *)

Lemma cauchy_schwarz n (x y : vector) : dot n x y * dot n x y <= dot n x x * dot n y y.
Proof.
  pose proof (dot_nonneg n x) as Hx. pose proof (dot_nonneg n y) as Hy.
  assert (Hp : forall t, 0 <= dot n x x - 2 * t * dot n x y + t * t * dot n y y).
  { intros t. pose proof (dot_nonneg n (minus x t y)) as H.
    rewrite dot_minus in H.
    replace (dot n (minus x t y) x) with (dot n x (minus x t y)) in H
      by (unfold dot; apply sum_ext; intros; ring).
    replace (dot n (minus x t y) y) with (dot n y (minus x t y)) in H
      by (unfold dot; apply sum_ext; intros; ring).
    rewrite !dot_minus in H.
    replace (dot n y x) with (dot n x y) in H by (unfold dot; apply sum_ext; intros; ring).
    lra. }
  destruct (Req_dec (dot n y y) 0) as [Hz|Hz].
  - destruct (Req_dec (dot n x y) 0) as [Hn|Hn]; [rewrite Hn, Hz; lra|].
    pose proof (Hp ((dot n x x + 1) / (2 * dot n x y))) as H. rewrite Hz in H.
    replace (2 * ((dot n x x + 1) / (2 * dot n x y)) * dot n x y) with (dot n x x + 1) in H by (field; exact Hn).
    lra.
  - assert (0 < dot n y y) by lra.
    pose proof (Hp (dot n x y / dot n y y)) as H0.
    assert (dot n x x - 2 * (dot n x y / dot n y y) * dot n x y
              + dot n x y / dot n y y * (dot n x y / dot n y y) * dot n y y
            = dot n x x - dot n x y * dot n x y / dot n y y) as E by (field; lra).
    rewrite E in H0.
    assert (dot n x y * dot n x y / dot n y y <= dot n x x) as H1 by lra.
    apply Rmult_le_compat_r with (r := dot n y y) in H1; [|lra].
    replace (dot n x y * dot n x y / dot n y y * dot n y y) with (dot n x y * dot n x y) in H1 by (field; lra).
    lra.
Qed.
