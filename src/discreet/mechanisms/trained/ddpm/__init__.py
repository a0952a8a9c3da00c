"""DDPM: variants by denoising diffusion."""

from discreet.mechanisms.trained.ddpm.mechanism import DDPM

__all__ = ["DDPM"]
