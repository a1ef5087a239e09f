"""HEM (Sci. China 2016): intervals as points of triangles, matched in an order that a cost model finds."""
