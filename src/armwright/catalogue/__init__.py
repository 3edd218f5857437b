# SPDX-License-Identifier: Apache-2.0
"""The robots that come with Armwright: data only, one TOML sheet a robot, every number with its source."""
