"""The rig: random histories, kills, load and fuzzing, and one table of what came of them."""
