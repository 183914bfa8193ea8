//! Paths of files and folders: what is taken is kept to the byte, is bounded, and leads nowhere else.

use siteconf::base::file_path::FilePath;
use siteconf::base::limits::{PATH_BYTES_MAX, PATH_SEGMENTS_MAX, SEGMENT_BYTES_MAX};

pub(crate) fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let folder = FilePath::parse_folder(text);
    let Ok(path) = FilePath::parse(text) else {
        // One slash at the end is all that a folder may have more; the root is none.
        if let Ok(Some(folder)) = folder {
            assert_eq!(format!("{folder}/"), text);
        }
        return;
    };
    assert_eq!(path.as_str(), text);
    assert_eq!(folder.as_ref(), Ok(&Some(path.clone())));
    let segments: Vec<&str> = path.segments().collect();
    assert_eq!(segments.join("/"), text);
    assert_eq!(segments.last(), Some(&path.name()));
    assert!(text.len() <= PATH_BYTES_MAX && segments.len() <= PATH_SEGMENTS_MAX);
    for segment in &segments {
        assert!((1..=SEGMENT_BYTES_MAX).contains(&segment.len()));
        assert!(!matches!(*segment, "." | ".."), "it leads elsewhere");
        assert!(!segment.contains(is_harmful), "{segment:?} deceives");
        let plain = segment.to_ascii_lowercase();
        let plain = plain.split(':').next().unwrap_or_default();
        let plain = plain.trim_end_matches([' ', '.']);
        assert!(!matches!(plain, ".git" | "git~1"), "{segment:?} is git's");
    }
    assert!(path.is_or_holds(text) && path.is_or_holds(&format!("{text}/x")));
    // A folder on the way is a path, and joined with the rest it is this one.
    for at in (1..segments.len()).step_by(1 + segments.len() / 4) {
        let above = FilePath::parse(&segments[..at].join("/")).expect("a folder of a path");
        let below = FilePath::parse(&segments[at..].join("/")).expect("the rest of a path");
        assert_eq!(above.join(&below).as_ref(), Ok(&path));
        assert!(above.is_or_holds(text));
    }
}

/// Signs that no name may have: what some system takes for a separator, and what is not seen.
fn is_harmful(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\\' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(sign, '\u{2066}'..='\u{2069}' | '\u{feff}')
}
