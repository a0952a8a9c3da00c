"""TraVaG: variants by an autoencoder and a Wasserstein GAN."""

from discreet.mechanisms.trained.travag.mechanism import TraVaG

__all__ = ["TraVaG"]
