//! Numbers as people read them.

/// A benefit or a sum of benefits: three decimals, no needless zeros.
pub fn number(value: f64) -> String {
    if value != 0.0 && !(0.0005..1e15).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// "1 edge", "2 edges".
pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 4.281, 10.0, 1234.5678, 0.00012, 0.0005, 1e22].map(number);
        assert_eq!(shown, ["0", "0.25", "4.281", "10", "1234.568", "1.2e-4", "0.001", "1.0e22"]);
    }
}
