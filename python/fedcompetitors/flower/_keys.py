"""Keys and certificates: whose node it is, and what a try on one machine needs."""

from __future__ import annotations

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fedcompetitors.errors import UnknownNode

__all__ = ["looks_like_key", "make_certificates", "make_node_key", "plain_key", "write_private"]


def looks_like_key(text: str) -> bool:
    """Is it meant as a public key, and not as a name?"""
    return text.lstrip().startswith(("ecdsa-", "ssh-", "-----BEGIN"))


def plain_key(key: str | bytes) -> str:
    """A public key in one form, however it is written.

    Files have it as ``ecdsa-sha2-nistp384 AAAA… comment``, Flower tells it as PEM. Of both
    the same comes out.

    Raises
    ------
    UnknownNode
        If it is no public key.
    """
    data = key.encode() if isinstance(key, str) else key
    data = data.strip()
    try:
        if data.startswith(b"-----BEGIN"):
            read = serialization.load_pem_public_key(data)
        else:
            read = serialization.load_ssh_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UnknownNode(
            f'"{data[:40].decode(errors="replace")}…" is not a public key',
            "give the text of the `.pub` file that `ssh-keygen -t ecdsa -b 384` has written",
        ) from error
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return read.public_bytes(serialization.Encoding.DER, form).hex()


def write_private(path: Path, content: bytes) -> None:
    """Writes what nobody else may read; it is never readable by others, not even at first."""
    half = path.with_name(path.name + ".half")
    half.unlink(missing_ok=True)
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    half.replace(path)


def make_node_key(private: Path) -> None:
    """A key for a node, in the form of ``ssh-keygen -t ecdsa -b 384``, and its ``.pub``."""
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    # The public one first: whoever finds the private one finds both.
    private.with_name(private.name + ".pub").write_bytes(public + b"\n")
    write_private(private, _private_bytes(key, serialization.PrivateFormat.OpenSSH))


def make_certificates(folder: Path) -> None:
    """An authority for this try alone, and a SuperLink's certificate that it has signed.

    Writes ``ca.pem``, ``server.pem`` and ``server.key``. The authority's own key is not kept:
    nobody can make another certificate that these nodes would believe.
    """
    now = datetime.datetime.now(datetime.UTC)
    ca_key = ec.generate_private_key(ec.SECP384R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "FedCompetitors, local try")])
    ca = (
        _begin(ca_name, ca_name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, hashes.SHA384())
    )
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    here: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    server = (
        _begin(name, ca_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.SubjectAlternativeName(here), critical=False)
        .add_extension(
            x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()),
            critical=False,
        )
        .sign(ca_key, hashes.SHA384())
    )
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.TraditionalOpenSSL
    write_private(folder / "server.key", _private_bytes(key, form))


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Clocks differ a little, and a try may be gone on with another day.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=365))
    )


def _usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _private_bytes(
    key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
