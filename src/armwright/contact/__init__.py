"""Touch: shapes and worlds, contact models, observers of external torque, detectors, isolation."""
