"""Small MJCF models for tests, and what the rules say about them."""

import mujoco

from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.rollouts.inspected import inspect
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.rules.rule import RULES

BALL = """<geom name="floor" type="plane" size="1 1 1"/>
<body pos="0 0 {z}"><freejoint/><geom name="ball" size="0.1"/></body>"""


def mjcf(world, *, options="", after="", defaults=""):
    """A model: the contents of its worldbody, its option element, and what follows."""
    return f"""<mujoco>
  <compiler angle="radian"/>
  {options}
  <default>{defaults}</default>
  <worldbody>
    {world}
  </worldbody>
  {after}
</mujoco>"""


def arm(links, *, gap=0.2, joint=""):
    """A chain of hinges that all turn about y."""
    inner = ""
    for number in reversed(range(links)):
        inner = (
            f'<body pos="{gap if number else 0} 0 0"><joint name="hinge{number}" axis="0 1 0" {joint}/>'
            '<geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" contype="0" conaffinity="0"/>'
            f"{inner}</body>"
        )
    return inner


def fact(xml):
    """The model as the rules see it."""
    return inspect_model(mujoco.MjModel.from_xml_string(xml), "model.xml")


def findings(rule, xml):
    """What one rule says about a model."""
    return list(diagnose([fact(xml)], [RULES.load(rule)]))


def findings_in_file(rule, xml, path):
    """The same, with the lines of the file that it is written to."""
    path.write_text(xml)
    return list(diagnose([inspect(str(path))], [RULES.load(rule)]))
