//! Requests by route, method and status. A request finds its counts by numbers: no name is looked up and
//! nothing is locked.

use std::time::Duration;

use hyper::{Method, StatusCode};

use crate::base::tally::{Count, Spread};
use crate::http::route::template::Template;

/// The methods that are told apart, and what any other is called.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "other",
];
/// The statuses that the service gives; any other counts as the last.
const STATUSES: [u16; 26] = [
    200, 201, 204, 206, 303, 304, 400, 401, 403, 404, 405, 408, 412, 413, 414, 415, 416, 417, 421,
    429, 431, 500, 501, 503, 507, 599,
];

/// Counts of requests.
#[derive(Debug)]
pub(in crate::http) struct Requests {
    /// By route, by method, by status.
    counts: Box<[[[Count; STATUSES.len()]; METHODS.len()]]>,
    /// By route: how long it took until an answer was made.
    durations: Box<[Spread]>,
}

/// How often a route was asked by a method and answered with a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Counted {
    pub(in crate::http) route: &'static str,
    pub(in crate::http) method: &'static str,
    pub(in crate::http) status: u16,
    pub(in crate::http) count: u64,
}

impl Requests {
    /// None yet.
    pub(in crate::http) fn new() -> Self {
        let none = |_| [const { [const { Count::new() }; STATUSES.len()] }; METHODS.len()];
        Self {
            counts: Template::all().map(none).collect(),
            durations: Template::all().map(|_| Spread::of_durations()).collect(),
        }
    }

    /// Counts a request that was answered.
    pub(in crate::http) fn add(
        &self,
        route: Template,
        method: &Method,
        status: StatusCode,
        took: Duration,
    ) {
        let last = METHODS.len() - 1;
        let method = METHODS.iter().position(|known| *known == method.as_str());
        let status = STATUSES.iter().position(|known| *known == status.as_u16());
        let statuses = &self.counts[route.place()][method.unwrap_or(last)];
        statuses[status.unwrap_or(STATUSES.len() - 1)].up();
        self.durations[route.place()].add_duration(took);
    }

    /// What was counted, without what never happened.
    pub(in crate::http) fn counted(&self) -> impl Iterator<Item = Counted> {
        Template::all().flat_map(move |route| {
            let methods = self.counts[route.place()].iter().zip(METHODS);
            methods.flat_map(move |(statuses, method)| {
                let statuses = statuses.iter().zip(STATUSES);
                statuses.filter_map(move |(count, status)| {
                    let count = count.get();
                    (count > 0).then_some(Counted {
                        route: route.path(),
                        method,
                        status,
                        count,
                    })
                })
            })
        })
    }

    /// How long each route took that was asked for.
    pub(in crate::http) fn durations(&self) -> impl Iterator<Item = (Template, &Spread)> {
        Template::all()
            .map(|route| (route, &self.durations[route.place()]))
            .filter(|(_, spread)| spread.ranges().any(|(_, count)| count > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_apart_is_other() {
        let requests = Requests::new();
        let took = Duration::from_micros(50);
        let breed = Method::from_bytes(b"BREW").unwrap();
        requests.add(Template::NONE, &breed, StatusCode::IM_A_TEAPOT, took);
        requests.add(Template::NONE, &Method::GET, StatusCode::NOT_FOUND, took);
        requests.add(Template::NONE, &Method::GET, StatusCode::SEE_OTHER, took);
        let counted: Vec<_> = requests.counted().collect();
        let none = |method, status| Counted {
            route: "none",
            method,
            status,
            count: 1,
        };
        assert_eq!(
            counted,
            [none("GET", 303), none("GET", 404), none("other", 599)]
        );
        let durations: Vec<_> = requests.durations().collect();
        assert_eq!(durations.len(), 1);
        assert_eq!(durations[0].1.sum(), 150_000);
    }
}
