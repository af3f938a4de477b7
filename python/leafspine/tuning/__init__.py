"""``leafspine tune``: the setting of a scheme's parameters that is best for a metric.

Successive halving over paired seeds: all settings with few seeds, the better half with twice as
many, and so on; at the end the best against the default with seeds that the search has not seen.
"""
