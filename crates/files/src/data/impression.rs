//! What a column seems to hold: identifiers, dates, numbers with a long tail, or something to learn from.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{number::number, plain};

/// With fewer values than this only names and dates give an impression.
const ENOUGH: usize = 20;

/// With fewer values than this not even a name does.
const FEW: usize = 5;

/// The skewness above which a distribution has a long tail; that of the exponential distribution is 2.
const LONG_TAIL: f64 = 2.0;

/// The same where all numbers are positive, as amounts are that nobody is without.
const POSITIVE_TAIL: f64 = 1.0;

/// The excess kurtosis above which a distribution around 0 has long tails; that of the exponential distribution
/// is 6, that of the normal distribution 0.
const HEAVY_TAILS: f64 = 6.0;

/// Different numbers below which ranks are hardly other numbers.
const FEW_RANKS: usize = 20;

/// Rows with the same identifier, on average, up to which these are patients, customers or the like.
const MOST_ROWS: usize = 10;

/// Different identifiers below which they are rather categories.
const FEW_GROUPS: usize = 5;

/// Whole numbers that are seconds since 1970 of the years 1990 to 2039.
const UNIX_SECONDS: std::ops::Range<i128> = 631_152_000..2_208_988_800;

/// What a column seems to hold, by its name and its values. It is a guess for people to confirm: it never
/// decides how data is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impression {
    /// Nothing special.
    Ordinary,
    /// Names or numbers of rows: texts or whole numbers, at most one in twenty of which repeats, with at
    /// least 20 values. Whole numbers must also be called so (`patient_id`, `LoanNr`, `key`), or grow from
    /// row to row. With a name of that kind five values are enough, and of 20 or more a quarter may repeat.
    Identifier,
    /// Names or numbers of what several rows belong to, such as patients: at least 20 texts or whole numbers in
    /// a column called so (`patient_id`, `pid`, `MRN`), of which at least five differ, each in ten rows at most
    /// on average.
    Group,
    /// Dates, with or without a time: nine of ten values look like `2024-01-31`, `31.01.2024`,
    /// `01/31/2024`, `31-Jan-24` or, with at least 20 values, `20240131` or seconds or milliseconds since 1970
    /// (`1658900760`).
    Date,
    /// Numbers of one sign or 0, at least 20 of them, with a skewness above 2 (above 1 where none is 0), of
    /// which logarithms take away at least half: amounts of money, most of them small, a few very large.
    LongTail,
    /// Numbers with a long tail that logarithms do not take away, at least 20 of which differ: of both signs, with a
    /// skewness above 2 or an excess kurtosis above 6, such as profits and losses; or of one sign, with a skewness above
    /// 2, such as shares far below 1. Ranks take it away.
    HeavyTail,
}

/// Sees the values of a column, one by one.
#[derive(Default)]
pub(super) struct Judge {
    values: usize,
    /// Hashes of the different values, as long as they may all be different.
    different: Option<HashSet<u64>>,
    dates: usize,
    stamps: usize,
    whole: Option<Whole>,
    numbers: usize,
    least: f64,
    largest: f64,
    plain: Moments,
    logs: Moments,
}

/// Whole numbers.
#[derive(Default)]
struct Whole {
    last: Option<i128>,
    falls: bool,
}

impl Judge {
    pub fn new() -> Self {
        Self {
            different: Some(HashSet::new()),
            whole: Some(Whole::default()),
            least: f64::INFINITY,
            largest: f64::NEG_INFINITY,
            ..Self::default()
        }
    }

    /// Takes the next value, which does not look missing.
    pub fn take(&mut self, text: &str) {
        self.values += 1;
        let text = plain(text);
        if let Some(different) = &mut self.different {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            different.insert(hasher.finish());
            // So many repeat that it will hardly change, and the set would grow for nothing.
            if self.values > 1000 && 2 * MOST_ROWS * different.len() < self.values {
                self.different = None;
            }
        }
        self.dates += usize::from(is_date(text));
        self.stamps += usize::from(is_stamp(text));
        if let Some(whole) = &mut self.whole
            && !whole.take(text)
        {
            self.whole = None;
        }
        if let Ok(value) = number(text) {
            let value = f64::from(value);
            self.numbers += 1;
            self.least = self.least.min(value);
            self.largest = self.largest.max(value);
            self.plain.take(value);
            self.logs.take(value.abs().ln_1p().copysign(value));
        }
    }

    /// What the column of this name seems to hold.
    pub fn finish(self, name: &str) -> Option<Impression> {
        let texts = self.values - self.numbers;
        let enough = self.values >= ENOUGH;
        if self.dates > 0 && 10 * self.dates >= 9 * self.values && (enough || texts > 0) {
            return Some(Impression::Date);
        }
        let different = self.different.as_ref().map_or(0, HashSet::len);
        let called = names_rows(name);
        if enough && !called && 10 * self.stamps >= 9 * self.values {
            return Some(Impression::Date);
        }
        let unlike = 20 * different >= 19 * self.values
            || called && enough && 4 * different >= 3 * self.values;
        if self.values >= FEW && unlike {
            let is_text = 2 * texts > self.values;
            let identifies = match &self.whole {
                Some(whole) => called || enough && !whole.falls,
                None => is_text && (called || enough),
            };
            if identifies {
                return Some(Impression::Identifier);
            }
        }
        if !enough {
            return None;
        }
        let is_name = self.whole.is_some() || 2 * texts > self.values;
        let are_few_each = different >= FEW_GROUPS && MOST_ROWS * different >= self.values;
        if is_name && are_few_each && names_groups(name) {
            return Some(Impression::Group);
        }
        let are_numbers = 10 * texts <= self.values;
        Some(if are_numbers { self.tail(different) } else { Impression::Ordinary })
    }

    /// Which tail numbers have, of which so many differ.
    fn tail(&self, different: usize) -> Impression {
        let skew = self.plain.skewness();
        let can_rank = different >= FEW_RANKS;
        if self.least < 0.0 && self.largest > 0.0 {
            let is_heavy = skew.abs() > LONG_TAIL || self.plain.excess_kurtosis() > HEAVY_TAILS;
            return if is_heavy && can_rank { Impression::HeavyTail } else { Impression::Ordinary };
        }
        // The tail of amounts points away from 0.
        let skew = if self.least < 0.0 { -skew } else { skew };
        let is_never_0 = self.least > 0.0 || self.largest < 0.0;
        let tail = if is_never_0 { POSITIVE_TAIL } else { LONG_TAIL };
        if skew > tail && 2.0 * self.logs.skewness().abs() < skew {
            Impression::LongTail
        } else if skew > LONG_TAIL && can_rank {
            Impression::HeavyTail
        } else {
            Impression::Ordinary
        }
    }
}

impl Whole {
    /// Takes a value; says whether it is a whole number.
    fn take(&mut self, text: &str) -> bool {
        let Ok(value) = text.parse::<i128>() else {
            return false;
        };
        self.falls |= self.last.is_some_and(|last| value <= last);
        self.last = Some(value);
        true
    }
}

/// Sums of powers of the distances from the mean, updated value by value.
#[derive(Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
    cubes: f64,
    fourths: f64,
}

impl Moments {
    fn take(&mut self, value: f64) {
        let before = self.count;
        self.count += 1.0;
        let (delta, n) = (value - self.mean, self.count);
        let share = delta / n;
        let square = delta * share * before;
        self.mean += share;
        self.fourths += square * share * share * (n * n - 3.0 * n + 3.0)
            + 6.0 * share * share * self.squares
            - 4.0 * share * self.cubes;
        self.cubes += square * share * (n - 2.0) - 3.0 * share * self.squares;
        self.squares += square;
    }

    fn are_equal(&self) -> bool {
        self.squares <= 1e-12 * self.count * self.mean * self.mean
    }

    /// 0 for equal values.
    fn skewness(&self) -> f64 {
        if self.are_equal() {
            return 0.0;
        }
        self.count.sqrt() * self.cubes / self.squares.powf(1.5)
    }

    /// 0 for equal values, and about 0 for those of a normal distribution.
    fn excess_kurtosis(&self) -> f64 {
        if self.are_equal() {
            return 0.0;
        }
        self.count * self.fourths / (self.squares * self.squares) - 3.0
    }
}

/// Words in the name of a column that numbers or names rows.
const NAMING: [&str; 22] = [
    "id",
    "ids",
    "identifier",
    "nr",
    "no",
    "num",
    "number",
    "key",
    "uuid",
    "guid",
    "mrn",
    "name",
    "surname",
    "index",
    "idx",
    "serial",
    "phone",
    "email",
    "ssn",
    "iban",
    "account",
    "url",
];

/// Words that end like one of these and are something else.
const NOT_NAMING: [&str; 5] = ["paid", "acid", "fluid", "lipid", "steroid"];

/// Words in the name of a column that numbers or names what several rows may belong to.
const NAMING_GROUPS: [&str; 7] = ["id", "ids", "identifier", "uuid", "guid", "mrn", "ssn"];

/// Does the name of a column say that it identifies rows?
fn names_rows(name: &str) -> bool {
    words(name).iter().any(|word| {
        NAMING.contains(&&word[..])
            || ["id", "name"].iter().any(|end| word.ends_with(end))
                && !NOT_NAMING.contains(&&word[..])
    })
}

/// Does the name of a column say that it identifies patients or the like? The number of a row may be
/// `number` or `index`, but so may be much else where values repeat.
fn names_groups(name: &str) -> bool {
    words(name).iter().any(|word| {
        NAMING_GROUPS.contains(&&word[..])
            || word.ends_with("id") && !NOT_NAMING.contains(&&word[..])
    })
}

/// The words in the name of a column, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        // `LoanNr` has two words.
        if !letter.is_alphanumeric() || was_small && letter.is_uppercase() {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    words
}

/// Does a text look like the seconds or milliseconds since 1970?
fn is_stamp(text: &str) -> bool {
    let number = text.parse::<i128>();
    number.is_ok_and(|it| UNIX_SECONDS.contains(&it) || UNIX_SECONDS.contains(&(it / 1000)))
}

/// The English names of months, as far as dates abbreviate them.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Does a text look like a date, perhaps with a time?
fn is_date(text: &str) -> bool {
    let date = text
        .split_once(['T', ' '])
        .map_or(text, |(date, time)| if time.contains(':') { date } else { text });
    if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) {
        let part = |from, to| date.get(from..to).unwrap_or_default();
        return is_of_calendar([part(0, 4), part(4, 6), part(6, 8)]);
    }
    ['-', '/', '.'].into_iter().any(|separator| {
        let mut parts = date.split(separator);
        let (Some(a), Some(b), Some(c), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        [[a, b, c], [c, b, a], [c, a, b]].into_iter().any(is_of_calendar)
    })
}

/// Are these a year, a month and a day?
fn is_of_calendar([year, month, day]: [&str; 3]) -> bool {
    let digits = |text: &str, most| {
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| fits)
    };
    let year = digits(year, 4);
    let named = || {
        let start = month.get(..3).unwrap_or_default().to_ascii_lowercase();
        MONTHS.contains(&&start[..])
    };
    let year_fits = year.is_some_and(|year| year < 100 || (1800..2200).contains(&year));
    let month_fits = digits(month, 2).map_or_else(named, |month| (1..=12).contains(&month));
    year_fits && month_fits && digits(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(name: &str, values: impl IntoIterator<Item = String>) -> Option<Impression> {
        let mut judge = Judge::new();
        values.into_iter().for_each(|value| judge.take(&value));
        judge.finish(name)
    }

    #[test]
    fn dates_are_seen() {
        for text in [
            "2024-01-31",
            "31.1.2024",
            "1/31/2024",
            "31-Jan-24",
            "28-February-1997",
            "20240131",
            "2024-01-31T10:11:12Z",
            "2024-01-31 10:11",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "2024",
            "1.5",
            "1.2.3.4",
            "12345678",
            "2024-13-31",
            "31-Feb",
            "a-b-c",
            "1-2",
            "-1-2-3",
            "٣-١-٢",
        ] {
            assert!(!is_date(text), "{text}");
        }
        assert_eq!(judge("when", ["3-May-99".into()]), Some(Impression::Date));
        assert_eq!(judge("when", ["20240131".into()]), None, "one number says little");
        let numbers = (0..20).map(|day| format!("202401{:02}", day % 9 + 1));
        assert_eq!(judge("when", numbers), Some(Impression::Date));
    }

    #[test]
    fn identifiers_are_seen() {
        let scattered = |rows: usize| (0..rows).map(|row| (row * 7919 % 10_007).to_string());
        assert_eq!(judge("age", scattered(40)), Some(Impression::Ordinary));
        for name in ["patient_id", "LoanNr_ChkDgt", "PatientID", "stayid", "Name", "file no"] {
            assert_eq!(judge(name, scattered(40)), Some(Impression::Identifier), "{name}");
            assert_eq!(judge(name, scattered(5)), Some(Impression::Identifier), "{name}");
            assert_eq!(judge(name, scattered(4)), None, "{name}");
        }
        for name in ["uric acid", "paid", "nose", "idle", "know"] {
            assert_eq!(judge(name, scattered(40)), Some(Impression::Ordinary), "{name}");
        }
        let stays = (0..40).map(|row| (row * 5 / 6 * 31 % 1009).to_string());
        assert_eq!(judge("stayid", stays), Some(Impression::Identifier), "some come twice");
        // Ten-digit numbers that single precision could not tell apart.
        let long = (0..40).map(|row| (1_000_000_000 + row * 7 % 41).to_string());
        assert_eq!(judge("patient_id", long), Some(Impression::Identifier));
        let beyond = (0..40).map(|row| format!("{row}{}", "9".repeat(60)));
        assert_eq!(judge("patient_id", beyond), Some(Impression::Identifier));
        assert_eq!(judge("x", (7..40).map(|row| row.to_string())), Some(Impression::Identifier));
        let ages = (0..40).map(|row| (20 + row * 7 % 40).to_string());
        assert_eq!(judge("age", ages), Some(Impression::Ordinary), "all different by chance");
        assert_eq!(judge("x", (0..40).map(|row| format!("A{row}"))), Some(Impression::Identifier));
        assert_eq!(judge("x", (0..40).map(|row| format!("{row}.5"))), Some(Impression::Ordinary));
        assert_eq!(
            judge("id", (0..40).map(|row| (row % 2).to_string())),
            Some(Impression::Ordinary)
        );
        let many = (0..3000).map(|row| (row % 7).to_string());
        assert_eq!(judge("id", many), Some(Impression::Ordinary));
    }

    #[test]
    fn identifiers_that_repeat_are_seen() {
        let rows_each = |rows: usize, each: usize| {
            (0..rows).map(move |row| (9000 + row / each * 31 % 1009).to_string())
        };
        for name in ["patient_id", "pid", "PatientID", "MRN", "stayid"] {
            assert_eq!(judge(name, rows_each(60, 3)), Some(Impression::Group), "{name}");
        }
        let long = rows_each(4000, 4);
        assert_eq!(judge("pid", long), Some(Impression::Group), "many patients");
        let texts = (0..60).map(|row| format!("P{}", row / 4));
        assert_eq!(judge("subject id", texts), Some(Impression::Group));
        for name in ["age", "number_of_rooms", "index", "account", "paid", "fluid"] {
            assert_eq!(judge(name, rows_each(60, 3)), Some(Impression::Ordinary), "{name}");
        }
        let wards = (0..60).map(|row| (row % 4).to_string());
        assert_eq!(judge("ward_id", wards), Some(Impression::Ordinary), "too few differ");
        let wards = (0..600).map(|row| (row % 20).to_string());
        assert_eq!(judge("ward_id", wards), Some(Impression::Ordinary), "too many rows each");
        let doses = (0..60).map(|row| format!("{}.5", row / 3));
        assert_eq!(judge("id", doses), Some(Impression::Ordinary), "not whole");
    }

    #[test]
    fn unix_timestamps_are_dates() {
        let stamps = |factor: i64| {
            (0..40).map(move |row| ((1_658_900_760 + row * 7919 % 999_983) * factor).to_string())
        };
        for factor in [1, 1000] {
            assert_eq!(judge("admit_ts", stamps(factor)), Some(Impression::Date));
        }
        assert_eq!(judge("patient_id", stamps(1)), Some(Impression::Identifier), "its name counts");
        assert_eq!(judge("admit_ts", stamps(1).take(19)), None, "too few");
        let amounts = (0..40).map(|row| (1_658_900 + row * 791_900 % 999_983).to_string());
        assert_eq!(judge("amount", amounts), Some(Impression::Ordinary));
    }

    #[test]
    fn long_tails_are_seen() {
        // Of a skewness between 1 and 2.
        let price = |row: i32| (f64::from(row * 37 % 101) / 101.0 * 4.0).exp();
        let prices = || (0..200).map(price);
        let texts = |numbers: &mut dyn Iterator<Item = f64>| -> Vec<String> {
            numbers.map(|number| number.to_string()).collect()
        };
        let mut moments = Moments::default();
        prices().for_each(|price| moments.take(price));
        assert!((1.0..2.0).contains(&moments.skewness()), "{}", moments.skewness());
        assert_eq!(judge("price", texts(&mut prices())), Some(Impression::LongTail));
        let with_nothing = texts(&mut prices().chain([0.0]));
        assert_eq!(judge("price", with_nothing), Some(Impression::Ordinary));
        let amount = |row: i32| (f64::from(row % 50) / 5.0).exp();
        let amounts = (0..200).map(|row| amount(row).to_string());
        assert_eq!(judge("amount", amounts), Some(Impression::LongTail));
        let debts = (0..200).map(|row| (-amount(row)).to_string());
        assert_eq!(judge("debts", debts), Some(Impression::LongTail), "logarithms keep the sign");
        let rare = (0..200).map(|row| i32::from(row % 50 == 0).to_string());
        assert_eq!(judge("rare", rare), Some(Impression::Ordinary), "logarithms change nothing");
        assert_eq!(judge("same", vec!["7".to_owned(); 50]), Some(Impression::Ordinary));
        let huge = (0..50).map(|row| if row == 9 { "3e38" } else { "1e38" }.to_owned());
        assert_eq!(judge("huge", huge), Some(Impression::Ordinary));
        assert_eq!(judge("nothing", []), None);
    }

    /// The quantiles of distributions: long tails on both sides of 0, and amounts so small that ln(1 + x) is x.
    #[test]
    fn tails_that_logarithms_do_not_take_away_are_seen() {
        let quantiles = || (0..200).map(|row| f64::from(row * 37 % 200) / 200.0 + 0.0025);
        let texts = |of: &dyn Fn(f64) -> f64| -> Vec<String> {
            quantiles().map(|quantile| of(quantile).to_string()).collect()
        };
        let profit = |at: f64| {
            let far = (-2.0 * (2.0 * at.min(1.0 - at)).ln()).exp() - 1.0;
            if at < 0.5 { -far } else { far }
        };
        assert_eq!(judge("profit", texts(&profit)), Some(Impression::HeavyTail));
        let with_zeros = |at: f64| if at > 0.8 { profit(at) } else { 0.0 };
        assert_eq!(judge("gain", texts(&with_zeros)), Some(Impression::LongTail), "of one sign");
        let share = |at: f64| 1e-4 * profit(0.5 + 0.5 * at);
        assert_eq!(judge("share", texts(&share)), Some(Impression::HeavyTail));
        assert_eq!(judge("loss", texts(&|at| -share(at))), Some(Impression::HeavyTail));
        // Near a normal distribution, and one whose tail points to 0.
        let change = |at: f64| (at / (1.0 - at)).ln();
        assert_eq!(judge("change", texts(&change)), Some(Impression::Ordinary));
        let saturation = |at: f64| 100.0 / (1.0 + 0.01 / at);
        assert_eq!(judge("saturation", texts(&saturation)), Some(Impression::Ordinary));
        // Ranks of three numbers are three numbers.
        let rare = |at: f64| {
            if at > 0.98 {
                5.0
            } else if at < 0.01 {
                -5.0
            } else {
                0.0
            }
        };
        assert_eq!(judge("rare", texts(&rare)), Some(Impression::Ordinary));
    }

    #[test]
    fn skewness_is_that_of_the_definition() {
        let values: Vec<f64> = (0..100).map(|row| f64::from(row * row % 37)).collect();
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.take(value));
        let mean = values.iter().sum::<f64>() / 100.0;
        let of = |power| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / 100.0;
        assert!((moments.skewness() - of(3) / of(2).powf(1.5)).abs() < 1e-9);
        assert!((moments.excess_kurtosis() - of(4) / of(2).powi(2) + 3.0).abs() < 1e-9);
    }
}
