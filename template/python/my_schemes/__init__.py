"""leafspine's engine with schemes of one's own, which the build puts beside this file."""
