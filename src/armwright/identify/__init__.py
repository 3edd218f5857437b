# SPDX-License-Identifier: Apache-2.0
"""Data to models: logs of joint motion and motor currents become an arm that predicts them, and feels contact.

log = aw.identify.read_log("run.csv")
model = aw.identify.fit(log, aw.load("my_arm.urdf"))
aw.identify.predict_currents(model, log).error
"""

from armwright.identify.bands import Bands
from armwright.identify.columns import LAYOUTS, Columns
from armwright.identify.current_map import CurrentMap, fit_current_map
from armwright.identify.direct import Wrenches, direct_residuals, tool_wrenches
from armwright.identify.excitation import Excitation
from armwright.identify.excite import excite
from armwright.identify.feel import Feeler, Felt, feel, feel_stream
from armwright.identify.fit import fit
from armwright.identify.floor import repeat_floor
from armwright.identify.gains import Free, FromTargets, Known, gains_from_targets
from armwright.identify.identified import Estimate, Identified, Load, PayloadEstimate
from armwright.identify.imu import ImuCheck, check_accelerometer
from armwright.identify.instruments import cross_check
from armwright.identify.log import Dropped, Log
from armwright.identify.model_file import load_model, save_model
from armwright.identify.observe import Residual, learn_bands, residuals, with_bands
from armwright.identify.payload import payload
from armwright.identify.pd_gains import PdGains, pd_gains
from armwright.identify.predict import Prediction, predict_currents
from armwright.identify.prepare import Prepared, prepare
from armwright.identify.read import read_log
from armwright.identify.refit import refit_friction
from armwright.identify.ticks import Ticks
from armwright.identify.touch import Contact, ToolWrench
from armwright.identify.validate import Held, held_out, validate

__all__ = [
    "LAYOUTS",
    "Bands",
    "Columns",
    "Contact",
    "CurrentMap",
    "Dropped",
    "Estimate",
    "Excitation",
    "Feeler",
    "Felt",
    "Free",
    "FromTargets",
    "Held",
    "Identified",
    "ImuCheck",
    "Known",
    "Load",
    "Log",
    "PayloadEstimate",
    "PdGains",
    "Prediction",
    "Prepared",
    "Residual",
    "Ticks",
    "ToolWrench",
    "Wrenches",
    "check_accelerometer",
    "cross_check",
    "direct_residuals",
    "excite",
    "feel",
    "feel_stream",
    "fit",
    "fit_current_map",
    "gains_from_targets",
    "held_out",
    "learn_bands",
    "load_model",
    "payload",
    "pd_gains",
    "predict_currents",
    "prepare",
    "read_log",
    "refit_friction",
    "repeat_floor",
    "residuals",
    "save_model",
    "tool_wrenches",
    "validate",
    "with_bands",
]
