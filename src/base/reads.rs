//! How new what is read must be, where several processes write.

use std::str::FromStr;

/// How new what a request reads must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// What another process wrote up to 20 ms before may be missing.
    #[default]
    Bounded,
    /// Nothing is missing that was written before the request.
    Strict,
}

impl FromStr for Reads {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "bounded" => Ok(Self::Bounded),
            "strict" => Ok(Self::Strict),
            _ => Err("it must be bounded or strict"),
        }
    }
}
