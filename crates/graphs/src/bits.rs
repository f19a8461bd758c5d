//! Bit sets as rows of 64-bit words, and square matrices of them.
//!
//! A row is a plain `[u64]` slice, so that a matrix, a scratch buffer and a borrowed
//! row all work with the same few functions. `docs/decisions/0002-bit-sets.md` says
//! why this is not a library's bit set.

/// How many words a row of `bits` bits takes.
pub const fn words_for(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Is bit `index` set?
#[inline]
pub fn contains(row: &[u64], index: usize) -> bool {
    row[index / 64] >> (index % 64) & 1 == 1
}

/// Sets bit `index`.
#[inline]
pub fn insert(row: &mut [u64], index: usize) {
    row[index / 64] |= 1 << (index % 64);
}

/// A row of `bits` bits in which this one alone is set.
pub fn only(index: usize, bits: usize) -> Vec<u64> {
    let mut row = vec![0; words_for(bits)];
    insert(&mut row, index);
    row
}

/// Clears bit `index`.
#[inline]
pub fn remove(row: &mut [u64], index: usize) {
    row[index / 64] &= !(1 << (index % 64));
}

/// Adds every bit of `other` to `row`.
#[inline]
pub fn union(row: &mut [u64], other: &[u64]) {
    for (word, other) in row.iter_mut().zip(other) {
        *word |= other;
    }
}

/// Removes every bit of `other` from `row`.
#[inline]
pub fn difference(row: &mut [u64], other: &[u64]) {
    for (word, other) in row.iter_mut().zip(other) {
        *word &= !other;
    }
}

/// Do the rows share a bit?
#[inline]
pub fn intersects(a: &[u64], b: &[u64]) -> bool {
    any_word(a, b, |a, b| a & b)
}

/// Is every bit of `inner` in `outer`?
#[inline]
pub fn is_subset(inner: &[u64], outer: &[u64]) -> bool {
    !any_word(inner, outer, |inner, outer| inner & !outer)
}

/// Is `of` nonzero for a pair of words? Ends at the first eight that answer: eight at a
/// time are vector instructions, one at a time are not.
#[inline]
fn any_word(a: &[u64], b: &[u64], of: impl Fn(u64, u64) -> u64) -> bool {
    let (a_eights, a_rest) = a.as_chunks::<8>();
    let (b_eights, b_rest) = b.as_chunks::<8>();
    let any = |a: &[u64], b: &[u64]| a.iter().zip(b).fold(0, |any, (&a, &b)| any | of(a, b)) != 0;
    a_eights.iter().zip(b_eights).any(|(a, b)| any(a, b)) || any(a_rest, b_rest)
}

/// How many bits are set.
pub fn count(row: &[u64]) -> usize {
    row.iter().map(|word| word.count_ones() as usize).sum()
}

/// The set bits of one word, lowest first.
#[inline]
pub fn ones_of_word(word: u64) -> impl Iterator<Item = usize> {
    Ones { word, first: 0, later: std::iter::empty() }
}

/// The set bits of a row, lowest first.
#[inline]
pub fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    ones_of_words(row.iter().copied())
}

/// The bits set in both rows, lowest first.
#[inline]
pub fn common_ones<'a>(a: &'a [u64], b: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
    ones_of_words(a.iter().zip(b).map(|(a, b)| a & b))
}

fn ones_of_words(mut words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    let word = words.next().unwrap_or(0);
    Ones { word, first: 0, later: words }
}

/// Hands each bit of `row` that `seen` has not to `take`, and adds them to `seen`: a
/// step of a search, a word at a time.
#[inline]
pub fn visit_new(row: &[u64], seen: &mut [u64], mut take: impl FnMut(usize)) {
    for (at, (&word, seen)) in row.iter().zip(seen).enumerate() {
        let new = word & !*seen;
        *seen |= new;
        for bit in ones_of_word(new) {
            take(at * 64 + bit);
        }
    }
}

/// An iterator of its own: nested ones, a word's inside the row's, are twice as slow.
struct Ones<I> {
    /// What is left of the current word.
    word: u64,
    /// The number of its lowest bit.
    first: usize,
    later: I,
}

impl<I: Iterator<Item = u64>> Iterator for Ones<I> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = self.later.next()?;
            self.first += 64;
        }
        let bit = self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(self.first + bit)
    }
}

/// A square bit matrix, one contiguous block of words, zero at first.
#[derive(Clone, PartialEq, Eq)]
pub struct BitMatrix {
    size: usize,
    row_words: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// `size` × `size` zero bits.
    pub fn new(size: usize) -> Self {
        let row_words = words_for(size);
        Self { size, row_words, words: vec![0; size * row_words] }
    }

    /// The number of rows, which is the number of columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many words one row has.
    pub fn row_words(&self) -> usize {
        self.row_words
    }

    /// Row `index`.
    #[inline]
    pub fn row(&self, index: usize) -> &[u64] {
        &self.words[index * self.row_words..][..self.row_words]
    }

    /// Row `index`, to write to.
    #[inline]
    pub fn row_mut(&mut self, index: usize) -> &mut [u64] {
        &mut self.words[index * self.row_words..][..self.row_words]
    }

    /// All words, row after row.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Two different rows at once, the first to write to.
    ///
    /// # Panics
    /// If both indices are the same.
    pub fn row_mut_and_row(&mut self, target: usize, source: usize) -> (&mut [u64], &[u64]) {
        assert_ne!(target, source, "the two rows must differ");
        let width = self.row_words;
        if target < source {
            let (low, high) = self.words.split_at_mut(source * width);
            (&mut low[target * width..][..width], &high[..width])
        } else {
            let (low, high) = self.words.split_at_mut(target * width);
            (&mut high[..width], &low[source * width..][..width])
        }
    }

    /// Is the bit at (`row`, `column`) set?
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> bool {
        contains(self.row(row), column)
    }

    /// Sets the bit at (`row`, `column`).
    #[inline]
    pub fn set(&mut self, row: usize, column: usize) {
        insert(self.row_mut(row), column);
    }

    /// The number of set bits.
    pub fn count(&self) -> usize {
        count(&self.words)
    }

    /// Rows and columns exchanged.
    ///
    /// Works on blocks of 64 × 64 bits: at ten thousand rows a bit at a time would
    /// touch a hundred million scattered words.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut result = Self::new(self.size);
        let width = self.row_words;
        let mut block = [0_u64; 64];
        for block_row in 0..width {
            let height = (self.size - block_row * 64).min(64);
            for block_column in 0..width {
                for (at, word) in block.iter_mut().enumerate() {
                    *word = if at < height {
                        self.words[(block_row * 64 + at) * width + block_column]
                    } else {
                        0
                    };
                }
                if block.iter().all(|&word| word == 0) {
                    continue;
                }
                transpose_block(&mut block);
                let end = (self.size - block_column * 64).min(64);
                for (at, &word) in block[..end].iter().enumerate() {
                    result.words[(block_column * 64 + at) * width + block_row] = word;
                }
            }
        }
        result
    }
}

impl std::fmt::Debug for BitMatrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries((0..self.size).map(|row| ones(self.row(row)).collect::<Vec<_>>()))
            .finish()
    }
}

/// Transposes 64 × 64 bits in place by exchanging ever smaller quarters.
fn transpose_block(block: &mut [u64; 64]) {
    let mut half = 32;
    let mut mask = 0xffff_ffff_u64;
    while half != 0 {
        let mut row = 0;
        while row < 64 {
            let moved = (block[row] >> half ^ block[row + half]) & mask;
            block[row] ^= moved << half;
            block[row + half] ^= moved;
            row = (row + half + 1) & !half;
        }
        half >>= 1;
        mask ^= mask << half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    #[test]
    fn the_two_rows_may_come_in_either_order() {
        let mut matrix = BitMatrix::new(70);
        matrix.set(1, 69);
        matrix.set(5, 3);
        let (target, source) = matrix.row_mut_and_row(5, 1);
        union(target, source);
        let (target, source) = matrix.row_mut_and_row(0, 5);
        union(target, source);
        assert_eq!(ones(matrix.row(0)).collect::<Vec<_>>(), [3, 69]);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn transposing_exchanges_rows_and_columns(
            size in 1_usize..200,
            bits in prop::collection::vec((0_usize..200, 0_usize..200), 0..300),
        ) {
            let mut matrix = BitMatrix::new(size);
            for (row, column) in bits {
                matrix.set(row % size, column % size);
            }
            let transposed = matrix.transposed();
            for row in 0..size {
                for column in 0..size {
                    prop_assert_eq!(matrix.get(row, column), transposed.get(column, row));
                }
            }
            prop_assert_eq!(transposed.transposed(), matrix);
        }

        #[test]
        fn rows_behave_like_sets(
            a in prop::collection::btree_set(0_usize..150, 0..60),
            b in prop::collection::btree_set(0_usize..150, 0..60),
        ) {
            let row = |set: &std::collections::BTreeSet<usize>| {
                let mut row = vec![0; words_for(150)];
                for &index in set {
                    insert(&mut row, index);
                }
                row
            };
            let (row_a, row_b) = (row(&a), row(&b));
            prop_assert_eq!(ones(&row_a).collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(count(&row_a), a.len());
            prop_assert_eq!(intersects(&row_a, &row_b), !a.is_disjoint(&b));
            prop_assert_eq!(is_subset(&row_a, &row_b), a.is_subset(&b));
            prop_assert_eq!(
                common_ones(&row_a, &row_b).collect::<Vec<_>>(),
                a.intersection(&b).copied().collect::<Vec<_>>()
            );
            let mut joined = row_a.clone();
            union(&mut joined, &row_b);
            prop_assert_eq!(&joined, &row(&a.union(&b).copied().collect()));
            difference(&mut joined, &row_b);
            prop_assert_eq!(&joined, &row(&a.difference(&b).copied().collect()));
            for index in &a {
                remove(&mut joined, *index);
            }
            let (mut seen, mut new) = (row_b.clone(), Vec::new());
            visit_new(&row_a, &mut seen, |index| new.push(index));
            prop_assert_eq!(new, a.difference(&b).copied().collect::<Vec<_>>());
            prop_assert_eq!(&seen, &row(&a.union(&b).copied().collect()));
            prop_assert_eq!(count(&joined), 0);
        }
    }
}
