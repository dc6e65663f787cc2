"""Cascata on one machine: the emulator, the deployed template, its Pipe, and the neighbours it talks to."""
