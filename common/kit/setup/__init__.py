"""What a build needs of the machine: packages, compilers, the CUDA toolkit, and the kit's own environment in .kit/venv."""
