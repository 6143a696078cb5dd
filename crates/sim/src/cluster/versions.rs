//! Programs that know a later version of the nodes' protocol than others.

use crate::setup::Setup;
use base::Rng;
use cluster::Versions;

/// What the newer program knows: what this one does.
pub(super) const NEWER: Versions = Versions::KNOWN;

/// What the older one knew: all but the latest version, whose number stands in all commands and snapshots once all members know it.
pub(super) const OLDER: Versions = Versions::new(NEWER.oldest(), NEWER.latest() - 1);

/// In one of so many seeds programs are replaced.
pub(super) const UPGRADES_ONCE_IN: u64 = 4;

/// In seeds with upgrades: what starts from now on knows more.
pub(super) struct Upgrades {
    takes_place: bool,
}

impl Upgrades {
    pub(super) fn new(seed: u64) -> Self {
        Self { takes_place: Rng::new(seed ^ 0x0009_47AD).below(UPGRADES_ONCE_IN) == 0 }
    }

    /// A machine that is about to start.
    pub(super) fn prepare(&self, setup: &mut Setup) {
        if self.takes_place {
            set_versions(setup, NEWER);
        }
    }
}

pub(super) fn set_versions(setup: &mut Setup, versions: Versions) {
    if let Some(cluster) = &mut setup.cluster {
        cluster.protocol_versions = versions;
    }
}
