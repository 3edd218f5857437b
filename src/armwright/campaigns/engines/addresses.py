# SPDX-License-Identifier: Apache-2.0
"""Addresses of schedulers and certificates: whoever reaches a dask scheduler or worker can run code there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from armwright.errors import InputError
from armwright.optional import need

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def check_address(address: str, *, insecure: bool = False) -> None:
    """Raise `InputError` for what is no address, and for a plain connection that leaves this machine."""
    try:
        parts = urlsplit(address)
        whole = parts.scheme in ("tcp", "tls") and parts.hostname and parts.port and not parts.path
    except ValueError:
        whole = None
    if not whole:
        raise InputError(
            f"scheduler must be tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine; got {address!r:.80}"
        )
    if parts.scheme == "tcp" and parts.hostname not in LOOPBACK and not insecure:
        raise InputError(
            f"scheduler {address}: plain tcp leaves this machine, and whoever reaches it can run code there; "
            "use tls://, or --insecure on a network that you trust"
        )


def security_of(address: str | None, ca: Path | None, certificate: Path | None, key: Path | None) -> Any:
    """Return dask's `Security` for TLS from three PEM files, None for a plain address.

    Without files, those of dask's own configuration count (``distributed.comm.tls``).
    """
    files = {"--tls-ca": ca, "--tls-cert": certificate, "--tls-key": key}
    given = {name: path for name, path in files.items() if path is not None}
    secure = address is not None and address.startswith("tls://")
    if given and not secure:
        raise InputError(f"{next(iter(given))}: certificates need an address tls://HOST:PORT, got {address}")
    if not secure:
        return None
    for name, path in given.items():
        if not path.is_file():
            raise InputError(f"{name} {path}: no such file")
    if given and len(given) < len(files):
        missing = next(name for name in files if name not in given)
        raise InputError(f"TLS needs all of {', '.join(files)}; {missing} is missing")
    names = ("client", "worker") if given else ()
    pair = {f"tls_{role}_cert": str(certificate) for role in names} | {f"tls_{role}_key": str(key) for role in names}
    authority = {"tls_ca_file": str(ca)} if given else {}
    found = need("distributed", "scale", "engine dask").Security(require_encryption=True, **authority, **pair)
    if found.tls_ca_file is None or found.tls_client_cert is None:
        raise InputError(f"scheduler {address}: TLS needs --tls-ca, --tls-cert and --tls-key (PEM files)")
    return found
