"""Authorities and the certificates that they sign, made by the program `openssl`."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

needed = pytest.mark.skipif(shutil.which("openssl") is None, reason="SKIPPED: certificates need the program openssl")

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
FIRST, LAST = "20200101000000Z", "20991231235959Z"

CONFIGURATION = """
[ca]
default_ca = authority
[authority]
new_certs_dir = {folder}
database = {folder}/index
serial = {folder}/serial
unique_subject = no
default_md = sha256
policy = anything
copy_extensions = copy
[anything]
organizationName = optional
commonName = optional
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


def openssl(*arguments: str | Path) -> None:
    """Runs it; it must succeed."""
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def subject(name: str, groups: tuple[str, ...]) -> str:
    return "".join([*(f"/O={group}" for group in groups), f"/CN={name}" if name else ""]) or "/"


def key_options(key: Path) -> list[str | Path]:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key]


def self_signed(folder: Path, name: str, *groups: str) -> Pair:
    """Signed by nobody else."""
    folder.mkdir(parents=True, exist_ok=True)
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    options = ["-subj", subject(name, groups), "-days", "3650", "-out", pair.certificate]
    openssl("req", "-x509", *key_options(pair.key), *options, "-addext", NAMES)
    return pair


class Authority:
    """Signs certificates."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.root = self_signed(folder, name)
        self._folder, self._issued = folder, 0
        self._configuration = folder / "configuration"
        self._configuration.write_text(CONFIGURATION.format(folder=folder))
        (folder / "index").touch()
        (folder / "serial").write_text("1000\n")

    @property
    def certificate(self) -> Path:
        """What those who trust it need."""
        return self.root.certificate

    def issue(
        self, name: str, *groups: str, usage: str = "", first: str = FIRST, last: str = LAST, names: str = NAMES
    ) -> Pair:
        """A certificate, valid from `first` to `last`. `usage`: the purposes that it is restricted to."""
        self._issued += 1
        stem = self._folder / f"issued-{self._issued}"
        pair, request = Pair(stem.with_suffix(".crt"), stem.with_suffix(".key")), stem.with_suffix(".request")
        extensions = ["-addext", names, *(["-addext", f"extendedKeyUsage={usage}"] if usage else [])]
        openssl("req", *key_options(pair.key), "-subj", subject(name, groups), *extensions, "-out", request)
        authority = ["-cert", self.root.certificate, "-keyfile", self.root.key, "-config", self._configuration]
        validity = ["-startdate", first, "-enddate", last]
        openssl("ca", "-batch", "-notext", *authority, *validity, "-in", request, "-out", pair.certificate)
        return pair


def trusting(authority: Path, client: Pair | None = None) -> ssl.SSLContext:
    """The context of a client that trusts an authority."""
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    return context
