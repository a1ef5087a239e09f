"""What experiments are made of: parts, boxes, measuring, the machine."""
