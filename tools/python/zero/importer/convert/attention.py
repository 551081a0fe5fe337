"""Scaled dot-product attention."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value
from zero.importer.text import decimal

HEADS_LAST = (0, 2, 1, 3)  # [B, H, T, D] <-> [B, T, H, D]


@converts("aten.scaled_dot_product_attention.default", to="nn.attention")
def attention(
    b: Builder,
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    rank = max(x.rank for x in (query, key, value))
    query, key, value = aligned(b, query, key, value)
    q, k, v = (four(b, x) for x in (query, key, value))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if k.shape[1] != v.shape[1] or q.shape[1] % k.shape[1]:
        raise CannotImport(
            f"attention of {q.shape[1]} query, {k.shape[1]} key and {v.shape[1]} value heads"
        )
    if is_causal and q.shape[2] != k.shape[2]:
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
        attn_mask, is_causal = b.constant(seen), False
    mask, causal, blind = None, is_causal, None
    if attn_mask is not None:
        attn_mask = four_of_mask(b, attn_mask, query.shape, rank)
        mask, causal, blind = read_mask(b, attn_mask, q, k)
    # nn.attention has no gradient of its mask, and takes its first dimension for the
    # samples that dropout draws for.
    trained = mask is not None and mask.trained
    whole = not trained and (dropout_p == 0 or q.shape[0] == b.micro_batch)
    compute = fused if whole else composed
    y = compute(b, q, k, v, mask, causal, scale, dropout_p)
    if blind is not None:
        y = b.select(blind, b.like(y, 0), y)
    return b.reshape(y, (query.shape[:-1] + value.shape[-1:])[-rank:])


def aligned(b: Builder, *operands: Value) -> list[Value]:
    """Operands of one rank, which are the same before the dimension of the heads. The first
    of three dimensions is a batch, or heads where not all have as many."""
    rank = max(x.rank for x in operands)
    if rank == 3 and len({x.shape[:-2] for x in operands}) > 1:
        rank = 4
    wide = [b.reshape(x, (1,) * (rank - x.rank) + x.shape) for x in operands]
    batch = tuple(torch.broadcast_shapes(*(x.shape[:-3] for x in wide)))
    return [b.broadcast(x, batch + x.shape[len(batch) :]) for x in wide]


def four(b: Builder, x: Value) -> Value:
    """As [B, H, T, D]: leading dimensions are one batch, a missing one is 1."""
    if x.rank == 3:
        return b.reshape(x, (x.shape[0], 1) + x.shape[1:])
    if x.rank == 2:
        return b.reshape(x, (1, 1) + x.shape)
    if x.rank > 4:
        return b.reshape(x, (math.prod(x.shape[:-3]),) + x.shape[-3:])
    return x


def four_of_mask(b: Builder, mask: Value, query: tuple[int, ...], rank: int) -> Value:
    """A mask with the dimensions that `four` gives to queries of shape `query`, or 1 where it
    is the same for all. What was of `rank` dimensions is of as many or more now."""
    if mask.rank > rank:
        raise CannotImport(
            f"attention with a mask of {mask.rank} dimensions beside queries, keys and values "
            f"of {rank}: give them leading dimensions of 1"
        )
    mask = b.reshape(mask, (1,) * (len(query) - mask.rank) + mask.shape)
    if any(m not in (1, n) for m, n in zip(mask.shape[:-2], query[:-2])):
        raise CannotImport(
            f"attention with a mask of shape {list(mask.shape)} beside queries of "
            f"{list(query)}: expand the queries to the mask's leading dimensions"
        )
    if math.prod(mask.shape[:-3]) > 1:
        mask = b.broadcast(mask, query[:-3] + mask.shape[-3:])
    return four(b, mask)


def read_mask(b: Builder, mask: Value, q: Value, k: Value):
    """Of a mask of four dimensions: an additive one or None, whether it is the triangle, and
    which rows see no key at all, or None: their result is 0, as PyTorch's is. For their
    scores such rows see every key: what boolean masks hide is finite, and a softmax that is
    not recognized as attention would have NaN."""
    if mask.constant is not None:
        return read_constant(b, mask.constant, q, k)
    shape = mask.shape
    zeros = b.fill(shape, 0, q.dtype)
    if mask.dtype == torch.bool:
        sees = b.reduce("max", b.cast(mask, q.dtype), [3], keep=True)
        blind = b.compare("eq", sees, 0)
        seen = b.binary("or", mask, blind)
        added = b.select(seen, zeros, b.fill(shape, torch.finfo(q.dtype).min, q.dtype))
    else:
        blind = b.compare("eq", b.reduce("max", mask, [3], keep=True), -math.inf)
        added = b.select(blind, zeros, mask)
    return expanded(b, added, q, k), False, blind


def expanded(b: Builder, mask: Value, q: Value, k: Value) -> Value:
    """With all queries and keys, which nn.attention wants."""
    return b.broadcast(mask, mask.shape[:2] + (q.shape[2], k.shape[2]))


def read_constant(b: Builder, mask: torch.Tensor, q: Value, k: Value):
    queries, keys = q.shape[2], k.shape[2]
    mask = mask.expand(*mask.shape[:2], queries, keys)
    for dim in (0, 1):
        if mask.shape[dim] > 1 and bool((mask == mask.narrow(dim, 0, 1)).all()):
            mask = mask.narrow(dim, 0, 1)
    seen = mask if mask.dtype == torch.bool else mask != -math.inf
    is_bool = mask.dtype == torch.bool or bool(((mask == 0) | ~seen).all())
    if is_bool and bool(seen.all()):
        return None, False, None
    triangle = torch.ones(queries, keys, dtype=torch.bool).tril()
    if is_bool and queries == keys and mask.shape[:2] == (1, 1) and seen[0, 0].equal(triangle):
        return None, True, None
    low = torch.finfo(q.dtype).min
    added = torch.where(seen, 0 if is_bool else mask, low).to(q.dtype)
    blind = ~seen.any(-1, keepdim=True)
    added = added.masked_fill(blind, 0)
    if mask.shape[:2] == (1, 1):
        added = added[0, 0]
    return b.constant(added), False, b.constant(blind) if bool(blind.any()) else None


def fused(b, q, k, v, mask, causal, scale, dropout_p) -> Value:
    # One width of heads: zeros change neither a score nor the columns that are kept.
    width, columns = max(q.shape[-1], v.shape[-1]), v.shape[-1]
    operands = [b.transpose(widened(b, x, width), HEADS_LAST) for x in (q, k, v)]
    form = "{}, {}, {}"
    if mask is not None:
        operands, form = operands + [mask], form + " mask {}"
    form += (" causal" if causal else "") + f" scale {decimal(scale)}"
    form += f" dropout {b.draw_dropout(dropout_p)}" if dropout_p else ""
    results = [(operands[0].shape, q.dtype), (q.shape[:3], torch.float32)]
    out = b.add("nn.attention", operands, results, form)[0]
    return b.transpose(b.narrow(out, 3, 0, columns), HEADS_LAST)


def widened(b: Builder, x: Value, width: int) -> Value:
    if x.shape[-1] == width:
        return x
    zeros = b.fill(x.shape[:-1] + (width - x.shape[-1],), 0, x.dtype)
    return b.concat([x, zeros], 3)


def composed(b, q, k, v, mask, causal, scale, dropout_p) -> Value:
    """Attention whose probabilities are tensors of their own."""
    heads = q.shape[1]
    k, v = (repeated(b, x, heads) for x in (k, v))
    scores = b.times(b.matmul(q, k, transpose_b=True), scale)
    if causal:
        seen = b.constant(torch.ones(scores.shape[-2:], dtype=torch.bool).tril())
        scores = b.select(seen, scores, b.like(scores, torch.finfo(q.dtype).min))
    if mask is not None:
        scores = b.plus(scores, mask)
    return b.matmul(b.dropout(b.softmax(scores), dropout_p), v)


def repeated(b: Builder, x: Value, heads: int) -> Value:
    batch, groups, length, width = x.shape
    if groups == heads:
        return x
    wide = (batch, groups, heads // groups, length, width)
    x = b.broadcast(b.reshape(x, (batch, groups, 1, length, width)), wide)
    return b.reshape(x, (batch, heads, length, width))
