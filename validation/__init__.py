"""Every claim of the five papers, measured on Spark and judged: see `streamlb validate`."""
