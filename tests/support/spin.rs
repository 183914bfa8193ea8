//! A pause that ends to the microsecond, which a sleep does not: for kills at any moment.

use std::time::{Duration, Instant};

pub(crate) fn spin(pause: Duration) {
    let began = Instant::now();
    while began.elapsed() < pause {
        std::hint::spin_loop();
    }
}
