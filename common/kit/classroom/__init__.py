"""A class: what is handed out, collected, graded and handed back. Here is everything but the commands themselves."""
