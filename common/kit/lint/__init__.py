"""The tree's conventions: one check for each tool, with its configuration in the repository and its version in requirements.txt."""
