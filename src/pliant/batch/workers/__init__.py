"""Who simulates blocks of cases: threads, processes, executors."""
