"""What the façade is made of: preparing rules, bulk loading, matching, results, snapshots, lint."""
