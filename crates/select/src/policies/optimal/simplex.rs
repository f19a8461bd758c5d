//! The largest packing of columns: maximise Σ c f subject to A f ≤ w, f ≥ 0, where columns
//! are added on the way. Most columns of A are sets of rows and bring 1; others have weights
//! and bring what they bring.
//!
//! Revised primal simplex with an explicit inverse. Every state on the way is a packing
//! that can be carried out, so its value is a bound that holds whenever one stops; that,
//! and adding columns to a solved problem, is what it is written by hand for
//! (`docs/decisions/0005-own-simplex.md`).

/// A packing in progress.
pub struct Packing {
    /// How much each row can take.
    capacity: Vec<f64>,
    columns: Vec<Column>,
    /// What is basic in each row.
    basis: Vec<Basic>,
    /// How much of it there is.
    level: Vec<f64>,
    /// The inverse of the basis, column after column.
    inverse: Vec<f64>,
    /// What one more unit of each row's capacity would be worth.
    price: Vec<f64>,
    /// The change of every level for one unit of the entering column.
    direction: Vec<f64>,
}

struct Column {
    rows: Vec<u32>,
    /// The weight of each row; all 1 where there are none.
    weights: Vec<f64>,
    /// What a unit of it brings.
    gain: f64,
    basic: bool,
}

impl Column {
    fn entries(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1.0));
        self.rows.iter().copied().zip(weights)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    /// The row's own unused capacity.
    Slack(u32),
    Column(u32),
}

/// Below this a number is zero.
const TINY: f64 = 1e-9;

impl Packing {
    /// Nothing packed yet into rows of these capacities.
    ///
    /// Ties are broken by taking away a little of each capacity, a different part of
    /// 10⁻⁸ of it: without ties the simplex method cannot go in circles, and a packing
    /// into less is a packing all the same.
    pub fn new(capacity: &[f64]) -> Self {
        let count = capacity.len();
        let mut inverse = vec![0.0; count * count];
        for row in 0..count {
            inverse[row * count + row] = 1.0;
        }
        let part = |row: usize| (row as f64 * 0.618_033_988_749_895).fract();
        let capacity: Vec<f64> = capacity
            .iter()
            .enumerate()
            .map(|(row, &most)| most * (1.0 - 1e-8 * part(row)))
            .collect();
        Self {
            columns: Vec::new(),
            basis: (0..count as u32).map(Basic::Slack).collect(),
            level: capacity.clone(),
            inverse,
            price: vec![0.0; count],
            direction: vec![0.0; count],
            capacity,
        }
    }

    /// The price of each row: never much below 0.
    pub fn prices(&self) -> &[f64] {
        &self.price
    }

    /// The columns that are packed, by number in the order in which they were offered: their
    /// rows, and how much of them there is.
    pub fn packed(&self) -> impl Iterator<Item = (usize, &[u32], f64)> {
        self.basis.iter().zip(&self.level).filter_map(|(basic, &level)| match basic {
            Basic::Column(column) => {
                let column = *column as usize;
                Some((column, &self.columns[column].rows[..], level.max(0.0)))
            }
            Basic::Slack(_) => None,
        })
    }

    /// Offers a set of rows for packing, which brings 1.
    pub fn offer(&mut self, rows: Vec<u32>) {
        self.columns.push(Column { rows, weights: Vec::new(), gain: 1.0, basic: false });
    }

    /// Offers a column with weights, which brings `gain`.
    pub fn offer_weighted(&mut self, entries: impl Iterator<Item = (u32, f64)>, gain: f64) {
        let (rows, weights) = entries.unzip();
        self.columns.push(Column { rows, weights, gain, basic: false });
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.capacity.len()
    }

    /// Packs the offered columns as well as they can be; `false` if `stop` said to stop
    /// before that.
    pub fn solve(&mut self, mut stop: impl FnMut() -> bool) -> bool {
        let mut pivots = 0_u32;
        while let Some(entering) = self.entering() {
            pivots += 1;
            if pivots.is_multiple_of(16) && stop() {
                return false;
            }
            if !self.enter(entering) {
                break;
            }
        }
        true
    }

    /// The column or slack that brings most for a unit of it.
    fn entering(&self) -> Option<Basic> {
        let mut best = (1e-7, None);
        for (row, &price) in self.price.iter().enumerate() {
            if -price > best.0 {
                best = (-price, Some(Basic::Slack(row as u32)));
            }
        }
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.basic) {
            let gain = column.gain - self.cost(column);
            if gain > best.0 {
                best = (gain, Some(Basic::Column(at as u32)));
            }
        }
        best.1
    }

    fn cost(&self, column: &Column) -> f64 {
        if column.weights.is_empty() {
            return column.rows.iter().map(|&row| self.price[row as usize]).sum();
        }
        column.entries().map(|(row, weight)| weight * self.price[row as usize]).sum()
    }

    /// Brings a column or slack into the basis; `false` if rounding left nothing to gain.
    fn enter(&mut self, entering: Basic) -> bool {
        let count = self.capacity.len();
        self.direction.fill(0.0);
        let (inverse, direction) = (&self.inverse, &mut self.direction);
        let mut add = |row: u32, weight: f64| {
            let column = &inverse[row as usize * count..][..count];
            for (sum, value) in direction.iter_mut().zip(column) {
                *sum += weight * value;
            }
        };
        let gain = match entering {
            Basic::Slack(row) => {
                add(row, 1.0);
                -self.price[row as usize]
            }
            Basic::Column(column) => {
                let column = &self.columns[column as usize];
                column.entries().for_each(|(row, weight)| add(row, weight));
                column.gain - self.cost(column)
            }
        };
        // The first level to fall to zero leaves; of equals the one with the largest
        // change, for the sake of rounding.
        let mut leaving: Option<(usize, f64)> = None;
        for (row, &change) in self.direction.iter().enumerate() {
            if change > TINY {
                let most = self.level[row].max(0.0) / change;
                let better = leaving.is_none_or(|(other, least)| {
                    let equal = 1e-12 * least;
                    most < least - equal
                        || (most <= least + equal && change > self.direction[other])
                });
                if better {
                    leaving = Some((row, most));
                }
            }
        }
        let Some((row, amount)) = leaving else {
            return false;
        };
        for (level, change) in self.level.iter_mut().zip(&self.direction) {
            *level -= amount * change;
        }
        self.level[row] = amount;
        if let Basic::Column(column) = self.basis[row] {
            self.columns[column as usize].basic = false;
        }
        if let Basic::Column(column) = entering {
            self.columns[column as usize].basic = true;
        }
        self.basis[row] = entering;
        let pivot = self.direction[row];
        for (column, price) in self.inverse.chunks_exact_mut(count).zip(&mut self.price) {
            let entry = column[row];
            if entry != 0.0 {
                let factor = entry / pivot;
                *price += gain * factor;
                for (value, change) in column.iter_mut().zip(&self.direction) {
                    *value -= factor * change;
                }
                column[row] = factor;
            }
        }
        true
    }

    /// The value of the packing, made safe against rounding: the columns' amounts are
    /// added up anew and, where a row would take more than it can, all are lessened.
    pub fn value(&self, true_capacity: &[f64]) -> f64 {
        let mut load = vec![0.0; true_capacity.len()];
        let mut value = 0.0;
        for (basic, &level) in self.basis.iter().zip(&self.level) {
            if let Basic::Column(column) = *basic {
                let level = level.max(0.0);
                value += level;
                for &row in &self.columns[column as usize].rows {
                    load[row as usize] += level;
                }
            }
        }
        let excess =
            load.iter().zip(true_capacity).map(|(load, most)| load / most).fold(1.0, f64::max);
        value / excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    fn solved(capacity: &[f64], columns: &[Vec<u32>]) -> Packing {
        let mut packing = Packing::new(capacity);
        for column in columns {
            packing.offer(column.clone());
        }
        assert!(packing.solve(|| false));
        packing
    }

    #[test]
    fn three_rows_in_a_triangle_are_half_used_by_each_pair() {
        let packing = solved(&[1.0; 3], &[vec![0, 1], vec![1, 2], vec![0, 2]]);
        assert!((packing.value(&[1.0; 3]) - 1.5).abs() < 1e-6);
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// The prices are an answer to the opposite question (the cheapest prices at
        /// which no column is worth more than it costs), so equal values prove both.
        #[test]
        fn packing_and_prices_meet(
            capacity in prop::collection::vec(1_u32..100, 1..12),
            columns in prop::collection::vec(prop::collection::btree_set(0_u32..12, 1..5), 1..30),
        ) {
            let capacity: Vec<f64> = capacity.into_iter().map(|most| f64::from(most) / 64.0).collect();
            let count = capacity.len() as u32;
            let columns: Vec<Vec<u32>> = columns
                .into_iter()
                .map(|rows| rows.into_iter().map(|row| row % count).collect::<std::collections::BTreeSet<_>>())
                .map(|rows| rows.into_iter().collect())
                .collect();
            let packing = solved(&capacity, &columns);
            let value = packing.value(&capacity);
            let prices: Vec<f64> = packing.prices().iter().map(|price| price.max(0.0)).collect();
            for column in &columns {
                let cost: f64 = column.iter().map(|&row| prices[row as usize]).sum();
                prop_assert!(cost > 1.0 - 1e-6);
            }
            let cost: f64 = prices.iter().zip(&capacity).map(|(price, most)| price * most).sum();
            prop_assert!((cost - value).abs() < 1e-5 * (1.0 + value), "{} {}", cost, value);
        }
    }
}
