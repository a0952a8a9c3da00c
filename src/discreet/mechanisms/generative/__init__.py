"""What mechanisms that train a model share."""
