"""The products that are probed: the shapes a rollout and a policy really have, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.programs.matrix_units import runs_on_matrix_units


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A matrix product `m x k @ k x n`, alone or once for each member of a batch."""

    role: str
    m: int
    k: int
    n: int
    batch: int | None = None
    shared: bool = False
    """Whether the whole batch multiplies the same right operand, as with a policy's weights."""

    @property
    def op(self) -> str:
        """As a report names it."""
        return f"dot, {self.role}"

    @property
    def left(self) -> tuple[int, ...]:
        """The left operand's shape."""
        return (*self._batch, self.m, self.k)

    @property
    def right(self) -> tuple[int, ...]:
        """The right operand's shape."""
        return (self.k, self.n) if self.shared else (*self._batch, self.k, self.n)

    @property
    def shape(self) -> str:
        """As a report writes it: "1024x27x6 @ 1024x6x27"."""
        return f"{'x'.join(map(str, self.left))} @ {'x'.join(map(str, self.right))}"

    @property
    def batched(self) -> bool:
        """Whether it has a batch dimension."""
        return self.batch is not None

    @property
    def on_matrix_units(self) -> bool:
        """Whether XLA:GPU makes it a matrix product at all; anything else runs in float32."""
        rows = self.m * (self.batch or 1) if self.shared else self.m
        return runs_on_matrix_units(rows, self.n, self.k)

    @property
    def _batch(self) -> tuple[int, ...]:
        return () if self.batch is None else (self.batch,)


@dataclass(frozen=True, kw_only=True)
class Convolution:
    """A two-dimensional convolution of square images with an odd square kernel, padded to equal size."""

    role: str
    batch: int
    size: int
    channels_in: int
    channels_out: int
    kernel: int = 3

    on_matrix_units = True
    batched = True

    @property
    def op(self) -> str:
        """As a report names it."""
        return f"conv, {self.role}"

    @property
    def left(self) -> tuple[int, ...]:
        """The images' shape: batch, height, width, channels."""
        return (self.batch, self.size, self.size, self.channels_in)

    @property
    def right(self) -> tuple[int, ...]:
        """The kernel's shape: height, width, channels in, channels out."""
        return (self.kernel, self.kernel, self.channels_in, self.channels_out)

    @property
    def shape(self) -> str:
        """As a report writes it."""
        return f"{'x'.join(map(str, self.left))} * {'x'.join(map(str, self.right))}"


Product = Dot | Convolution

PRODUCTS: tuple[Product, ...] = (
    Dot(role="64 square", m=64, k=64, n=64),
    Dot(role="1024 square", m=1024, k=1024, n=1024),
    # 27 degrees of freedom: MJX's humanoid. crb_cdof @ cdof.T and J^T D J feed a Cholesky each.
    Dot(role="mass matrix", m=27, k=6, n=27),
    Dot(role="mass matrix", m=27, k=6, n=27, batch=1024),
    Dot(role="Newton Hessian", m=27, k=64, n=27),
    Dot(role="Newton Hessian", m=27, k=64, n=27, batch=1024),
    Dot(role="constraint Jacobian", m=64, k=27, n=27, batch=256),
    Dot(role="actuator moment", m=21, k=27, n=27, batch=256),
    Dot(role="collision frames", m=32, k=3, n=3, batch=1024),
    Dot(role="policy layer", m=1, k=64, n=256),
    Dot(role="policy layer", m=1, k=64, n=256, batch=4096, shared=True),
    Dot(role="policy hidden layer", m=4096, k=256, n=256),
    Dot(role="value head", m=4096, k=256, n=1),
    Dot(role="attention scores", m=128, k=64, n=128, batch=16),
    Convolution(role="first pixels layer", batch=16, size=32, channels_in=3, channels_out=32),
    Convolution(role="pixels layer", batch=8, size=16, channels_in=32, channels_out=32),
)
"""Those that a GPU runs in float32 whatever is set (a policy at batch 1, a value head) are among them."""
