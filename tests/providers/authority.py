"""A certificate authority of a test's own."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates from a key in memory; ``ca_file`` is what a client must trust."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of the tests")])
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        certificate = (
            self._builder(self._name, self._key.public_key(), expired=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(self._usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / f"authority-{certificate.serial_number:x}.pem"
        self.ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, names: tuple[str, ...], *, expired: bool = False) -> Path:
        """A file with a certificate for ``names`` (hosts or addresses) and its key; ``expired`` ended yesterday."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(x509.Name([]), key.public_key(), expired=expired)
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(self._usage(signs_certificates=False), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / f"certificate-{certificate.serial_number:x}.pem"
        file.touch(mode=0o600)
        file.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return file

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, expired: bool) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=3))
            .not_valid_after(now + timedelta(days=-1 if expired else 1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier), critical=False
            )
        )

    @staticmethod
    def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not signs_certificates,
            key_cert_sign=signs_certificates,
            crl_sign=signs_certificates,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
