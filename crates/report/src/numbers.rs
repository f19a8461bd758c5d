//! Numbers as people read them.

/// A benefit or a sum of benefits: three decimals, no needless zeros.
pub fn number(value: f64) -> String {
    if value != 0.0 && !(0.0005..1e15).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number with four digits that count: for values far below 1.
pub fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e4).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let enough = |&decimals: &i32| value.abs() * 10_f64.powi(decimals) >= 1000.0;
    let decimals = (0..8).find(enough).unwrap_or(8).unsigned_abs() as usize;
    format!("{value:.decimals$}")
}

/// "1 edge", "2 edges".
pub fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        let shown = [0.0, 0.25, 0.01235, -4.281_67, 1234.56, 1.23e-5, 1e5].map(figure);
        assert_eq!(shown, ["0", "0.2500", "0.01235", "-4.282", "1235", "1.230e-5", "1.000e5"]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 4.281, 10.0, 1234.5678, 0.00012, 0.0005, 1e22].map(number);
        assert_eq!(shown, ["0", "0.25", "4.281", "10", "1234.568", "1.2e-4", "0.001", "1.0e22"]);
    }
}
