//! Expanding `$Id$` as Git does on checkout: see gitattributes(5), `ident`.
//!
//! gix expands it without the space before the closing dollar, and leaves keywords alone that are expanded already; files
//! of the trusted repository would then differ from those of a Workspace.

use isobox_domain::git_oid::GitOid;

/// Whether `blob` could hold the keyword at all.
pub(super) fn may_hold_keyword(blob: &[u8]) -> bool {
    blob.windows(3).any(|window| window == b"$Id")
}

/// `blob` with every `$Id$` and `$Id: …$` as `$Id: <oid> $`, `oid` being its own.
///
/// What another version control system expanded (several words), and what does not end on its line, stays.
pub(super) fn expand(blob: &[u8], oid: &GitOid) -> Vec<u8> {
    let expansion = format!("Id: {oid} $").into_bytes();
    let mut expanded = Vec::with_capacity(blob.len() + expansion.len());
    let mut rest = blob;
    while let Some(dollar) = rest.iter().position(|&byte| byte == b'$') {
        expanded.extend(&rest[..=dollar]);
        rest = &rest[dollar + 1..];
        if let Some(length) = keyword_length(rest) {
            expanded.extend(&expansion);
            rest = &rest[length..];
        }
    }
    expanded.extend(rest);
    expanded
}

/// The length of `Id$` or `Id: …$` at the start of `text`, if one is there that is to be replaced.
fn keyword_length(text: &[u8]) -> Option<usize> {
    let after_id = text.strip_prefix(b"Id")?;
    if after_id.starts_with(b"$") {
        return Some(3);
    }
    let value = after_id.strip_prefix(b":")?;
    let end = value.iter().position(|&byte| byte == b'$')?;
    let value = &value[..end];
    // The first byte is the space that every expansion begins with; Git's own ends with another, and has no more.
    let words = value.get(1..).unwrap_or_default();
    let is_foreign = words.iter().position(|&byte| byte == b' ').is_some_and(|space| space + 1 < words.len());
    (!value.contains(&b'\n') && !is_foreign).then_some(b"Id:".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_expanded_as_git_expands_them() {
        let oid = GitOid::Sha1([0xab; 20]);
        let id = format!("$Id: {oid} $");
        for (blob, expected) in [
            ("a $Id$ b $Id$\n", format!("a {id} b {id}\n")),
            ("$Id: 0123 $", id.clone()),
            ("$Id:0123$", id.clone()),
            ("$Id:$", id.clone()),
            ("$Id: file.c,v 1.2 2001/02/03 ana Exp $", "$Id: file.c,v 1.2 2001/02/03 ana Exp $".into()),
            ("$Id: no end\n$Id$", format!("$Id: no end\n{id}")),
            ("$Idea$ $id$ $$Id$", format!("$Idea$ $id$ ${id}")),
            ("$Id: cut off", "$Id: cut off".into()),
        ] {
            assert_eq!(String::from_utf8_lossy(&expand(blob.as_bytes(), &oid)), expected, "{blob}");
        }
    }
}
