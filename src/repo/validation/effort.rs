//! How much work checks may take together.

use std::sync::{Arc, Mutex};

use crate::base::clock::Clock;
use crate::base::limits::{CHECKS_S_MAX, CHECKS_STEPS_MAX};
use crate::repo::{Error, Result};

/// What may still be spent on checks. Clones share it.
#[derive(Clone, Debug)]
pub(in crate::repo) struct Effort {
    left: Arc<Mutex<f64>>,
    /// A clock, and until when by its uptime in milliseconds; `None` where nothing is counted.
    until: Option<(Arc<dyn Clock>, i64)>,
    refusal: &'static str,
}

impl Effort {
    /// For all files of a change, from now on.
    ///
    /// # Limits
    /// [`CHECKS_STEPS_MAX`] and [`CHECKS_S_MAX`].
    pub(in crate::repo) fn of_change(clock: &Arc<dyn Clock>) -> Self {
        let refusal = "it takes too long to hold all files of this change against the rules, so nothing was \
                       changed: make it in several parts";
        Self::limited(clock, refusal)
    }

    /// For the schemas of all branches, from now on.
    ///
    /// # Limits
    /// As [`Effort::of_change`].
    pub(in crate::repo) fn of_schemas(clock: &Arc<dyn Clock>) -> Self {
        let refusal = "it takes too long to read the schemas of all branches, so nothing was changed: make \
                       them simpler, or the same in more branches";
        Self::limited(clock, refusal)
    }

    /// For who may take as long as it takes.
    pub(in crate::repo) fn unlimited() -> Self {
        Self {
            left: Arc::default(),
            until: None,
            refusal: "",
        }
    }

    fn limited(clock: &Arc<dyn Clock>, refusal: &'static str) -> Self {
        let until = clock.uptime_ms().saturating_add(CHECKS_S_MAX * 1000);
        Self {
            left: Arc::new(Mutex::new(CHECKS_STEPS_MAX)),
            until: Some((Arc::clone(clock), until)),
            refusal,
        }
    }

    /// Takes so many steps, before they are made.
    ///
    /// # Errors
    /// [`Error::Invalid`] where so many are not left, or the time is over.
    pub(super) fn spend(&self, steps: f64) -> Result<()> {
        let Some((clock, until)) = &self.until else {
            return Ok(());
        };
        let mut left = self.left.lock().expect("no panic while held");
        *left -= steps;
        if *left < 0.0 || clock.uptime_ms() > *until {
            return Err(Error::invalid(self.refusal));
        }
        Ok(())
    }
}
