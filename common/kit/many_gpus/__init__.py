"""Sums over several GPUs: measured, counted on emulated devices, and predicted by a model; as tables and as a picture."""
