"""What a replay that is lost costs: the time per step of a batch with one, against a batch without.

    python benchmarks/failing_replay.py [MODEL]

One replay's controls are NaN from its fifth step on. Its row is refilled from a healthy one; in a plain scan
over `vmap(mjx.step)` it stays NaN, and the solver's loop runs to its limit in every further step.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH, STEPS, ROUNDS = 16, 50, 3
LOST_AT = 5
MOST = 1.2

BALL = '<body pos="{x} 0 .11"><freejoint/><geom size=".1"/></body>'

BALLS = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    {balls}
    <body pos="0 2 1">
      <joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""


def main() -> None:
    """Measures both and fails above the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?")
    options = parser.parse_args()
    os.environ.update(PJRT_NPROC="16", NPROC="16")

    import mujoco
    import numpy as np

    from jaxdoctor.replay.ensemble import Ensemble
    from jaxdoctor.replay.plan import Lane
    from jaxdoctor.replay.systems.mjx import simulation
    from jaxdoctor.rollouts.record import Recording, record

    balls = "".join(BALL.format(x=number) for number in range(4))
    path = options.model
    model = (
        mujoco.MjModel.from_xml_path(path)
        if path
        else mujoco.MjModel.from_xml_string(BALLS.format(balls=balls))
    )
    healthy = record(model, replays=BATCH, steps=STEPS, seed=0)
    ctrl = healthy.ctrl.copy()
    ctrl[1, LOST_AT:] = np.nan
    lost = Recording(starts=healthy.starts, ctrl=ctrl, start="", controls="")
    ensemble = Ensemble(simulation(model), batch=BATCH, emulated=False, chunk=STEPS)
    ensemble.compile()
    refilled = [lambda one=one: ensemble.roll_out(one, [Lane()]) for one in (healthy, lost)]
    ours, plain = fastest(refilled), fastest(scans(model, healthy, lost))
    print(
        f"{Path(path).stem if path else 'four balls and an arm'}, batch {BATCH}, {STEPS} steps, "
        f"one replay lost at step {LOST_AT}\n"
        f"refilled: {ours[1] / ours[0]:.2f} times the CPU time of a healthy batch, "
        f"plain: {plain[1] / plain[0]:.1f} times"
    )
    sys.exit(ours[1] / ours[0] > MOST)


def scans(model: object, *recordings: Any) -> list[Callable[[], object]]:
    """The same rollouts in a plain program."""
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    step, device = jax.vmap(mjx.step, in_axes=(None, 0)), mjx.put_model(model)
    blank = jax.vmap(lambda _: mjx.make_data(model))(jnp.arange(BATCH))

    @jax.jit
    def rollout(data: Any, controls: Any) -> Any:
        return jax.lax.scan(
            lambda data, ctrl: (step(device, data.replace(ctrl=ctrl)), data.qpos), data, controls
        )

    def run(recording: Any) -> Callable[[], object]:
        data = blank.replace(**{name: jnp.asarray(values, "f4") for name, values in recording.starts.items()})
        controls = jnp.asarray(recording.ctrl, "f4").swapaxes(0, 1)
        return lambda: jax.block_until_ready(rollout(data, controls))

    return [run(recording) for recording in recordings]


def fastest(runs: list[Callable[[], object]]) -> list[float]:
    """Seconds of the fastest of some rounds, the runs in turn: what else the machine does falls on all."""
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(ROUNDS + 1):
        for run, seconds in zip(runs, times, strict=True):
            started = time.process_time()
            run()
            if turn:  # the first round compiles
                seconds.append(time.process_time() - started)
    return [min(seconds) for seconds in times]


if __name__ == "__main__":
    main()
