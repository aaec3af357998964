"""Random plans over tables whose columns share names, and what they are asked with."""
