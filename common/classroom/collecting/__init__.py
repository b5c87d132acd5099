"""From what a submission system hands over to one file per student and lab."""
