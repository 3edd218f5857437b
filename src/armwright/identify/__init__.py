# SPDX-License-Identifier: Apache-2.0
"""Identification (004): logs of motion and motor currents become a model that predicts currents and feels contact.

From a file to the error of the predicted currents:

    log = aw.identify.read_log("run.csv")
    model = aw.identify.fit(log, aw.load("my_arm.urdf"))
    aw.identify.predict_currents(model, log).error
"""

from armwright.identify.controller_gains import PdGains, pd_gains
from armwright.identify.current_log import Dropped, Log
from armwright.identify.drive_gains import FittedDrives, Free, FromTargets, Known, fit_current_map, gains_from_targets
from armwright.identify.excitation import Excitation, excite
from armwright.identify.external_torque import (
    Residual,
    Wrenches,
    direct_residuals,
    learn_bands,
    residuals,
    tool_wrenches,
    with_bands,
)
from armwright.identify.feeling import Feeler, FeltLog, feel, feel_stream
from armwright.identify.felt_contacts import FoundContact, Ticks, ToolWrench
from armwright.identify.filtered_log import Prepared, even_samples
from armwright.identify.identified import Bands, Estimate, Identified, Load, PayloadEstimate
from armwright.identify.imu_check import ImuCheck, check_accelerometer
from armwright.identify.instrumental import cross_check
from armwright.identify.log_reader import LAYOUTS, Columns, read_log
from armwright.identify.model_file import load_model, save_model
from armwright.identify.model_fit import fit, refit_friction
from armwright.identify.payloads import payload
from armwright.identify.validation import Held, Prediction, held_out, predict_currents, repeat_floor, validate
from armwright.packages import former_names

__all__ = [
    "LAYOUTS",
    "Bands",
    "Columns",
    "Dropped",
    "Estimate",
    "Excitation",
    "Feeler",
    "FeltLog",
    "FittedDrives",
    "FoundContact",
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
    "even_samples",
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
    "read_log",
    "refit_friction",
    "repeat_floor",
    "residuals",
    "save_model",
    "tool_wrenches",
    "validate",
    "with_bands",
]

__getattr__ = former_names(__name__, {"Felt": "FeltLog", "Contact": "FoundContact", "prepare": "even_samples"})
