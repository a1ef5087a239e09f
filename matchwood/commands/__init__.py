"""The commands of `matchwood`: one file each, and the files that they read and write."""
