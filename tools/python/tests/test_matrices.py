"""Inverses, determinants and factors of small matrices have PyTorch's values and gradients."""

from __future__ import annotations

import torch
from test_operations import ROWS, WIDTH, Sum
from training import compare


def made_square(w):
    """Four rows, far from singular."""
    return w[:, :4] + 3 * torch.eye(4)


def stacked(w):
    """Two matrices whose rows want another order for elimination."""
    flat = torch.cat([w, w * w, w.sin()]).reshape(2, 6, 6)
    return flat + 2 * torch.eye(6).roll(2, 0)


def several(function, *words, **settings):
    """The sum of what an operation with several results gives."""
    return sum(part.sum() for part in function(*words, **settings))


def lower(w):
    """The factor of a matrix that is positive definite."""
    return torch.linalg.cholesky(w @ w.T + 2 * torch.eye(4))


def weighted(q, r):
    """Both factors, each element with a weight of its own."""
    return sum((f * torch.linspace(0.5, 1.5, f.numel()).view(f.shape)).sum() for f in (q, r))


def scaled(w, scales):
    """Both factors of a matrix whose columns are that large, by the sizes of their elements."""
    q, r = torch.linalg.qr(w * scales)
    return weighted(q, r / scales)


MATRICES = {
    "inverse": lambda w, x, i: made_square(w).inverse() + torch.linalg.inv(made_square(x * w)),
    "inverses": lambda w, x, i: torch.linalg.inv(stacked(w)) + torch.linalg.inv_ex(stacked(w))[0],
    "solve": lambda w, x, i: (
        torch.linalg.solve(made_square(w), x * w)
        + torch.linalg.solve(made_square(w), w[:, 0])[:, None]
        + torch.linalg.solve(made_square(w), x.mT, left=False).mT
    ),
    "determinant": lambda w, x, i: torch.linalg.det(stacked(w)) / 50 + made_square(w).det(),
    "logarithm": lambda w, x, i: (
        several(torch.linalg.slogdet, stacked(w)) + made_square(w).logdet()
    ),
    "triangular": lambda w, x, i: (
        torch.linalg.solve_triangular(made_square(w), x * w, upper=False)
        + torch.linalg.solve_triangular(made_square(w), x * w, upper=True)
        + torch.linalg.solve_triangular(made_square(w), x.mT, upper=True, left=False).mT
        + torch.linalg.solve_triangular(made_square(w), x, upper=True, unitriangular=True)
    ),
    "triangular_solve": lambda w, x, i: (
        several(torch.triangular_solve, x * w, made_square(w))
        + torch.triangular_solve(x * w, made_square(w), upper=False, transpose=True)[0]
        + torch.triangular_solve(x, made_square(w), unitriangular=True)[0]
    ),
    "cholesky_solve": lambda w, x, i: (
        torch.cholesky_solve(x * w, made_square(w).tril())
        + torch.cholesky_solve(x * w, made_square(w).triu(), upper=True)
        + torch.cholesky_solve(x, lower(w))
    ),
    # The gradient has the elements of the factor that are not read.
    "unmasked_factor": lambda w, x, i: (
        torch.cholesky_solve(x * w, made_square(w))
        + torch.cholesky_solve(x * w, made_square(w * x), upper=True)
        + torch.cholesky_inverse(made_square(w))[0, 1]
        + torch.cholesky_inverse(stacked(w).sin() + 3 * torch.eye(6), upper=True).sum()
    ),
    "cholesky_inverse": lambda w, x, i: (
        torch.cholesky_inverse(lower(w))
        + torch.cholesky_inverse(torch.stack([lower(w), lower(w * w)]).mT, upper=True)
    ),
    "cholesky": lambda w, x, i: (
        torch.linalg.cholesky(w @ w.T + 2 * torch.eye(4))
        + torch.linalg.cholesky(made_square(w), upper=True)
        + torch.linalg.cholesky(made_square(w))
    ),
}


ORTHOGONAL = {
    "square": lambda w, x, i: weighted(*torch.linalg.qr(made_square(w))),
    "tall": lambda w, x, i: weighted(*torch.linalg.qr(torch.cat([w, w * x, w.cos()]))),
    "wide": lambda w, x, i: weighted(*torch.linalg.qr(w)),
    "stacked": lambda w, x, i: weighted(*torch.linalg.qr(stacked(w), mode="complete")),
    # Columns that are 0 below their heads stay, whatever the sign of these.
    "triangular": lambda w, x, i: weighted(*torch.linalg.qr(-(w[:, :4] + torch.eye(4)).triu())),
    "one_column": lambda w, x, i: weighted(*torch.linalg.qr(w[:, :1])),
    # Elements whose squares are 0 in f32 are not 0.
    "almost_triangular": lambda w, x, i: scaled(
        made_square(w).triu() + 1e-25 * made_square(w), torch.ones(4)
    ),
    **{
        f"scaled_{n}": lambda w, x, i, scales=torch.tensor(scales): scaled(made_square(w), scales)
        for n, scales in enumerate(
            [[scale] * 4 for scale in (1e30, 1e25, 1e20, 1e19, 1e-19, 1e-20, 1e-25, 1e-30)]
            + [[1e-20, 1e20, 1.0, 1e-15], [1e15, 1e-15, 1e-20, 1e20]]
        )
    },
}


def test_orthogonal(tmp_path):
    torch.manual_seed(6)
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(Sum(ORTHOGONAL, 0.0, 0.5), batch, tmp_path)


def test_matrices(tmp_path):
    torch.manual_seed(5)
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(Sum(MATRICES, 0.0, 0.5), batch, tmp_path)
