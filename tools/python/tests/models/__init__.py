"""Small models of many architectures, made from configurations: no network."""

# Importing a module registers its models, in this order.
from . import plain, decoders, encoders, sequences, images, architectures  # noqa: F401, I001
from .decoders import LLAMA, causal
from .registry import MODELS, VOCABULARY

__all__ = ["LLAMA", "MODELS", "VOCABULARY", "causal"]
