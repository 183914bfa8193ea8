//! The body of a kept answer: in memory, or in a file from which the kernel sends it itself.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::base::limits::{
    INLINE_BYTES_MAX, WARM_ANSWER_BYTES_MAX, WARM_FILE_BYTES_MAX, WARM_FILE_WEIGHT_BYTES,
};
use crate::repo::LargeBody;

/// The body of an answer that is sent more than once.
#[derive(Clone, Debug)]
pub(super) enum KeptBody {
    /// Copied to the kernel each time.
    Bytes(Bytes),
    /// Sent by the kernel without a copy.
    File {
        /// Holds exactly the body, and can be asked for its file.
        file: Arc<dyn LargeBody>,
        /// Length in bytes.
        length: u64,
    },
}

impl KeptBody {
    /// Keeps these bytes, `None` if they are too many. Long ones move to memory that the kernel can
    /// send from; where the system has none to give, they stay as they are.
    pub(super) fn of_bytes(bytes: &Bytes) -> Option<Self> {
        let length = bytes.len() as u64;
        if length > WARM_ANSWER_BYTES_MAX {
            return None;
        }
        if bytes.len() > INLINE_BYTES_MAX
            && let Ok(sealed) = Sealed::new(bytes)
        {
            let file = Arc::new(sealed);
            return Some(Self::File { file, length });
        }
        Some(Self::Bytes(bytes.clone()))
    }

    /// Keeps a large body, `None` if it has no file or is too long: what is likely not to be in memory
    /// must not make the network's threads wait for the disk.
    pub(super) fn of_file(file: &Arc<dyn LargeBody>, length: u64) -> Option<Self> {
        (length <= WARM_FILE_BYTES_MAX && file.file().is_some()).then(|| Self::File {
            file: Arc::clone(file),
            length,
        })
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// What it counts in a bound of bytes. An open file counts for one of its own, so that the bound
    /// is one of open files too.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => {
                WARM_FILE_WEIGHT_BYTES + (*length).min(WARM_ANSWER_BYTES_MAX)
            }
        }
    }
}

/// Memory in the form of a file that nobody can change any more.
#[derive(Debug)]
struct Sealed(File);

impl Sealed {
    fn new(bytes: &[u8]) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"answer", flags)?);
        file.write_all(bytes)?;
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        Ok(Self(file))
    }
}

impl LargeBody for Sealed {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bytes_move_to_memory_that_nobody_changes() {
        let short = Bytes::from(vec![1; INLINE_BYTES_MAX]);
        let kept = KeptBody::of_bytes(&short).unwrap();
        assert!(matches!(&kept, KeptBody::Bytes(bytes) if *bytes == short));
        assert_eq!(kept.weight(), kept.len());

        let long: Vec<u8> = (0..=255).cycle().take(INLINE_BYTES_MAX + 1).collect();
        let Some(KeptBody::File { file, length }) = KeptBody::of_bytes(&long.clone().into()) else {
            panic!("it is not in a file");
        };
        let mut read = vec![0; long.len()];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == long && length == long.len() as u64);
        let descriptor = file.file().unwrap().try_clone_to_owned().unwrap();
        let mut writer = File::from(descriptor);
        assert!(writer.write_all(b"x").is_err());
        assert!(writer.set_len(0).is_err());

        let most = usize::try_from(WARM_ANSWER_BYTES_MAX).unwrap();
        assert!(KeptBody::of_bytes(&vec![0; most].into()).is_some());
        assert!(KeptBody::of_bytes(&vec![0; most + 1].into()).is_none());
    }
}
