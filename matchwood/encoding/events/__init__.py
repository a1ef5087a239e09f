"""Events to codes: dicts, Arrow, pandas and polars, read column by column or one event at a time."""
