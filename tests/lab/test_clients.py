# SPDX-License-Identifier: Apache-2.0
"""Programs that others wrote for real devices talk to the lab, unmodified, each in a process of its own."""

import textwrap

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import jacobian
from support.lab import client, served


@pytest.fixture(scope="module")
def lab():
    with served("--ft-rate", "250", "--ft-http-port", "8080") as ready:
        yield ready


@pytest.fixture(scope="module")
def e_series():
    with served("--series", "e", "--remote") as ready:
        yield ready


WAITS = """
import time

def until(happened):  # however slow the machine is; whoever started this program ends it if it hangs
    while not happened():
        time.sleep(0.005)

def near(a, b, within):
    return all(abs(x - y) < within for x, y in zip(a, b))
"""

MOVES = """
import json, sys
from rtde_control import RTDEControlInterface, Path, PathEntry
from rtde_receive import RTDEReceiveInterface
host = sys.argv[1]
receive, control = RTDEReceiveInterface(host), RTDEControlInterface(host)
out = {}
q = [0.3, -1.5, 1.4, -1.5, -1.5, 0.2]
out["moveJ"] = control.moveJ(q, 1.5, 3.0)
until(lambda: near(receive.getActualQ(), q, 1e-3))
out["q"] = receive.getActualQ()
pose = receive.getActualTCPPose()
pose[2] += 0.08
out["moveL"] = control.moveL(pose, 0.3, 1.0)
until(lambda: near(receive.getActualTCPPose()[:3], pose, 5e-4))
out["wanted"], out["pose"] = pose, receive.getActualTCPPose()
out["inverse"] = control.getInverseKinematics(pose)
out["joints"] = receive.getActualQ()
out["forward"] = control.getForwardKinematics(receive.getActualQ(), [0, 0, 0.1, 0, 0, 0])
out["payload"] = control.setPayload(1.2, [0, 0, 0.05])
out["tcp"] = control.setTcp([0, 0, 0.1, 0, 0, 0])
out["offset"] = control.getTCPOffset()
until(lambda: near(receive.getActualTCPPose()[:3], out["forward"], 5e-4))
out["with_tcp"] = receive.getActualTCPPose()
control.setTcp([0.0] * 6)
control.setPayload(0.0, [0, 0, 0])
target = receive.getActualQ()
for k in range(60):
    target[5] += 0.002
    control.servoJ(target, 0, 0, 0.008, 0.1, 300)
    time.sleep(0.008)
while not near(receive.getActualQ(), target, 2e-3):  # it stops where it is when commands stop coming
    control.servoJ(target, 0, 0, 0.008, 0.1, 300)
    time.sleep(0.008)
out["servo"] = receive.getActualQ()[5] - target[5]
control.servoStop()
control.speedJ([0.2, 0, 0, 0, 0, 0], 2.0, 20.0)
until(lambda: near(receive.getActualQd(), [0.2], 0.01))
out["speed"] = receive.getActualQd()[0]
control.speedStop()
out["async"] = control.moveJ(q, 0.5, 1.0, True)
out["stop"] = control.stopJ(3.0)
path = Path()
for shift, blend in ((0.1, 0.02), (0.2, 0.0)):
    joints = [q[0] + shift, *q[1:]]
    path.addEntry(PathEntry(PathEntry.MoveJ, PathEntry.PositionJoints, [*joints, 1.0, 2.0, blend]))
out["path"] = control.movePath(path, False)
until(lambda: near(receive.getActualQ(), joints, 1e-3))
out["after"] = receive.getActualQ()
out["outside"] = control.isJointsWithinSafetyLimits([9.0] * 6), control.isJointsWithinSafetyLimits(q)
control.stopScript()
print(json.dumps(out))
"""


@pytest.mark.parametrize("series", ["lab", pytest.param("e_series", marks=pytest.mark.slow)])
def test_ur_rtde_moves_the_arm(series, request):
    ready = request.getfixturevalue(series)
    seen = client(WAITS + MOVES, ready["host"], "rtde_control")
    assert seen["moveJ"] and seen["moveL"] and seen["payload"] and seen["tcp"] and seen["async"] and seen["path"]
    assert np.allclose(seen["q"], [0.3, -1.5, 1.4, -1.5, -1.5, 0.2], atol=1e-3)
    assert np.allclose(seen["pose"][:3], seen["wanted"][:3], atol=5e-4)
    assert np.allclose(seen["inverse"], seen["joints"], atol=2e-3)
    assert np.allclose(seen["offset"], [0, 0, 0.1, 0, 0, 0])
    assert np.allclose(seen["forward"][:3], seen["with_tcp"][:3], atol=5e-4)
    assert seen["servo"] == pytest.approx(0.0, abs=2e-3)
    assert seen["speed"] == pytest.approx(0.2, abs=0.01)
    assert seen["after"][0] == pytest.approx(0.5, abs=1e-3)
    assert seen["outside"] == [False, True]


MODEL = """
import json, sys
import numpy as np
import armwright as aw
from rtde_control import RTDEControlInterface
from rtde_receive import RTDEReceiveInterface
host = sys.argv[1]
receive, control = RTDEReceiveInterface(host), RTDEControlInterface(host)
robot, q = aw.load("ur5"), [0.3, -1.5, 1.4, -1.5, -1.2, 0.2]
out = {"moveJ": control.moveJ(q, 1.5, 3.0)}
until(lambda: near(receive.getActualQ(), q, 1e-3) and near(receive.getActualQd(), [0.0] * 6, 1e-4))

def told(expected, get, *numbers):  # this client does not wait for the answer: it reads one before
    until(lambda: near(get(*numbers), np.ravel(expected), 1e-3))
    return get(*numbers)

out["q"] = q = receive.getActualQ()
out["mass"] = told(aw.mass_matrix(robot, q), control.getMassMatrix)
out["jacobian"] = told(aw.jacobian(robot, q).T, control.getJacobian)
out["past"] = told(q, control.getActualJointPositionsHistory, 3)
for _ in range(50):
    control.directTorque([0.0] * 6)
    time.sleep(0.004)
out["held"] = receive.getActualQ()
control.stopScript()
print(json.dumps(out))
"""


@pytest.mark.slow
def test_ur_rtde_asks_a_new_controller_for_the_arms_mathematics():
    with served("--series", "e", "--software", "5.26.0", "--remote") as ready:
        seen = client(WAITS + MODEL, ready["host"], "rtde_control")
    robot, q = aw.load("ur5"), np.array(seen["q"])
    assert seen["moveJ"]
    assert np.allclose(np.reshape(seen["mass"], (6, 6)), aw.mass_matrix(robot, q), atol=1e-3)
    assert np.allclose(np.reshape(seen["jacobian"], (6, 6)).T, jacobian(robot, q), atol=1e-3)
    assert np.allclose(seen["past"], q, atol=1e-4) and np.allclose(seen["held"], q, atol=2e-3)


def test_a_second_control_client_is_refused(lab):
    code = """
    import json, sys
    from rtde_control import RTDEControlInterface
    first = RTDEControlInterface(sys.argv[1])
    try:
        RTDEControlInterface(sys.argv[1])
        print(json.dumps("two"))
    except RuntimeError as error:
        print(json.dumps(str(error)))
    first.stopScript()
    """
    assert "in use" in client(code, lab["host"], "rtde_control").lower()


def test_ur_rtde_io_and_dashboard(lab):
    code = """
    import json, sys
    from dashboard_client import DashboardClient
    from rtde_io import RTDEIOInterface
    from rtde_receive import RTDEReceiveInterface
    io, receive = RTDEIOInterface(sys.argv[1]), RTDEReceiveInterface(sys.argv[1])
    board = DashboardClient(sys.argv[1])
    board.connect()
    io.setStandardDigitalOut(3, True)
    io.setSpeedSlider(0.5)
    until(lambda: receive.getDigitalOutState(3) and receive.getSpeedScaling() == 0.5)
    out = {"bit": receive.getDigitalOutState(3), "speed": receive.getSpeedScaling(), "mode": board.robotmode()}
    io.setStandardDigitalOut(3, False)
    io.setSpeedSlider(1.0)
    out["version"], out["safety"], out["running"] = board.polyscopeVersion(), board.safetymode(), board.running()
    board.powerOff()
    until(lambda: receive.getRobotMode() == 3)
    out["off"] = 3
    board.brakeRelease()
    until(lambda: receive.getRobotMode() == 7)
    out["on"] = 7
    print(json.dumps(out))
    """
    seen = client(WAITS + textwrap.dedent(code), lab["host"], "rtde_io")
    assert seen["bit"] and seen["speed"] == 0.5 and "RUNNING" in seen["mode"] and "3.15.8" in seen["version"]
    assert "NORMAL" in seen["safety"] and not seen["running"] and (seen["off"], seen["on"]) == (3, 7)


def test_the_official_client_sees_steps_of_8_ms(lab):
    code = """
    import json, sys
    from third_party.rtde.rtde import RTDE
    connection = RTDE(sys.argv[1], 30004)
    connection.connect()
    version = connection.get_controller_version()
    connection.send_output_setup(["timestamp", "actual_q", "runtime_state"], ["DOUBLE", "VECTOR6D", "UINT32"])
    connection.send_start()
    stamps = [connection.receive().timestamp for _ in range(100)]
    connection.send_pause()
    connection.disconnect()
    print(json.dumps({"version": version, "stamps": stamps}))
    """
    seen = client(code, lab["host"], "third_party.rtde")
    assert seen["version"][:2] == [3, 15]
    steps = np.diff(seen["stamps"]) / 0.008  # this client skips samples when it is late, and repeats none
    assert np.allclose(steps, np.round(steps), atol=1e-6) and steps.min() > 0.5


def test_urx_moves_the_arm(lab):
    code = """
    import json, logging, sys
    logging.disable(logging.CRITICAL)
    from urx.urrobot import URRobot
    robot = URRobot(sys.argv[1])
    before = robot.getj()
    goal = [*before[:5], before[5] + 0.3]
    robot.movej(goal, acc=2.0, vel=1.0, wait=True)
    until(lambda: near(robot.getj(), goal, 0.02))
    out = {"running": robot.is_running(), "moved": robot.getj()[5] - before[5], "pose": len(robot.getl())}
    robot.close()
    print(json.dumps(out))
    """
    seen = client(WAITS + textwrap.dedent(code), lab["host"], "urx")
    assert seen["running"] and seen["moved"] == pytest.approx(0.3, abs=0.02) and seen["pose"] == 6


def test_netft_reads_the_force_sensor(lab):
    code = """
    import json, sys
    from NetFT import Sensor
    sensor = Sensor(sys.argv[1])
    readings = [sensor.getMeasurement() for _ in range(5)]
    print(json.dumps(readings))
    """
    seen = np.array(client(code, lab["host"], "NetFT")) / 1e6
    assert seen.shape == (5, 6) and np.abs(seen).max() < 1.0  # nothing hangs on the flange


def test_pynetft_reads_the_force_sensor(lab):
    code = """
    import itertools, json, sys
    from pynetft import Client, Config
    with Client(Config(sensor_host=sys.argv[1], http_port=8080), queue_size=64) as sensor:
        samples = list(itertools.islice(sensor.samples(), 20))
    print(json.dumps([str(sample) for sample in samples]))
    """
    seen = client(code, lab["host"], "pynetft")
    assert len(seen) == 20
