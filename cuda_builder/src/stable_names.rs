//! Names of a whole program that do not depend on where it was built.
//!
//! A whole program has functions and constants of many crates, whose names hold hashes: each
//! crate's disambiguator (Rust's v0 mangling, "Identifier") and the hash of rustc's anonymous
//! constants. Of crates at a path both depend on that path. Here a number replaces each hash: the
//! first one of a crate's name becomes 0, another one of the same name 1, and so on. The names stay
//! valid and distinct.

use std::collections::HashMap;
use std::fmt::Write as _;

/// What rustc's names of anonymous constants begin with, as PTX writes them; 32 hexadecimal digits
/// and another [`AFTER_ANONYMOUS`] follow.
const ANONYMOUS: &str = "anon_$_";

/// What follows the hash.
const AFTER_ANONYMOUS: &str = "_$_";

/// `text` with stable names.
pub(crate) fn stable_names(text: &str) -> String {
    let mut stable = String::with_capacity(text.len());
    let mut crates: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut anonymous: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['C', 'a']) {
        stable.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((hash, length)) = anonymous_hash(rest) {
            let number = number_of(&mut anonymous, hash);
            _ = write!(stable, "{ANONYMOUS}{number}{AFTER_ANONYMOUS}");
            rest = &rest[length..];
        } else if let Some((hash, name, length)) = crate_root(rest) {
            // Without a disambiguator it is 0, `s_` is 1, `s0_` is 2 in the mangling.
            match number_of(crates.entry(name).or_default(), hash) {
                0 => stable.push('C'),
                1 => stable.push_str("Cs_"),
                number => _ = write!(stable, "Cs{}_", base_62(number - 2)),
            }
            rest = &rest[length..];
        } else {
            stable.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    stable.push_str(rest);
    stable
}

/// The place of a hash among those of its kind, which it joins.
fn number_of<'t>(hashes: &mut Vec<&'t str>, hash: &'t str) -> usize {
    let place = hashes.iter().position(|other| *other == hash);
    place.unwrap_or_else(|| {
        hashes.push(hash);
        hashes.len() - 1
    })
}

/// The hash at the start of an anonymous constant's name, and how long both are with what follows.
fn anonymous_hash(text: &str) -> Option<(&str, usize)> {
    const DIGITS: usize = 32;
    let after = text.strip_prefix(ANONYMOUS)?;
    let hash = after.get(..DIGITS)?;
    let is_hash = hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    let length = ANONYMOUS.len() + DIGITS + AFTER_ANONYMOUS.len();
    (is_hash && after[DIGITS..].starts_with(AFTER_ANONYMOUS)).then_some((hash, length))
}

/// Of `Cs<hash>_<length><name>`: hash, name, and how long what stands before the name's length is.
fn crate_root(text: &str) -> Option<(&str, &str, usize)> {
    /// Shorter ones are numbers already.
    const SHORTEST_HASH: usize = 8;
    let after = text.strip_prefix("Cs")?;
    let end = after.find(|digit: char| !digit.is_ascii_alphanumeric())?;
    let (hash, after) = (&after[..end], after[end..].strip_prefix('_')?);
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = after[..digits].parse().ok()?;
    let name = after[digits..].trim_start_matches('_').get(..length)?;
    (hash.len() >= SHORTEST_HASH).then_some((hash, name, "Cs_".len() + hash.len()))
}

/// A number in the digits of the mangling.
fn base_62(number: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let last = char::from(DIGITS[number % DIGITS.len()]);
    match number / DIGITS.len() {
        0 => last.to_string(),
        more => format!("{}{last}", base_62(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_become_numbers_in_the_order_of_their_crates() {
        let text = "call _RNvNtCs5quc2LLvQel_4core3fmt, _RNvCs8EADTTP4nFh_4mine3foo; \
                    _RNvNtCsbmzBHgAJmPC_4core3num _RNvNtCs5quc2LLvQel_4core3fmt \
                    anon_$_a0919d5faba64e0fa3472907b1e697ac_$_0 Case CsA";
        let stable = "call _RNvNtC4core3fmt, _RNvC4mine3foo; _RNvNtCs_4core3num _RNvNtC4core3fmt \
                      anon_$_0_$_0 Case CsA";
        assert_eq!(stable_names(text), stable);
        // What is stable stays so.
        assert_eq!(stable_names(stable), stable);
    }

    #[test]
    fn where_a_crate_lies_does_not_show() {
        let text = |hash: &str| format!("_RNvCs{hash}_4mine3foo _RNvCs{hash}_4mine3bar");
        let [one, other] = ["a9lryaEKSCM", "8EADTTP4nFh"].map(|hash| stable_names(&text(hash)));
        assert_eq!(one, other);
    }
}
