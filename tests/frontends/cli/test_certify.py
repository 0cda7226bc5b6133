import json

import numpy as np
import pytest

from certpca.frontends.cli.main import main


@pytest.fixture
def table(tmp_path, rng):
    file = tmp_path / "data.csv"
    np.savetxt(file, rng.standard_normal((30, 8)) * np.arange(1, 9), delimiter=",")
    return file


@pytest.fixture
def certificate(table, tmp_path, capsys):
    file = tmp_path / "certificate.json"
    assert main(["certify", str(table), "-k", "3", "--target-gap", "0.05", "--output", str(file)]) == 0
    assert "captures more than" in capsys.readouterr().out
    return file


def test_certify_prints_one_json_object(table, capsys):
    assert main(["certify", str(table), "-k", "2", "--json", "--time-limit", "20"]) == 0
    streams = capsys.readouterr()
    fields = json.loads(streams.out)
    assert streams.err == ""
    assert fields["gap"] == pytest.approx(1 - fields["objective"] / fields["upper_bound"])
    assert {"kind", "sparsity", "matrix", "fingerprint", "normalisation"} <= set(fields)


def test_verify_says_what_is_proved(certificate, table, capsys):
    assert main(["verify", str(certificate), str(table)]) == 0
    assert "The certificate holds" in capsys.readouterr().out
    assert main(["verify", str(certificate), str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proved"] is True


def test_verify_refuses_a_lowered_bound_with_status_one(certificate, table, capsys):
    fields = json.loads(certificate.read_text())
    fields["upper_bound"] *= 0.999
    certificate.write_text(json.dumps(fields))
    assert main(["verify", str(certificate), str(table)]) == 1
    assert "refused" in capsys.readouterr().err


def test_verify_refuses_other_data_with_status_one(certificate, table, tmp_path, capsys):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("1", "2", 1))
    assert main(["verify", str(certificate), str(other), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["proved"] is False


def test_verify_names_missing_files_with_status_two(certificate, table, tmp_path, capsys):
    assert main(["verify", str(tmp_path / "none.json"), str(table)]) == 2
    certificate.write_text(certificate.read_text().replace('"format": "certpca certificate 1"', '"format": "x"'))
    assert main(["verify", str(certificate), str(table)]) == 2
    assert "not a certificate" in capsys.readouterr().err


def test_warm_start_from_a_file(tmp_path, capsys):
    """A point that is good enough is taken as it is, although the target would be reached by a worse one."""
    np.save(tmp_path / "noise.npy", np.random.default_rng(1).standard_normal((30, 100)))
    asked = ["certify", str(tmp_path / "noise.npy"), "-k", "20", "--no-branching", "--json"]

    def bound(*more):
        capsys.readouterr()
        assert main([*asked, *more]) == 0
        return json.loads(capsys.readouterr().out)["upper_bound"]

    stored = str(tmp_path / "tight.json")
    tight, loose = bound("--target-gap", "0.01", "--output", stored), bound("--target-gap", "0.2")
    assert tight < 0.99 * loose
    assert bound("--target-gap", "0.2", "--warm", stored) == pytest.approx(tight, rel=1e-9)


def test_solve_with_a_certificate_writes_it_beside_the_result(table, tmp_path, capsys):
    result = tmp_path / "result.json"
    assert main(["solve", str(table), "-k", "3", "--certify", "--output", str(result)]) == 0
    assert "upper bound" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "result.certificate.json"), str(table)]) == 0


def test_a_bad_target_is_one_line(table, capsys):
    assert main(["certify", str(table), "-k", "3", "--target-gap", "2"]) == 2
    assert "target_gap" in capsys.readouterr().err
