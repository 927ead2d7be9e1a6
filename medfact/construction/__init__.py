"""MKJ's construction (its Section 3): from questions to a data set of one true and three false statements a triplet."""
