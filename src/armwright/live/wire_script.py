# SPDX-License-Identifier: Apache-2.0
"""The resident script: what runs on the controller while a ride lasts, and what client and script tell each other.

It is our own and the only thing that moves the arm: servoj to a target that the client writes into registers, every
control step, and never speedj, which goes on for ever when its client dies. It trusts the client with nothing: without
a heartbeat it brakes, and a target too far off is cut.

The reach limit. servoj's reference follows its target u like a critically damped filter of frequency w = 2/lookahead,
x'' = w² (u − x) − 2 w x'. As long as |u − x| ≤ r, |x'| ≤ w r / 2 = r / lookahead. So a target that is never farther
than ``most_speed · lookahead`` from where the controller's own reference is keeps every joint below ``most_speed``,
whatever the client sends, and the target may still jump *back* by that much, which is what giving way needs.
"""

from __future__ import annotations

LOOKAHEAD, GAIN = 0.1, 300  # of servoj [s], [-]: the softest that the manual gives as default; bands belong to them
SILENCE_SECONDS = 0.06  # without a new heartbeat after which the arm brakes
LEAVING_SECONDS = 2.0  # without one after which the program ends
STANDING_SECONDS = 30.0  # for which a client that lets the arm stand may think without a word
BRAKING = 8.0  # [rad/s²] of the stop after silence
TARGET, BEAT, ORDER, STATE = 24, 24, 25, 24
"""Registers: first input double of the target, input integers of heartbeat and order, output integer of the state.
The upper half (24 to 47) is for external clients; a field bus has the lower."""
STAND, LEAVE = 0, -1  # orders; every other one is an epoch ≥ 1: follow
WAITING, FOLLOWING, SILENT, LEFT = 1, 2, 3, 4
"""States: not begun; following or standing; braked because nothing was heard (until another epoch); ended."""


def ride_script(most_speed: float) -> str:
    """Return the URScript text; most_speed [rad/s] of every joint."""
    return f"""def armwright_ride():
  # Not a safety function. Follows targets in registers; brakes when the heartbeat stops.
  reach = {most_speed * LOOKAHEAD:.6f}
  step = get_steptime()
  beat = read_input_integer_register({BEAT})
  begun = False
  deaf = 0
  quiet = 0.0
  held = get_target_joint_positions()
  write_output_integer_register({STATE}, {WAITING})
  going = True
  while going:
    order = read_input_integer_register({ORDER})
    now = read_input_integer_register({BEAT})
    quiet = quiet + step
    if now != beat:
      quiet = 0.0
      beat = now
      begun = True
    end
    patience = {LEAVING_SECONDS}
    if order == {STAND}:
      patience = {STANDING_SECONDS}
    end
    if order == {LEAVE} or quiet > patience:
      going = False
    elif order == {STAND} or order == deaf or begun == False:
      servoj(held, t=step, lookahead_time={LOOKAHEAD}, gain={GAIN})
    elif quiet > {SILENCE_SECONDS}:
      write_output_integer_register({STATE}, {SILENT})
      deaf = order
      stopj({BRAKING})
      held = get_target_joint_positions()
    else:
      write_output_integer_register({STATE}, {FOLLOWING})
      here = get_target_joint_positions()
      j = 0
      while j < 6:
        aim = read_input_float_register({TARGET} + j)
        if aim > here[j] + reach:
          aim = here[j] + reach
        elif aim < here[j] - reach:
          aim = here[j] - reach
        end
        held[j] = aim
        j = j + 1
      end
      servoj(held, t=step, lookahead_time={LOOKAHEAD}, gain={GAIN})
    end
  end
  stopj({BRAKING})
  write_output_integer_register({STATE}, {LEFT})
end
"""
