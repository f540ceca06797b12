"""Environments of every style for the tests, small enough to compile in a moment."""

from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.rollouts.policy import read_policy

CODE = '''
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    data: jax.Array
    obs: jax.Array
    reward: jax.Array
    done: jax.Array
    info: dict


class Point:
    """A mass on a line, as Brax and Playground have environments."""

    action_size = 1
    dt = 0.1

    def reset(self, key):
        return self.state(jax.random.uniform(key, (2,)), {"steps": jnp.float32(0)})

    def step(self, state, action):
        place, speed = state.data
        after = jnp.stack([place + self.dt * speed, speed + self.dt * action[0]])
        return self.state(after, {"steps": state.info["steps"] + 1})

    def state(self, data, info):
        return State(data, self.seen(data), 1 - jnp.abs(data[0]), jnp.abs(data[0]) > 9, info)

    def seen(self, data):
        return data


class Blind(Point):
    """It goes NaN in its physics once it has moved for a while, and nobody resets it."""

    def step(self, state, action):
        after = super().step(state, action)
        bad = after.info["steps"] > 5
        data = jnp.where(bad, jnp.nan, after.data)
        return after._replace(data=data, obs=data)


class Masked(Blind):
    """The same with an end of the episode where it is NaN."""

    def step(self, state, action):
        after = super().step(state, action)
        return after._replace(done=jnp.isnan(after.data).any())


class Huge(Point):
    """What it shows of its place is large."""

    def seen(self, data):
        return data * jnp.array([1e5, 1.0])


class Choice:
    """As gymnax has environments: one of three pushes."""

    num_actions = 3

    def reset_env(self, key, params):
        place = jax.random.normal(key)
        return jnp.stack([place, 0.0]), place

    def step_env(self, key, state, action, params):
        place = state + params["push"] * (action - 1)
        return jnp.stack([place, 1.0]), place, -jnp.abs(place), jnp.abs(place) > 5, {}

    def reset(self, key, params):
        return self.reset_env(key, params)

    def step(self, key, state, action, params):
        raise RuntimeError("it would reset by itself")


class Begins:
    """As gymnax, without step_env: `how` says in which words a new episode begins."""

    num_actions = 3

    def reset(self, key):
        place = jax.random.normal(key)
        return place[None], {"place": place, "steps": jnp.int32(0)}

    def step(self, key, state, action):
        place = state["place"] + 0.1 * (action - 1)
        after = {"place": place, "steps": state["steps"] + 1}
        done = (jnp.abs(place) > 5) | (after["steps"] >= 20)
        state = self.begun(done, self.reset(key)[1], after)
        return state["place"][None], state, 1.0, done, {}

    def begun(self, done, fresh, after):
        return jax.tree.map(lambda one, other: jnp.where(done, one, other), fresh, after)


class Resets(Point):
    def reset(self, key):
        state = super().reset(key)
        return state._replace(info={**state.info, "first_obs": state.obs})


class Batch(Point):
    def reset(self, key):
        return jax.vmap(super().reset)(jax.random.split(key, 3))


class Floats(Point):
    def step(self, state, action):
        after = super().step(state, action)
        return after._replace(reward=float(after.reward))


class Forgets(Point):
    def step(self, state, action):
        return super().step(state, action)._replace(info={})


class Prints(Point):
    def step(self, state, action):
        jax.debug.print("{}", action)
        return super().step(state, action)


class Sizeless(Point):
    action_size = None


def point():
    return Point()


def choice():
    return Choice(), {"push": 0.1}


def prints():
    print("hello")
    return Point()


def raises():
    raise ValueError("no such robot")


def number():
    return 3


class Fallen(Point):
    """Its episode ends, and what it computes past the end goes NaN; its reward is a number of Python's."""

    def step(self, state, action):
        after = super().step(state, action)
        steps = after.info["steps"]
        data = jnp.where(steps > 5, jnp.nan, after.data)
        return after._replace(data=data, obs=data, reward=1.0, done=steps == 4)


def mjx_model():
    from mujoco import mjx

    return mjx.put_model(actuated(), impl="jax")


def actuated():
    import mujoco

    body = "<body><joint name='j' type='hinge' axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body>"
    motor = "<actuator><motor joint='j' ctrlrange='-2 2'/><position joint='j'/></actuator>"
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody>{motor}</mujoco>")


def mjx_models():
    made = mjx_model()
    return made.replace(qpos0=jnp.zeros((3, 1)))


def model():
    import mujoco

    body = "<body><joint type='hinge' axis='0 1 0'/><geom size='.1'/></body>"
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
'''


def plan_of(folder, name, *, replays, steps, policy=None, **more):
    """The plan of one of them, whose code is put into the folder as train.py."""
    file = folder / "train.py"
    if not file.exists():
        file.write_text(CODE)
    plan = {"controls": None, "seed": 0, "policy": read_policy(policy), **more}
    return RecordPlan(model=f"--env {file}:{name}", replays=replays, steps=steps, **plan)
