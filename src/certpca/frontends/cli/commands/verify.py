"""`certpca verify`: check a certificate against data, trusting nothing."""

import argparse
import sys
from functools import partial
from typing import Any

from certpca.frontends.cli.constraint_options import (
    add_constraint_options,
    add_weight_option,
    constraints_given,
    expected_constraints,
    weights_given,
)
from certpca.frontends.cli.options import SCALINGS, refuse_preparation, scale, usage_error
from certpca.frontends.cli.output import EXIT_REFUSED, complain, print_json
from certpca.frontends.cli.reading_options import add_file_options, read_table

HELP = "check a certificate against data, trusting nothing"
READS_FILES = True
EXAMPLES = (
    "certpca verify certificate.json data.csv",
    "certpca verify certificate.json data.csv -k 10 --correlation --max-gap 0.05",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Describe the options."""
    command.add_argument("certificate", help="JSON file written by certify; its evidence lies beside it")
    command.add_argument("file", help="the data or the matrix it was made for")
    _add_expectations(command)
    add_file_options(command)
    command.add_argument(
        "--exact",
        action="store_true",
        help="have it confirmed in whole numbers too (certpca-exact; minutes for 200 features)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_expectations(command: argparse.ArgumentParser) -> None:
    expected = command.add_argument_group(
        "what you expect",
        "How data become a matrix, the certificate says, and the verdict in words of its own. With these options it is "
        "refused where it is about another matrix than `certpca solve` makes with the same ones, or proves less.",
    )
    expected.add_argument("-k", "--sparsity", type=int, help="largest number of nonzero loadings")
    expected.add_argument("--max-gap", type=float, help="the largest gap you accept")
    expected.add_argument("--unscaled", action="store_true", help="the covariance of centred columns")
    expected.add_argument("--correlation", action="store_true", help="columns scaled to unit variance")
    expected.add_argument("--hardy-weinberg", action="store_true", help="genotypes divided by √(2p(1 - p))")
    expected.add_argument("--uncentred", action="store_true", help="column means not subtracted")
    expected.add_argument("--covariance", action="store_true", help="the file holds the matrix itself")
    expected.add_argument("--missing", choices=("error", "mean"), help="error: no missing values were filled")
    expected.add_argument("--unconstrained", action="store_true", help="no constraints, and no sample weights")
    add_weight_option(expected)
    add_constraint_options(command)


def _constraints(options: argparse.Namespace, table: Any) -> dict[str, Any]:
    """Return the constraints and weights that are expected; what is not named is not compared."""
    asked, weights = constraints_given(options, table.names), weights_given(options)
    if options.unconstrained:
        from certpca.results.constraints import FREE

        if asked or weights:
            msg = "--unconstrained expects no constraints and no weights, so none can be named"
            raise usage_error(msg)
        return {"constraints": FREE, "sample_weight": False}
    expected = expected_constraints(options, table.names, int(table.data.shape[1])) if asked else None
    return {**weights, **({} if expected is None else {"constraints": expected})}


def _expected(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the reader of a certificate expects, as keywords of `verify`."""
    named = {"sparsity": options.sparsity, "max_gap": options.max_gap, "missing": options.missing}
    expected: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if options.covariance:
        refuse_preparation(options, ("unscaled", *SCALINGS))
        return {**expected, "covariance": True}
    if options.unscaled or any(getattr(options, flag.replace("-", "_")) for flag in SCALINGS):
        center = not options.uncentred
        return {**expected, "covariance": False, "center": center, "scale": scale(options), "ddof": int(center)}
    return expected


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    from certpca.frontends.cli.terminal import print_proof, print_set_proof
    from certpca.readers.reading import as_options
    from certpca.results.codec import proof_to_dict
    from certpca.results.errors import CertificateError
    from certpca.results.files import load_certificate
    from certpca.results.set_certificate import SetCertificate
    from certpca.results.set_codec import set_proof_to_dict
    from certpca.verbs.verify import verify

    certificate = load_certificate(options.certificate)
    expected = _expected(options)
    table = read_table(options, options.file, certificate.reading)
    expected |= _constraints(options, table)
    read_as = as_options(table.reading)
    try:
        if isinstance(certificate, SetCertificate):
            together = verify(certificate, table.data, exact=options.exact, **expected)
            record = set_proof_to_dict(together, certificate, table.reading)
            show = partial(print_set_proof, together, certificate, read_as, sys.stdout)
        else:
            proof = verify(certificate, table.data, exact=options.exact, **expected)
            record = proof_to_dict(proof, certificate, table.reading)
            show = partial(print_proof, proof, certificate, read_as, sys.stdout)
    except CertificateError as error:
        reason = str(error)
        if dict(table.reading) != dict(certificate.reading):
            reason += f"; its file was read with {as_options(certificate.reading) or 'no options'}"
        if options.json:
            print_json({"proved": False, "reason": reason})
        complain(reason)
        return EXIT_REFUSED
    if options.json:
        print_json({**record, "understood": table.understood})
    else:
        show()
    return 0
