//! Where participants stand in a drawing with nodes: a pure function of how many there are, so
//! that everybody is at the same place in every graph, and stays there when edges change.
//!
//! They stand on an ellipse, clockwise in listed order from the top right, and at equal distances
//! in height rather than in angle: each then has a line of its own for its name, which is what
//! keeps names apart. On an ellipse no three stand in a line, so no edge runs through a third.

/// More than these are drawn as a matrix.
pub const MOST_NODES: usize = 25;

/// The size of the drawing.
pub const WIDTH: f64 = 468.0;
pub const HEIGHT: f64 = 288.0;

/// The size of a name's letters.
pub const FONT: f64 = 14.0;

/// Columns that a name may take.
pub const COLUMNS: usize = 16;

/// Half of the ellipse's width and height.
const RADII: (f64, f64) = (98.0, 132.0);

/// From the middle of a node to its name.
const GAP: f64 = 10.0;

/// Where a participant stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
    /// Is its name to its right?
    pub is_right: bool,
}

impl Place {
    /// Where its name begins (or ends, on the left).
    pub fn label_x(&self) -> f64 {
        if self.is_right { self.x + GAP } else { self.x - GAP }
    }
}

/// Where so many participants stand.
pub fn places(count: usize) -> Vec<Place> {
    let right = count.div_ceil(2);
    let left = count - right;
    let place = |row: usize, rows: usize, is_right: bool| {
        // From -1 at the top to 1 at the bottom, a little away from both.
        let reach = 1.0 - 0.75 / rows as f64;
        let step = if rows > 1 { 2.0 * row as f64 / (rows - 1) as f64 - 1.0 } else { 0.0 };
        let height = reach * step;
        let side = (1.0 - height * height).sqrt() * if is_right { 1.0 } else { -1.0 };
        Place { x: WIDTH / 2.0 + RADII.0 * side, y: HEIGHT / 2.0 + RADII.1 * height, is_right }
    };
    let down = (0..right).map(|row| place(row, right, true));
    let up = (0..left).rev().map(|row| place(row, left, false));
    down.chain(up).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widest letters of a sans-serif face, on average over a name, in parts of its size.
    const COLUMN: f64 = 0.56;

    fn label(place: &Place) -> (f64, f64, f64, f64) {
        let width = COLUMNS as f64 * COLUMN * FONT;
        let begin = if place.is_right { place.label_x() } else { place.label_x() - width };
        (begin, begin + width, place.y - FONT / 2.0, place.y + FONT / 2.0)
    }

    #[test]
    fn no_two_names_touch_and_all_are_inside() {
        for count in 1..=MOST_NODES {
            let labels: Vec<_> = places(count).iter().map(label).collect();
            for (at, a) in labels.iter().enumerate() {
                assert!(a.0 >= -1.0 && a.1 <= WIDTH + 1.0, "{count}: {a:?}");
                assert!(a.2 >= 0.0 && a.3 <= HEIGHT, "{count}: {a:?}");
                for b in &labels[at + 1..] {
                    let apart = a.1 <= b.0 || b.1 <= a.0 || a.3 <= b.2 || b.3 <= a.2;
                    assert!(apart, "{count}: {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn nobody_stands_between_two_others() {
        for count in 3..=MOST_NODES {
            let all = places(count);
            for (i, a) in all.iter().enumerate() {
                for (j, b) in all.iter().enumerate().skip(i + 1) {
                    for (k, c) in all.iter().enumerate().filter(|(k, _)| *k != i && *k != j) {
                        let length = (b.x - a.x).hypot(b.y - a.y);
                        let aside =
                            ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)).abs() / length;
                        assert!(aside > 0.5, "{count}: {k} is on the way from {i} to {j}");
                    }
                }
            }
        }
    }
}
