//! The settings that hold, written as a file of settings.

use std::fmt::Write as _;

use toml::Value;

use super::given::{Given, Source};
use super::table::{BLOBS, BOOL, CONFIG, SETTINGS};
use super::unit::Unit;
use super::{All, EVERYWHERE, Flags, Settings};
use crate::cli::Result;
use crate::cli::output::visible;
use crate::store::bucket_url::BucketUrl;
use crate::store::database_url::DatabaseUrl;

/// All settings that hold as TOML, each with where it came from. What is not set is a comment.
///
/// # Errors
/// [`Error::Usage`](crate::cli::Error::Usage) as [`Settings::gather`].
pub(in crate::cli) fn effective(
    everywhere: Flags<EVERYWHERE>,
    command: &[Given],
) -> Result<String> {
    let all = All::gather(everywhere, command);
    let _read = Settings::of(&all);
    all.refuse_wrong_ones()?;
    let mut text = String::new();
    for setting in SETTINGS.iter().filter(|setting| setting.name != CONFIG) {
        let given = all.get(setting.name);
        let unset = if is_unset(&given) { "# " } else { "" };
        let (name, value, source) = (setting.name, value(&given)?, visible(&given.place()));
        writeln!(text, "{unset}{name} = {value} # {source}").expect("a string takes all");
    }
    Ok(text)
}

/// True for an empty default, which says that there is no value.
fn is_unset(given: &Given) -> bool {
    given.source == Source::Default && given.setting.default.is_empty()
}

fn value(given: &Given) -> Result<Value> {
    let setting = given.setting;
    if setting.value == BOOL {
        return Ok(Value::Boolean(given.bool()?));
    }
    if setting.is_list() {
        let texts = given.list()?.into_iter().map(Value::String);
        return Ok(Value::Array(texts.collect()));
    }
    if setting.value == "N" || setting.unit() != Unit::Things {
        let number = given.number()?;
        // TOML has no larger ones; nothing that is counted comes near.
        return Ok(Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)));
    }
    let text = given.text()?;
    if setting.may_hold_secret() {
        let shown = if setting.name == BLOBS {
            BucketUrl::parse(&text).ok().map(|url| url.to_string())
        } else {
            let url = DatabaseUrl::parse(&text).ok();
            url.map(|url| url.masked().to_owned())
        };
        return Ok(Value::String(shown.unwrap_or_default()));
    }
    Ok(Value::String(text))
}
