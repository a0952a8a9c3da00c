"""The ledger: no data source is ever spent past its budget, whatever happens."""
