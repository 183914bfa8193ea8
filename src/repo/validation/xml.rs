//! Well-formed XML. quick-xml finds the parts of a document; what a document may be made of is checked
//! here. Entities are not expanded: of those that a document type may declare only the form is checked.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};

use super::text::Fault;

/// What the XML declaration begins with, behind `<?`.
const TARGET: &str = "xml";
/// The length of `<!DOCTYPE`.
const DOCTYPE_BYTES: usize = 9;

/// The entities that every document has.
const PREDEFINED: [&str; 5] = ["lt", "gt", "amp", "apos", "quot"];

/// Characters beyond ASCII that a name may begin with.
const NAME_START: [RangeInclusive<char>; 13] = [
    '\u{c0}'..='\u{d6}',
    '\u{d8}'..='\u{f6}',
    '\u{f8}'..='\u{2ff}',
    '\u{370}'..='\u{37d}',
    '\u{37f}'..='\u{1fff}',
    '\u{200c}'..='\u{200d}',
    '\u{2070}'..='\u{218f}',
    '\u{2c00}'..='\u{2fef}',
    '\u{3001}'..='\u{d7ff}',
    '\u{f900}'..='\u{fdcf}',
    '\u{fdf0}'..='\u{fffd}',
    '\u{10000}'..='\u{effff}',
    ':'..=':',
];

/// Refuses what is no well-formed document.
pub(super) fn check(text: &str) -> Result<(), Fault> {
    if let Some((at, _)) = text.char_indices().find(|(_, c)| !is_char(*c)) {
        return Err(Fault::in_text(
            text,
            at,
            "this character is not allowed in XML",
        ));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut document = Document {
        text,
        open: Vec::new(),
        has_root: false,
        has_doctype: false,
        is_1_1: false,
    };
    loop {
        let start = offset(reader.buffer_position());
        let event = reader.read_event().map_err(|error| {
            let at = offset(reader.error_position());
            document.fault(at, error.to_string())
        })?;
        if matches!(event, Event::Eof) {
            return document.end();
        }
        document.take(start, &event)?;
    }
}

fn offset(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// What was seen of a document so far.
struct Document<'t> {
    text: &'t str,
    /// Where the elements begin that are open.
    open: Vec<usize>,
    has_root: bool,
    has_doctype: bool,
    is_1_1: bool,
}

impl Document<'_> {
    fn fault(&self, at: usize, reason: impl Into<String>) -> Fault {
        Fault::in_text(self.text, at.min(self.text.len()), reason)
    }

    fn take(&mut self, start: usize, event: &Event<'_>) -> Result<(), Fault> {
        match event {
            Event::Decl(declaration) => self.declaration(start, declaration),
            Event::PI(instruction) => {
                let target = instruction.target();
                if !is_name(target) || target.eq_ignore_ascii_case("xml") {
                    return Err(self.fault(start, "a processing instruction needs a name"));
                }
                Ok(())
            }
            Event::DocType(_) => self.doctype(start),
            Event::Start(tag) => {
                self.tag(start, tag)?;
                self.open.push(start);
                Ok(())
            }
            Event::Empty(tag) => self.tag(start, tag),
            Event::End(_) => {
                self.open.pop();
                Ok(())
            }
            Event::Text(text) => self.content(start, text),
            Event::CData(_) => self.within(start),
            Event::GeneralRef(reference) => {
                self.within(start)?;
                self.reference(start, reference)
            }
            Event::Comment(_) | Event::Eof => Ok(()),
        }
    }

    fn declaration(&mut self, start: usize, declaration: &BytesDecl<'_>) -> Result<(), Fault> {
        if start != 0 {
            return Err(self.fault(start, "the XML declaration is not at the beginning"));
        }
        let raw: &str = declaration;
        let names = self.attributes(start + 2 + TARGET.len(), &raw[TARGET.len()..])?;
        if !matches!(
            names[..],
            ["version"]
                | ["version", "encoding" | "standalone"]
                | ["version", "encoding", "standalone"]
        ) {
            let reason = "the declaration has a version, then an encoding, then standalone";
            return Err(self.fault(start, reason));
        }
        let read = |error: quick_xml::Error| self.fault(start, error.to_string());
        let version = declaration.version().map_err(read)?;
        if !matches!(&*version, "1.0" | "1.1") {
            return Err(self.fault(start, format!("there is no version \"{version}\" of XML")));
        }
        let is_1_1 = version == "1.1";
        match declaration.standalone() {
            None => {}
            Some(Ok(value)) if matches!(&*value, "yes" | "no") => {}
            Some(_) => return Err(self.fault(start, "standalone is \"yes\" or \"no\"")),
        }
        self.is_1_1 = is_1_1;
        Ok(())
    }

    fn doctype(&mut self, start: usize) -> Result<(), Fault> {
        if self.has_doctype || self.has_root {
            return Err(self.fault(start, "a document type stands before the root, once"));
        }
        let behind = &self.text[start + DOCTYPE_BYTES..];
        let name = behind.trim_start_matches(is_space);
        let end = name.find(|c| is_space(c) || matches!(c, '[' | '>'));
        if behind.len() == name.len() || !is_name(&name[..end.unwrap_or(name.len())]) {
            return Err(self.fault(start, "a document type has a name"));
        }
        self.has_doctype = true;
        Ok(())
    }

    fn tag(&mut self, start: usize, tag: &BytesStart<'_>) -> Result<(), Fault> {
        if self.open.is_empty() {
            if self.has_root {
                return Err(self.fault(start, "a second root element"));
            }
            self.has_root = true;
        }
        let name = tag.name().into_inner();
        if !is_name(name) {
            return Err(self.fault(start, "no element has such a name"));
        }
        self.attributes(start + 1 + name.len(), tag.attributes_raw())?;
        Ok(())
    }

    /// Checks what stands behind the name in a tag, and gives the names of the attributes.
    fn attributes<'r>(&self, start: usize, raw: &'r str) -> Result<Vec<&'r str>, Fault> {
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        let mut rest = raw;
        loop {
            let spaced = rest.trim_start_matches(is_space);
            let at = start + raw.len() - spaced.len();
            if spaced.is_empty() {
                return Ok(names);
            }
            if spaced.len() == rest.len() {
                return Err(self.fault(at, "a space is missing before the attribute"));
            }
            let end = spaced.find(|c| is_space(c) || c == '=');
            let (name, behind) = spaced.split_at(end.unwrap_or(spaced.len()));
            if !is_name(name) {
                return Err(self.fault(at, "no attribute has such a name"));
            }
            names.push(name);
            if !known.insert(name) {
                return Err(self.fault(at, format!("attribute \"{name}\" is there twice")));
            }
            let value = behind.trim_start_matches(is_space).strip_prefix('=');
            let value = value.map(|value| value.trim_start_matches(is_space));
            let quoted = value.and_then(|value| {
                let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                value[1..].split_once(quote)
            });
            let Some((value, behind)) = quoted else {
                return Err(self.fault(at, format!("attribute \"{name}\" has no value in quotes")));
            };
            let value_at = start + raw.len() - behind.len() - 1 - value.len();
            self.value(value_at, value)?;
            rest = behind;
        }
    }

    /// Checks the value of an attribute.
    fn value(&self, start: usize, value: &str) -> Result<(), Fault> {
        for (at, _) in value.match_indices(['<', '&']) {
            if value[at..].starts_with('<') {
                return Err(self.fault(start + at, "\"<\" in the value of an attribute"));
            }
            let Some((reference, _)) = value[at + 1..].split_once(';') else {
                return Err(self.fault(start + at, "\"&\" that begins no reference"));
            };
            self.reference(start + at, &BytesRef::new(reference))?;
        }
        Ok(())
    }

    fn reference(&self, at: usize, reference: &BytesRef<'_>) -> Result<(), Fault> {
        if reference.is_char_ref() {
            let is_allowed = |c: char| is_char(c) || (self.is_1_1 && c != '\0');
            return match reference.resolve_char_ref() {
                Ok(Some(c)) if is_allowed(c) => Ok(()),
                _ => Err(self.fault(at, "a reference to no character of XML")),
            };
        }
        let name: &str = reference;
        if PREDEFINED.contains(&name) || (self.has_doctype && is_name(name)) {
            return Ok(());
        }
        Err(self.fault(at, format!("the entity \"{name}\" is not known")))
    }

    fn content(&self, start: usize, text: &str) -> Result<(), Fault> {
        if let Some(at) = text.find("]]>") {
            return Err(self.fault(start + at, "\"]]>\" in a text"));
        }
        if self.open.is_empty()
            && let Some(at) = text.find(|c| !is_space(c))
        {
            return Err(self.fault(start + at, "a text outside of the root element"));
        }
        Ok(())
    }

    /// Refuses what is outside of the root element.
    fn within(&self, start: usize) -> Result<(), Fault> {
        if self.open.is_empty() {
            return Err(self.fault(start, "a text outside of the root element"));
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Fault> {
        if let Some(start) = self.open.last() {
            return Err(self.fault(*start, "this element is not closed"));
        }
        if !self.has_root {
            return Err(self.fault(self.text.len(), "there is no root element"));
        }
        Ok(())
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_char(c: char) -> bool {
    c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}') || matches!(c, '\t' | '\r' | '\n')
}

fn is_name(name: &str) -> bool {
    let starts = |c: char| {
        c.is_ascii_alphabetic() || c == '_' || NAME_START.iter().any(|range| range.contains(&c))
    };
    let goes_on = |c: char| {
        starts(c)
            || c.is_ascii_digit()
            || matches!(c, '-' | '.' | '\u{b7}')
            || ('\u{300}'..='\u{36f}').contains(&c)
            || ('\u{203f}'..='\u{2040}').contains(&c)
    };
    name.starts_with(starts) && name.chars().all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_documents_pass() {
        for sound in [
            "<a/>",
            "<?xml version=\"1.0\" encoding='UTF-8' standalone='yes'?>\n<!-- c -->\n<a b='1' c = \"&lt;'\"/>\n",
            "<?xml-stylesheet href='a'?><я:é-1.2 x:y=''>\r\n\t</я:é-1.2 >",
            "<a>]] &#65;&#x1F600;&amp;<![CDATA[<&]]><b/><?p?></a><!-- end --><?p q?>",
            "<!DOCTYPE a SYSTEM 'a.dtd' [<!ENTITY e '<'>]><a b='&e;'>&e;</a>",
            "<?xml version='1.1'?><a>&#1;</a>",
        ] {
            check(sound).unwrap_or_else(|fault| panic!("{sound}: {fault:?}"));
        }
    }

    #[test]
    fn what_is_not_well_formed_is_told_with_its_place() {
        let fault = |text: &str| {
            let Fault { place, reason } = check(text).unwrap_err();
            format!("{} {reason}", place.unwrap())
        };
        for (text, said) in [
            ("", "1:1 there is no root element"),
            ("<!-- a -->\n", "2:1 there is no root element"),
            ("<a/>\n<b/>", "2:1 a second root element"),
            ("<a/>x", "1:5 a text outside of the root element"),
            ("x<a/>", "1:1 a text outside of the root element"),
            ("<a/><![CDATA[]]>", "1:5 a text outside of the root element"),
            ("&amp;<a/>", "1:1 a text outside of the root element"),
            (
                "<a>\n<b>\n</a>",
                "3:1 ill-formed document: expected `</b>`, but `</a>` was found",
            ),
            ("<a>\n <b>", "2:2 this element is not closed"),
            ("<a b=1/>", "1:4 attribute \"b\" has no value in quotes"),
            ("<a b/>", "1:4 attribute \"b\" has no value in quotes"),
            (
                "<a b='1'c='2'/>",
                "1:9 a space is missing before the attribute",
            ),
            ("<a b='1' b='2'/>", "1:10 attribute \"b\" is there twice"),
            ("<a 1='1'/>", "1:4 no attribute has such a name"),
            ("<a b='<'/>", "1:7 \"<\" in the value of an attribute"),
            ("<a b='&'/>", "1:7 \"&\" that begins no reference"),
            ("<a b='&nbsp;'/>", "1:7 the entity \"nbsp\" is not known"),
            ("<a>&nbsp;</a>", "1:4 the entity \"nbsp\" is not known"),
            ("<a>&#0;</a>", "1:4 a reference to no character of XML"),
            ("<a>&#xD800;</a>", "1:4 a reference to no character of XML"),
            ("<a>\u{1}</a>", "1:4 this character is not allowed in XML"),
            ("<a>]]></a>", "1:4 \"]]>\" in a text"),
            ("<1/>", "1:1 no element has such a name"),
            (
                " <?xml version='1.0'?><a/>",
                "1:2 the XML declaration is not at the beginning",
            ),
            (
                "<?xml version='1.0' standalone='maybe'?><a/>",
                "1:1 standalone is \"yes\" or \"no\"",
            ),
            (
                "<a/><!DOCTYPE a>",
                "1:5 a document type stands before the root, once",
            ),
            (
                "<a><?XML p?></a>",
                "1:4 a processing instruction needs a name",
            ),
        ] {
            assert_eq!(fault(text), said, "{text}");
        }
        for broken in [
            "<a>&amp</a>",
            "<a><!-- a -- b --></a>",
            "<a",
            "<a><![CDATA[</a>",
            "</a>",
            "<a>&</a>",
            "< a/>",
            "<a b='1/>",
        ] {
            assert!(check(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn what_is_hostile_takes_no_time() {
        let deep = 1 << 20;
        check(&("<a>".repeat(deep) + &"</a>".repeat(deep))).unwrap();
        let many: Vec<_> = (0..200_000).map(|n| format!(" a{n}=''")).collect();
        let many = many.concat();
        check(&format!("<a{many}/>")).unwrap();
        assert!(check(&"<a ".repeat(deep)).is_err());
        assert!(check(&("<a>".to_owned() + &"&".repeat(deep))).is_err());
        assert!(check(&format!("<a b='{}'/>", "&".repeat(deep))).is_err());
    }
}
