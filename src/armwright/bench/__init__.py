# SPDX-License-Identifier: Apache-2.0
"""The benchmark: this library timed against its peers. ``armwright bench`` runs it.

Files `peer_*` are programs, one process per library, that `driver` starts and asks for times; they are not imported.
"""
