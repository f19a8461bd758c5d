//! Numbers as they stand in participants' files.

use std::borrow::Cow;

/// Why a text is not a number that can be used.
#[derive(Debug, PartialEq)]
pub(crate) enum NoNumber {
    Text,
    TooLarge,
}

/// The number that a text says. An amount such as `$60,000.50` may have its sign and its
/// commas; elsewhere a comma might as well be a decimal one. Amounts below 0 are `-$5.00`, `$-5.00` or, as
/// in accounts, `($5.00)`.
pub(crate) fn number(text: &str) -> Result<f32, NoNumber> {
    let below_zero = text
        .strip_prefix('-')
        .or_else(|| text.strip_prefix('(')?.strip_suffix(')'))
        .filter(|amount| amount.starts_with('$'));
    match below_zero {
        // There is one sign at most.
        Some(amount) if amount.contains(['-', '+']) => Err(NoNumber::Text),
        Some(amount) => signed(amount).map(|value| -value),
        None => signed(text),
    }
}

/// The number that a text says with its sign, if it has one, next to its digits.
fn signed(text: &str) -> Result<f32, NoNumber> {
    let plain = match text.strip_prefix('$') {
        Some(amount) => without_thousands(amount.trim_start()),
        None => text.into(),
    };
    // `inf` and `NaN` would be numbers to the standard library.
    if plain.contains(|c: char| c.is_ascii_alphabetic() && !c.eq_ignore_ascii_case(&'e')) {
        return Err(NoNumber::Text);
    }
    match plain.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(NoNumber::TooLarge),
        Err(_) => Err(NoNumber::Text),
    }
}

/// Takes away commas between groups of three; with any others the text is left alone and
/// is not a number.
fn without_thousands(amount: &str) -> Cow<'_, str> {
    let whole = amount.split_once('.').map_or(amount, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().is_some_and(|group| group.len() <= 3 && digits(group));
    if whole.contains(',')
        && first
        && !whole.starts_with(',')
        && groups.all(|group| group.len() == 3 && digits(group))
    {
        Cow::Owned(whole.replace(',', "") + &amount[whole.len()..])
    } else {
        Cow::Borrowed(amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_only_looks_like_them() {
        let good = [
            ("1", 1.0),
            ("-2.5", -2.5),
            ("+3", 3.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-2", 0.01),
            ("$7", 7.0),
            ("$ 7.25", 7.25),
            ("$-7", -7.0),
            ("-$5.00", -5.0),
            ("($5.00)", -5.0),
            ("($60,000)", -60_000.0),
            ("-$ 7", -7.0),
            ("$60,000.00", 60_000.0),
            ("$1,234,567", 1_234_567.0),
            ("1e-99", 0.0),
        ];
        for (text, value) in good {
            assert_eq!(number(text), Ok(value), "{text}");
        }
        let bad = [
            "",
            "$",
            "%",
            "5%",
            "NaN",
            "nan",
            "inf",
            "-inf",
            "Infinity",
            "$inf",
            "1,5",
            "60,000",
            "$1,5",
            "$1,0000",
            "$1000,000",
            "$,100",
            "$1,000.0,0",
            "1 000",
            "1_000",
            "e",
            "0x1f",
            "--1",
            "five",
            "$$5",
            "-$-5",
            "-$",
            "($-5)",
            "($5",
            "(5)",
            "-($5)",
            "()",
        ];
        for text in bad {
            assert_eq!(number(text), Err(NoNumber::Text), "{text}");
        }
        assert_eq!(number("1e39"), Err(NoNumber::TooLarge));
        assert_eq!(number("-1e400"), Err(NoNumber::TooLarge));
    }
}
