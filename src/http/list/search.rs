//! The branch search of the Read API (contract section 5).

/// A search term: a case-insensitive substring, where `^` and `$` anchor and `*` stands for any run.
#[derive(Debug)]
pub(in crate::http) struct Search {
    plain: Option<String>,
    parts: Vec<String>,
    at_start: bool,
    at_end: bool,
}

impl Search {
    /// Reads a term.
    pub(in crate::http) fn parse(term: &str) -> Self {
        let term = term.to_lowercase();
        let plain = !term.contains(['^', '$', '*']);
        // As at GitLab only the first `^` and the first `$` anchor, wherever they stand.
        let pattern = term.replacen('^', "", 1).replacen('$', "", 1);
        let mut parts: Vec<_> = pattern.split('*').map(str::to_owned).collect();
        // Several `*` are one.
        let mut places = 0..parts.len();
        let last = parts.len() - 1;
        parts.retain(|part| {
            let place = places.next();
            !part.is_empty() || place == Some(0) || place == Some(last)
        });
        Self {
            at_start: term.contains('^'),
            at_end: term.contains('$'),
            parts,
            plain: plain.then_some(term),
        }
    }

    /// True if the name matches.
    pub(in crate::http) fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let (Some((first, rest)), Some(last)) = (self.parts.split_first(), self.parts.last())
        else {
            return true;
        };
        if rest.is_empty() {
            return match (self.at_start, self.at_end) {
                (true, true) => name == *first,
                (true, false) => name.starts_with(first.as_str()),
                (false, true) => name.ends_with(first.as_str()),
                (false, false) => name.contains(first.as_str()),
            };
        }
        let mut left = name.as_str();
        if self.at_start {
            let Some(after) = left.strip_prefix(first.as_str()) else {
                return false;
            };
            left = after;
        } else {
            let Some(after) = after_first(left, first) else {
                return false;
            };
            left = after;
        }
        for part in &rest[..rest.len() - 1] {
            let Some(after) = after_first(left, part) else {
                return false;
            };
            left = after;
        }
        if self.at_end {
            left.ends_with(last.as_str())
        } else {
            left.contains(last.as_str())
        }
    }

    /// True if the name is the term itself, letter case apart; such a match comes first.
    pub(in crate::http) fn is_exactly(&self, name: &str) -> bool {
        self.plain.as_deref() == Some(name.to_lowercase().as_str())
    }
}

fn after_first<'a>(text: &'a str, part: &str) -> Option<&'a str> {
    let at = text.find(part)?;
    text.get(at + part.len()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_match_as_at_gitlab() {
        for (term, name, expected) in [
            ("mai", "main", true),
            ("MAIN", "main", true),
            ("ветка", "Новая-ВЕТКА", true),
            ("x", "main", false),
            ("^ma", "main", true),
            ("^ai", "main", false),
            ("in$", "main", true),
            ("ma$", "main", false),
            ("^main$", "main", true),
            ("^main$", "main2", false),
            ("m*n", "main", true),
            ("^m*n$", "main", true),
            ("^m*i$", "main", false),
            ("^f*x*z$", "feature/x-y-z", true),
            ("n*m", "main", false),
            ("^a*a$", "a", false),
            ("*", "anything", true),
            ("^***$", "anything", true),
            ("^m**n$", "main", true),
            ("^m***i$", "main", false),
            (".", "main", false),
            ("feature/", "feature/x", true),
        ] {
            assert_eq!(
                Search::parse(term).matches(name),
                expected,
                "{term} in {name}"
            );
        }
    }

    #[test]
    fn only_a_term_without_signs_has_an_exact_match() {
        assert!(Search::parse("Main").is_exactly("main"));
        assert!(!Search::parse("mai").is_exactly("main"));
        assert!(!Search::parse("^main$").is_exactly("main"));
    }
}
