"""Forces and accelerations: one file a formulation, what they share in `terms`, what users call in `api`."""
