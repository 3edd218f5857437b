# SPDX-License-Identifier: Apache-2.0
"""Identification (004): logs of motion and motor currents become a model that predicts currents and feels contact.

From a file to the error of the predicted currents:

    log = aw.identify.read_log("run.csv")
    model = aw.identify.fit(log, aw.load("my_arm.urdf"))
    aw.identify.predict_currents(model, log).error
"""

from armwright.identify.current_log import Log
from armwright.identify.drive_gains import FittedDrives, Free, FromTargets, Known, fit_current_map
from armwright.identify.excitation import excite
from armwright.identify.external_torque import (
    Residual,
    direct_residuals,
    learn_bands,
    residuals,
    tool_wrenches,
    with_bands,
)
from armwright.identify.feeling import FeltLog, feel, feel_stream
from armwright.identify.felt_contacts import FoundContact
from armwright.identify.filtered_log import even_samples
from armwright.identify.force_observability import ForceObservability, force_observability
from armwright.identify.foreign_logs.column_mapping import Columns, read_mapping
from armwright.identify.friction_over_time import FrictionOverTime, friction_over_time
from armwright.identify.friction_update import update_friction
from armwright.identify.identified import Bands, Estimate, Identified, Load, PayloadEstimate
from armwright.identify.instrumental import cross_check
from armwright.identify.log_reader import explain_log, read_log
from armwright.identify.model_file import load_model, save_model
from armwright.identify.model_fit import fit, refit_friction
from armwright.identify.payloads import payload
from armwright.identify.plain_friction import plain_friction
from armwright.identify.position_friction import PositionFriction
from armwright.identify.position_selection import fit_position_friction
from armwright.identify.validation import Prediction, predict_currents, validate
from armwright.packages import former_names

__all__ = [
    "Bands",
    "Columns",
    "Estimate",
    "FeltLog",
    "FittedDrives",
    "ForceObservability",
    "FoundContact",
    "Free",
    "FrictionOverTime",
    "FromTargets",
    "Identified",
    "Known",
    "Load",
    "Log",
    "PayloadEstimate",
    "PositionFriction",
    "Prediction",
    "Residual",
    "cross_check",
    "direct_residuals",
    "even_samples",
    "excite",
    "explain_log",
    "feel",
    "feel_stream",
    "fit",
    "fit_current_map",
    "fit_position_friction",
    "force_observability",
    "friction_over_time",
    "learn_bands",
    "load_model",
    "payload",
    "plain_friction",
    "predict_currents",
    "read_log",
    "read_mapping",
    "refit_friction",
    "residuals",
    "save_model",
    "tool_wrenches",
    "update_friction",
    "validate",
    "with_bands",
]

__getattr__ = former_names(
    __name__,
    {
        "Felt": "FeltLog",
        "Contact": "FoundContact",
        "prepare": "even_samples",
        "CurrentMap": "identify.drive_gains.CurrentMap",
        "Dropped": "identify.current_log.Dropped",
        "Excitation": "identify.excitation.Excitation",
        "Feeler": "identify.feeling.Feeler",
        "Held": "identify.validation.Held",
        "ImuCheck": "identify.imu_check.ImuCheck",
        "LAYOUTS": "identify.log_reader.LAYOUTS",
        "PdGains": "identify.controller_gains.PdGains",
        "Prepared": "identify.filtered_log.Prepared",
        "Ticks": "identify.felt_contacts.Ticks",
        "ToolWrench": "identify.felt_contacts.ToolWrench",
        "Wrenches": "identify.external_torque.Wrenches",
        "check_accelerometer": "identify.imu_check.check_accelerometer",
        "gains_from_targets": "identify.target_gains.gains_from_targets",
        "held_out": "identify.validation.held_out",
        "pd_gains": "identify.controller_gains.pd_gains",
        "repeat_floor": "identify.validation.repeat_floor",
    },
)
