"""DDPM: variants by denoising diffusion."""

from discreet.mechanisms.ddpm.mechanism import DDPM

__all__ = ["DDPM"]
