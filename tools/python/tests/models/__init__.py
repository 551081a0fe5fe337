"""Small models of many architectures, made from configurations: no network."""

# Importing a module registers its models, in this order.
from . import plain, decoders, encoders, sequences, images, architectures  # noqa: F401, I001
from . import vision, audio, further_decoders, further_encoders, further_images  # noqa: F401
from .decoders import LLAMA, causal
from .registry import MODELS, TRAINED, VOCABULARY

__all__ = ["LLAMA", "MODELS", "TRAINED", "VOCABULARY", "causal"]
