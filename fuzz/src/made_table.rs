//! Tables of packs that a script makes up. The checksums of their pages are right.

use super::made_store::MadeStore;
use super::script::Script;
use std::fs;

const BODY: usize = 4092;
const PAGE: usize = 4096;
/// The fields of a table before its fan-out.
const HEAD: usize = 80;
const FAN_OUT: usize = 256 * 4;

impl MadeStore {
    /// Changes the tables of packs that there are.
    pub(crate) fn remake_tables(&self, script: &mut Script<'_>) {
        for path in self.files(&["packs", "cache"]) {
            if path.extension().is_some_and(|extension| extension == "idx") {
                let whole = fs::read(&path).expect("a file");
                let body: Vec<u8> =
                    whole.chunks(PAGE).flat_map(|page| &page[..page.len().min(BODY)]).copied().collect();
                fs::write(path, to_pages(&remade(body, script))).expect("a file");
            }
        }
    }
}

fn remade(mut body: Vec<u8>, script: &mut Script<'_>) -> Vec<u8> {
    if body.len() < HEAD + FAN_OUT {
        return body;
    }
    match script.byte() % 4 {
        0 => script.edit(&mut body[8..HEAD]),
        1 => script.edit(&mut body[HEAD + FAN_OUT..]),
        2 => script.edit(&mut body),
        _ => {
            for count in body[48..HEAD].chunks_exact_mut(4) {
                count.copy_from_slice(&(u32::from(script.byte() % 8)).to_le_bytes());
            }
            let entries = body[48];
            body[HEAD..HEAD + FAN_OUT].chunks_exact_mut(4).for_each(|end| end.copy_from_slice(&[entries, 0, 0, 0]));
            let length = script.short() % (2 * BODY);
            body.truncate(HEAD + FAN_OUT + script.short() % 512);
            body.extend(script.take(length));
        }
    }
    body
}

fn to_pages(body: &[u8]) -> Vec<u8> {
    let mut pages = Vec::new();
    for body in body.chunks(BODY) {
        let mut page = body.to_vec();
        page.resize(BODY, 0);
        page.extend(crc32c::crc32c(&page).to_le_bytes());
        pages.extend(page);
    }
    pages
}
