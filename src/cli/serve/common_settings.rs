//! Settings that must be the same at all daemons of a store. Each removes by its own what is kept for a time: one that
//! is started with others would remove for good what the rest keeps.

use crate::cli::settings::Settings;
use crate::store::Result;
use crate::store::engine::Engine;
use crate::store::inspection::CommonSettings;

/// What this daemon tells others of them.
pub(super) fn of(settings: &Settings) -> CommonSettings {
    keep_deleted_days(settings).and(audit_keep_days(settings))
}

fn keep_deleted_days(settings: &Settings) -> CommonSettings {
    CommonSettings::default().with("keep_deleted_days", settings.keep_deleted_days.to_string())
}

fn audit_keep_days(settings: &Settings) -> CommonSettings {
    CommonSettings::default().with("audit_keep_days", settings.audit_keep_days.to_string())
}

/// One of them, held against what the other daemons have.
#[derive(Debug)]
pub(super) struct CommonSetting {
    engine: Engine,
    own: CommonSettings,
}

impl CommonSetting {
    /// For how many days what is deleted can be restored.
    pub(super) fn keep_deleted_days(engine: &Engine, settings: &Settings) -> Self {
        Self {
            engine: engine.clone(),
            own: keep_deleted_days(settings),
        }
    }

    /// For how many days the audit log is kept.
    pub(super) fn audit_keep_days(engine: &Engine, settings: &Settings) -> Self {
        Self {
            engine: engine.clone(),
            own: audit_keep_days(settings),
        }
    }

    /// True unless a daemon that is there has another, as far as they tell.
    pub(super) fn is_common(&self) -> Result<bool> {
        Ok(self.engine.differing_settings(&self.own)?.is_none())
    }
}
