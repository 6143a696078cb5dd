//! What answers of S3 say: texts of elements by their names. Answers are small, flat, and of a few kinds.

/// The texts of all elements with this name, in order, without what is nested in them being looked at.
pub(super) fn texts<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find(&begin) {
        let text = &rest[at + begin.len()..];
        let Some(length) = text.find(&end) else { break };
        found.push(&text[..length]);
        rest = &text[length + end.len()..];
    }
    found
}

/// The text of the first element with this name, with entities resolved.
pub(super) fn text(xml: &str, name: &str) -> Option<String> {
    texts(xml, name).first().map(|text| unescape(text))
}

/// Resolves entities; what is none stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.find(';').filter(|length| *length <= 10).map(|length| &rest[1..length]);
        match entity.and_then(|entity| resolve(entity).map(|resolved| (resolved, entity.len() + 2))) {
            Some((resolved, length)) => {
                out.push(resolved);
                rest = &rest[length..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn resolve(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = number.strip_prefix('x').map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
            code.and_then(char::from_u32)
        }
    }
}

/// What may stand in an element.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_name_and_entities_resolved() {
        let xml = "<R><Key>a&amp;b</Key><KeyCount>2</KeyCount><Key>&quot;c&#x2F;&#47;</Key><Key>open";
        assert_eq!(texts(xml, "Key").into_iter().map(unescape).collect::<Vec<_>>(), ["a&b", "\"c//"]);
        assert_eq!((text(xml, "KeyCount").as_deref(), text(xml, "None")), (Some("2"), None));
        for same in ["", "&", "&;", "&none;", "&#xD800;", "a & b; c", "&ampersand-is-long;"] {
            assert_eq!(unescape(same), same);
        }
        assert_eq!(unescape(&escape("<\"&amp;>")), "<\"&amp;>");
    }
}
