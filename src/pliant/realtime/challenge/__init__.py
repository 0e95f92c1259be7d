"""A plan challenged: unseen scenarios, in which nothing beyond the accuracy may stay without a flag."""
