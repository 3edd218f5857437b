# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many runs as items with seeds of their own, in chunks, by engines, into a store that can be resumed."""

from armwright.campaigns.campaign_files import StoreError
from armwright.campaigns.campaign_plan import CampaignPlan, item_rng, read_plan
from armwright.campaigns.campaign_run import Progress, resume_campaign, run_campaign
from armwright.campaigns.kind import Kind
from armwright.campaigns.store import Store, open_store
from armwright.packages import former_names

__all__ = [
    "CampaignPlan",
    "Kind",
    "Progress",
    "Store",
    "StoreError",
    "item_rng",
    "open_store",
    "read_plan",
    "resume_campaign",
    "run_campaign",
]

__getattr__ = former_names(__name__, {"Plan": "CampaignPlan"})
