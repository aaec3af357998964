"""Tables with a bucket index of random shape, whose rows are known by their writer."""
