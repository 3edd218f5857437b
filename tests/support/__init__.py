# SPDX-License-Identifier: Apache-2.0
"""What several tests build on: arms, twins in other engines, places of files."""
