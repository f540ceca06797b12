"""What is replayed: sources, controls, and the recording of MuJoCo in C."""
