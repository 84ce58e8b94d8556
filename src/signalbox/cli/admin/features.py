"""`signalbox features`: the finalized and supported levels of features (KIP-584)."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask_with, fail, pairs, report, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.feature_admin import FeatureAdmin, FeatureUpdate, UpgradeType

app = typer.Typer(help="Features of the cluster: describe, upgrade, downgrade.", no_args_is_help=True)

Levels = Annotated[
    list[str], typer.Argument(metavar="FEATURE=LEVEL...", help="transaction.version=2; can be repeated.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Validate the change without applying it.")]


@app.command("describe", epilog="Example: signalbox features describe --json")
def describe() -> None:
    """List features with the supported levels of a broker and the finalized level of the cluster."""
    features = ask_with(FeatureAdmin, lambda admin: admin.describe_features())
    epoch = features.finalized_epoch
    listing = Listing("feature", "lowest", "highest", "finalized", title=f"finalized epoch {epoch}")
    for name in sorted({*features.supported, *features.finalized}):
        lowest, highest = features.supported.get(name, (None, None))
        listing.add(name, lowest, highest, features.finalized.get(name, 0))
    show(listing, finalized_epoch=epoch)


@app.command("upgrade", epilog="Example: signalbox features upgrade transaction.version=2 --dry-run")
def upgrade(levels: Levels, dry_run: DryRun = False) -> None:
    """Raise the finalized level of features."""
    _update(levels, UpgradeType.UPGRADE, dry_run)


@app.command("downgrade", epilog="Example: signalbox features downgrade transaction.version=1")
def downgrade(
    levels: Levels,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Also if metadata is lost by it.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Lower the finalized level of features; 0 disables a feature."""
    _update(levels, UpgradeType.UNSAFE_DOWNGRADE if unsafe else UpgradeType.SAFE_DOWNGRADE, dry_run)


def _update(levels: list[str], upgrade_type: UpgradeType, dry_run: bool) -> None:
    updates = {}
    for feature, text in pairs(levels, "FEATURE=LEVEL").items():
        if not text.isdecimal():
            fail(f"the level of {feature} is a whole number, not {text!r}", code=2)
        updates[feature] = FeatureUpdate(int(text), upgrade_type)
    results = ask_with(FeatureAdmin, lambda admin: admin.update_features(updates, validate_only=dry_run))
    report(results, "would be changed" if dry_run else "changed")
