//! Names of projects that a proxy which decodes paths has cut into segments.

use crate::base::repo_id::RepoId;

/// The ways to read the name of one project from the first segments, two or more of them, the shortest first: the name,
/// and the segments behind it. What follows a project begins with `next`, so that no name goes beyond it.
///
/// # Limits
/// Looks no further than a name may reach, however many segments there are.
pub(super) fn from_several<'a>(
    segments: &'a [&'a str],
    next: &'a str,
) -> impl Iterator<Item = (String, &'a [&'a str])> {
    let mut name = String::new();
    let ends = 1..=segments.len();
    let names = ends.map_while(move |end| {
        let segment = segments[end - 1];
        if end > 1 {
            name.push('/');
        }
        name.push_str(segment);
        let may_be = segment != next && name.len() <= RepoId::BYTES_MAX;
        may_be.then(|| (name.clone(), &segments[end..]))
    });
    names
        .skip(1)
        .filter(|(name, _)| RepoId::parse(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_segments_at_least_and_ends_before_what_follows() {
        let found = |segments: &[&str]| {
            from_several(segments, "repository")
                .map(|(name, rest)| (name, rest.join("/")))
                .collect::<Vec<_>>()
        };
        let is = |name: &str, rest: &str| (name.to_owned(), rest.to_owned());
        assert_eq!(
            found(&["acme", "shop.erp", "v1.0", "repository", "a.b"]),
            [
                is("acme/shop.erp", "v1.0/repository/a.b"),
                is("acme/shop.erp/v1.0", "repository/a.b")
            ]
        );
        assert_eq!(found(&["shop.erp"]), []);
        assert_eq!(found(&["acme", "shop", "repository"]), []);
        assert_eq!(found(&["repository", "shop.erp"]), []);
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn the_longest_name_is_found_and_nothing_behind_it_is_looked_at() {
        let longest = format!("{}.{}", "n".repeat(98), "t".repeat(32));
        let segments = ["a", &longest, "tree"];
        let found: Vec<_> = from_several(&segments, "repository").collect();
        assert_eq!(found, [(format!("a/{longest}"), &segments[2..])]);
        let endless = vec!["a"; 1_000_000];
        assert_eq!(from_several(&endless, "repository").count(), 0);
    }
}
