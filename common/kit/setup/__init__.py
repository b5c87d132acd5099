"""What a build needs from the machine: packages, compilers, the CUDA toolkit, and the kit's own environment in .kit/venv."""
