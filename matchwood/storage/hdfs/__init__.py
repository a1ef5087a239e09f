"""Snapshots on HDFS, through hdfs-native: `location.py` has the promises, `client.py` the connections."""
