//! Settings that must be the same at all daemons of a store. Each removes by its own what is kept for a time: one that
//! is started with others would remove for good what the rest keeps.

use crate::cli::settings::Settings;
use crate::store::Result;
use crate::store::engine::Engine;
use crate::store::inspection::CommonSettings;

/// What this daemon tells others of them.
pub(super) fn common_settings(settings: &Settings) -> CommonSettings {
    of_deleted(settings).and(of_audit(settings))
}

fn of_deleted(settings: &Settings) -> CommonSettings {
    CommonSettings::default().with("keep_deleted_days", settings.keep_deleted_days.to_string())
}

fn of_audit(settings: &Settings) -> CommonSettings {
    CommonSettings::default().with("audit_keep_days", settings.audit_keep_days.to_string())
}

/// One of them, held against what the other daemons have.
#[derive(Debug)]
pub(super) struct Agreement {
    engine: Engine,
    own: CommonSettings,
}

impl Agreement {
    /// On how long what is deleted can be restored.
    pub(super) fn on_deleted(engine: &Engine, settings: &Settings) -> Self {
        Self {
            engine: engine.clone(),
            own: of_deleted(settings),
        }
    }

    /// On how long the audit log is kept.
    pub(super) fn on_audit(engine: &Engine, settings: &Settings) -> Self {
        Self {
            engine: engine.clone(),
            own: of_audit(settings),
        }
    }

    /// True unless a daemon that is there has another, as far as they tell.
    pub(super) fn holds(&self) -> Result<bool> {
        Ok(self.engine.disagreement(&self.own)?.is_none())
    }
}
