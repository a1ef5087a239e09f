"""What the generators share: draws, blocks, trees, texts."""
