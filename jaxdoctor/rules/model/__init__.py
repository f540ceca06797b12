"""JD21x and JD22x: what a MuJoCo model brings with it."""
