"""Five hospitals, two of which compete, learn on Flower."""
