"""Reading and writing the formats that logs come in."""
