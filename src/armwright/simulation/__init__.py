"""Time: the loop of reference, law, actuator, arm and sensors, and what it recorded."""
