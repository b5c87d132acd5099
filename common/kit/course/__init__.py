"""The handouts as notebooks, as a site and as PDFs."""
