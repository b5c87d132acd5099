"""From a submission to a result: compiled, run and judged, on all processors or on Slurm."""
