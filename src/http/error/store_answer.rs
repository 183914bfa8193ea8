//! How refusals and failures of the store are answered.

use hyper::StatusCode;

use crate::repo::StoreError;

const NOT_NOW: &str = "the service cannot write at the moment; try again";

/// Seconds after which another try may do.
const SOON: Option<u64> = Some(1);
/// By then somebody may have restarted the service, before which another try is of no use.
const AFTER_RESTART: Option<u64> = Some(60);
/// Another try might make a change twice, and many clients make one without asking.
const NEVER: Option<u64> = None;

/// What is answered where the store has refused or failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreAnswer {
    pub(super) status: StatusCode,
    /// What the client reads; `None` where nothing is told of the store beyond the status.
    pub(super) message: Option<&'static str>,
    /// Seconds after which it is worth another try.
    pub(super) retry_after_s: Option<u64>,
    /// True if the store itself tells the log when such failures begin.
    pub(super) is_logged: bool,
}

impl StoreAnswer {
    /// The answer to this error.
    pub(super) fn to(error: &StoreError) -> Self {
        match error {
            StoreError::Full => Self::no_room("no space left for this change").logged(),
            StoreError::LittleRoom => Self::no_room(
                "too little room is free on the disk of the service (disk_free_min); reading and \
                 deleting go on, and so does this when there is more",
            )
            .logged(),
            StoreError::BucketFull => Self::no_room(
                "the bucket of the service's large files is full, or its quota is used up; reading, \
                 deleting and small files go on, and so does this when there is room",
            )
            .logged(),
            StoreError::Busy
            | StoreError::Expired
            | StoreError::Underway { .. }
            | StoreError::Conflict { .. } => Self::unavailable(SOON, NOT_NOW),
            StoreError::Unpinned => Self::unavailable(
                SOON,
                "what was read in is no longer kept, for the database was away meanwhile, or another server has taken \
                 its place; send it again",
            ),
            StoreError::LockInTheWay => Self::unavailable(SOON, NOT_NOW).logged(),
            StoreError::Unavailable => Self::unavailable(
                SOON,
                "the database of the service does not answer; try again",
            )
            .logged(),
            StoreError::Unfit { .. } => Self::unavailable(
                SOON,
                "the database of the service cannot be used; the log of the service says why",
            )
            .logged(),
            StoreError::DatabaseReadOnly => Self::unavailable(
                SOON,
                "the database of the service takes no changes: its setting default_transaction_read_only is on; \
                 reading goes on, and so does this when that ends",
            )
            .logged(),
            StoreError::BucketAway => Self::unavailable(
                SOON,
                "the bucket of the service's large files does not answer; try again",
            )
            .logged(),
            StoreError::BucketDenied => Self::unavailable(
                SOON,
                "the bucket of the service's large files refuses what the service writes, whose keys need \
                 s3:PutObject there; reading, deleting and small files go on",
            )
            .logged(),
            StoreError::UnfitBucket { .. } => Self::unavailable(
                SOON,
                "the bucket of the service's large files cannot be used; the log of the service says why",
            )
            .logged(),
            StoreError::WentBack => Self::unavailable(
                AFTER_RESTART,
                "the database of the service no longer has what it had; the service must be restarted",
            )
            .logged(),
            StoreError::Moved => Self::unavailable(
                AFTER_RESTART,
                "the data folder of the service is not at its place any more; it must be put back, or the service \
                 restarted with the new one",
            )
            .logged(),
            StoreError::Stopped => Self::stopped().logged(),
            StoreError::ReadOnly => Self::stopped(),
            StoreError::Made => Self::unavailable(
                NEVER,
                "the change was made, but what came of it cannot be read now; look before you repeat it",
            )
            .logged(),
            StoreError::InDoubt => Self::unavailable(
                NEVER,
                "the database of the service failed at the end of this change, which may have been made; \
                 look before you repeat it",
            ),
            StoreError::TooLarge { .. } => Self::of_status(StatusCode::PAYLOAD_TOO_LARGE),
            StoreError::Missing { .. }
            | StoreError::Damaged { .. }
            | StoreError::DamagedRecord { .. }
            | StoreError::Folder { .. }
            | StoreError::Locked { .. }
            | StoreError::Io { .. }
            | StoreError::Engine(_)
            | StoreError::DamagedEngine { .. } => {
                Self::of_status(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }

    fn of_status(status: StatusCode) -> Self {
        Self {
            status,
            message: None,
            retry_after_s: None,
            is_logged: false,
        }
    }

    fn no_room(message: &'static str) -> Self {
        Self {
            message: Some(message),
            ..Self::of_status(StatusCode::INSUFFICIENT_STORAGE)
        }
    }

    fn unavailable(retry_after_s: Option<u64>, message: &'static str) -> Self {
        Self {
            message: Some(message),
            retry_after_s,
            ..Self::of_status(StatusCode::SERVICE_UNAVAILABLE)
        }
    }

    fn stopped() -> Self {
        Self::unavailable(
            AFTER_RESTART,
            "the service has stopped writing after a failed write; it goes on reading, and must be \
             restarted",
        )
    }

    fn logged(self) -> Self {
        Self {
            is_logged: true,
            ..self
        }
    }
}
