//! Convolution with 5 × 5 windows, ReLU and 2 × 2 max-pooling as one kernel, and its way
//! back.
//!
//! Nothing is copied into a matrix of windows. On the way there, the sums of two rows of
//! positions stay in registers, one vector holding several filters at one position; what
//! is pooled never leaves them. On the way back only the position that was the largest of
//! its four has a gradient, so three quarters of the products are left out: each such
//! position adds its window to the gradient of its filter, and its filter to the gradient
//! of its window, both along the contiguous values of a window's rows.

#![expect(
    clippy::inline_always,
    reason = "what is not part of the dispatched function does not get its processor's vectors"
)]

use pulp::{Arch, Simd, WithSimd};

/// Rows and columns of a window.
const WINDOW: usize = 5;

/// The most values in a vector of any processor: filters come in multiples of it, and what
/// is read in whole vectors has so many values to spare behind it.
pub const MOST_LANES: usize = 16;

/// The sizes of a convolution that is followed by ReLU and pooling.
///
/// Filters lie one after the other, each with its windows' rows, columns and channels.
/// Pooled values lie position after position, each with all filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    side: usize,
    channels: usize,
    filters: usize,
}

/// How the values of an image lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Channel after channel, each with all positions.
    Planes,
    /// Position after position, each with all channels, which are [`MOST_LANES`].
    Positions,
}

impl Convolution {
    /// A convolution of square images.
    ///
    /// # Panics
    /// If the images are too small for one pooled value, have no channels, or if the
    /// filters are not a multiple of [`MOST_LANES`].
    pub fn new(side: usize, channels: usize, filters: usize) -> Self {
        assert!(side > WINDOW && channels > 0, "at least one pooled value");
        assert!(filters > 0 && filters.is_multiple_of(MOST_LANES), "filters fill vectors");
        Self { side, channels, filters }
    }

    /// Channels of an image.
    pub fn channels(self) -> usize {
        self.channels
    }

    /// Rows and columns that are left; what is odd at the end is not looked at.
    pub fn pooled_side(self) -> usize {
        (self.side + 1 - WINDOW) / 2
    }

    /// Values of an image.
    pub fn inputs(self) -> usize {
        self.side * self.side * self.channels
    }

    /// Pooled values of an image.
    pub fn outputs(self) -> usize {
        self.pooled_side() * self.pooled_side() * self.filters
    }

    /// Values of a window, which are the weights of a filter.
    pub fn window(self) -> usize {
        WINDOW * WINDOW * self.channels
    }

    /// Weights of all filters.
    pub fn weights(self) -> usize {
        self.window() * self.filters
    }

    /// The pooled values of images, and for each of them where in its image, position after
    /// position, the window begins whose value it is. `packed` is memory for the weights.
    ///
    /// # Panics
    /// If the sizes don't fit.
    #[expect(clippy::too_many_arguments, reason = "what is read, and what is written")]
    pub fn forward(
        self,
        layout: Layout,
        images: &[f32],
        weights: &[f32],
        biases: &[f32],
        packed: &mut [f32],
        pooled: &mut [f32],
        places: &mut [u32],
    ) {
        let count = images.len() / self.inputs();
        assert_eq!(images.len(), count * self.inputs(), "whole images");
        assert!(layout == Layout::Planes || self.channels == MOST_LANES, "one stride is known");
        assert_eq!((weights.len(), biases.len()), (self.weights(), self.filters), "the filters");
        assert_eq!(packed.len(), self.weights(), "memory for the weights");
        assert_eq!(pooled.len(), count * self.outputs(), "the pooled values");
        assert_eq!(places.len(), pooled.len(), "a place for each pooled value");
        let shape = self;
        Arch::new().dispatch(Forward {
            shape,
            layout,
            images,
            weights,
            biases,
            packed,
            pooled,
            places,
        });
    }

    /// The way back for one image, position after position and [`MOST_LANES`] values more:
    /// adds to the gradient of the weights and of the biases, and to that of the image,
    /// where there is one, with the weights for it.
    ///
    /// # Panics
    /// If the sizes don't fit.
    pub fn backward(self, passed: &Passed<'_>, gradients: Gradients<'_>, hits: &mut Vec<Hit>) {
        assert_eq!(passed.image.len(), self.inputs() + MOST_LANES, "an image, and room behind it");
        assert_eq!(passed.places.len(), self.outputs(), "a place for each pooled value");
        assert_eq!(passed.above.len(), self.outputs(), "a gradient for each pooled value");
        assert_eq!(gradients.weights.len(), self.weights(), "the gradient of the weights");
        assert_eq!(gradients.biases.len(), self.filters, "the gradient of the biases");
        if let Some((weights, image)) = &gradients.image {
            assert_eq!(weights.len(), self.weights(), "the weights");
            assert_eq!(image.len(), self.inputs(), "the gradient of the image");
            assert_eq!(self.channels, MOST_LANES, "rows of windows fill vectors");
        }
        Arch::new().dispatch(Backward { shape: self, passed, gradients, hits });
    }
}

struct Forward<'a> {
    shape: Convolution,
    layout: Layout,
    images: &'a [f32],
    weights: &'a [f32],
    biases: &'a [f32],
    packed: &'a mut [f32],
    pooled: &'a mut [f32],
    places: &'a mut [u32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.pack(S::F32_LANES);
        let Self { shape, packed, images, .. } = self;
        let pass = match self.layout {
            Layout::Planes => Pass {
                side: shape.side,
                plane: shape.side * shape.side,
                row: shape.side,
                taps: WINDOW,
                channels: shape.channels,
            },
            Layout::Positions => Pass {
                side: shape.side,
                plane: 0,
                row: shape.side * shape.channels,
                taps: WINDOW * shape.channels,
                channels: shape.channels,
            },
        };
        let (weights, biases) = (S::as_simd_f32s(packed).0, S::as_simd_f32s(self.biases).0);
        let images = images.chunks_exact(shape.inputs());
        let pooled = self.pooled.chunks_exact_mut(shape.outputs());
        let places = self.places.chunks_exact_mut(shape.outputs());
        for ((image, pooled), places) in images.zip(pooled).zip(places) {
            let pooled = S::as_mut_simd_f32s(pooled).0;
            let places = S::as_mut_simd_u32s(places).0;
            let filters = weights.chunks_exact(shape.window()).zip(biases).enumerate();
            for (at, (weights, bias)) in filters {
                let filter = Filters { image, weights, bias: *bias, at, of: biases.len() };
                match self.layout {
                    Layout::Planes => pass.rows::<S, 1>(simd, &filter, pooled, places),
                    Layout::Positions => pass.rows::<S, MOST_LANES>(simd, &filter, pooled, places),
                }
            }
        }
    }
}

impl Forward<'_> {
    /// Lays the weights in the order in which they are used: as many filters as a vector
    /// holds side by side, the values of a window in the order of the image.
    #[inline(always)]
    fn pack(&mut self, lanes: usize) {
        let (window, channels) = (self.shape.window(), self.shape.channels);
        let groups = self.packed.chunks_exact_mut(window * lanes);
        for (group, filters) in groups.zip(self.weights.chunks_exact(window * lanes)) {
            for (lane, filter) in filters.chunks_exact(window).enumerate() {
                let taps = group.iter_mut().skip(lane).step_by(lanes);
                match self.layout {
                    Layout::Positions => taps.zip(filter).for_each(|(to, from)| *to = *from),
                    Layout::Planes => {
                        let planes =
                            (0..channels).flat_map(|c| filter.iter().skip(c).step_by(channels));
                        taps.zip(planes).for_each(|(to, from)| *to = *from);
                    }
                }
            }
        }
    }
}

/// A vector of filters on their way over an image.
struct Filters<'a, S: Simd> {
    image: &'a [f32],
    weights: &'a [S::f32s],
    bias: S::f32s,
    /// Which vector of filters this is, and of how many.
    at: usize,
    of: usize,
}

/// Where the values of a window lie: in lines of `taps` values that follow each other.
#[derive(Clone, Copy)]
struct Pass {
    side: usize,
    /// From a channel to the next, where they lie apart.
    plane: usize,
    /// From a row to the next.
    row: usize,
    taps: usize,
    channels: usize,
}

impl Pass {
    /// All pooled values of a vector of filters. Positions are `STRIDE` values apart.
    #[inline(always)]
    fn rows<S: Simd, const STRIDE: usize>(
        self,
        simd: S,
        filters: &Filters<'_, S>,
        pooled: &mut [S::f32s],
        places: &mut [S::u32s],
    ) {
        let across = (self.side + 1 - WINDOW) / 2;
        // Wide vectors come with 32 registers, others with 16.
        let many_registers = S::F32_LANES == MOST_LANES;
        for down in 0..across {
            let mut first = 0;
            while first < across {
                let left = across - first;
                let at = (down, first);
                if many_registers && left >= 7 {
                    self.block::<S, STRIDE, 7>(simd, filters, at, pooled, places);
                    first += 7;
                } else if many_registers && left >= 5 {
                    self.block::<S, STRIDE, 5>(simd, filters, at, pooled, places);
                    first += 5;
                } else if left >= 3 {
                    self.block::<S, STRIDE, 3>(simd, filters, at, pooled, places);
                    first += 3;
                } else {
                    self.block::<S, STRIDE, 1>(simd, filters, at, pooled, places);
                    first += 1;
                }
            }
        }
    }

    /// So many pooled values of a row, from this one on.
    #[inline(always)]
    fn block<S: Simd, const STRIDE: usize, const COLUMNS: usize>(
        self,
        simd: S,
        filters: &Filters<'_, S>,
        (down, across): (usize, usize),
        pooled: &mut [S::f32s],
        places: &mut [S::u32s],
    ) {
        let sums = self.sums::<S, STRIDE, COLUMNS>(simd, filters, (down, across));
        let (zero, wide) = (simd.splat_f32s(0.0), (self.side + 1 - WINDOW) / 2);
        let to = (down * wide + across) * filters.of + filters.at;
        for column in 0..COLUMNS {
            let corner = (2 * down * self.side + 2 * (across + column)) * self.channels;
            let place = |down, right| {
                simd.splat_u32s((corner + (down * self.side + right) * self.channels) as u32)
            };
            let mut most = sums[0][column][0];
            let mut where_most = place(0, 0);
            for (down, right) in [(0, 1), (1, 0), (1, 1)] {
                let value = sums[down][column][right];
                let more = simd.greater_than_f32s(value, most);
                most = simd.select_f32s(more, value, most);
                where_most = simd.select_u32s(more, place(down, right), where_most);
            }
            let sum = simd.add_f32s(most, filters.bias);
            // What is not a number stays so.
            let negative = simd.less_than_f32s(sum, zero);
            pooled[to + column * filters.of] = simd.select_f32s(negative, zero, sum);
            places[to + column * filters.of] = where_most;
        }
    }

    /// The sums of the windows below these pooled values.
    #[inline(always)]
    fn sums<S: Simd, const STRIDE: usize, const COLUMNS: usize>(
        self,
        simd: S,
        filters: &Filters<'_, S>,
        (down, across): (usize, usize),
    ) -> Sums<S, COLUMNS> {
        let span = (2 * COLUMNS - 1) * STRIDE + 1;
        let mut sums = [[[simd.splat_f32s(0.0); 2]; COLUMNS]; 2];
        let planes = filters.weights.chunks_exact(self.taps * WINDOW);
        for (plane, weights) in planes.enumerate() {
            // A row of the image is the `line`-th of the upper windows and the one before
            // of the lower ones: what is read of it serves both.
            for line in 0..=WINDOW {
                let start = plane * self.plane + (2 * down + line) * self.row;
                let values = &filters.image[start + 2 * across * STRIDE..][..span + self.taps - 1];
                let values = values.windows(span);
                let weights = |line: usize| &weights[line * self.taps..][..self.taps];
                if line == 0 {
                    let upper = weights(line).iter().map(|upper| [*upper]);
                    add_line::<S, STRIDE, COLUMNS, 1>(simd, values.zip(upper), 0, &mut sums);
                } else if line < WINDOW {
                    let weights = weights(line).iter().zip(weights(line - 1));
                    let both = weights.map(|(upper, lower)| [*upper, *lower]);
                    add_line::<S, STRIDE, COLUMNS, 2>(simd, values.zip(both), 0, &mut sums);
                } else {
                    let lower = weights(line - 1).iter().map(|lower| [*lower]);
                    add_line::<S, STRIDE, COLUMNS, 1>(simd, values.zip(lower), 1, &mut sums);
                }
            }
        }
        sums
    }
}

/// Sums by row, pooled value and column.
type Sums<S, const COLUMNS: usize> = [[[<S as Simd>::f32s; 2]; COLUMNS]; 2];

/// Adds the products of a row of the image with the weights of one or both rows of windows.
#[inline(always)]
fn add_line<'a, S: Simd, const STRIDE: usize, const COLUMNS: usize, const ROWS: usize>(
    simd: S,
    taps: impl Iterator<Item = (&'a [f32], [S::f32s; ROWS])>,
    first: usize,
    sums: &mut Sums<S, COLUMNS>,
) {
    for (values, weights) in taps {
        for column in 0..COLUMNS {
            for right in 0..2 {
                let value = simd.splat_f32s(values[(2 * column + right) * STRIDE]);
                for (row, weight) in weights.iter().enumerate() {
                    let sum = &mut sums[first + row][column][right];
                    *sum = simd.mul_add_f32s(value, *weight, *sum);
                }
            }
        }
    }
}

/// What the way there left of one image, and the gradient by its pooled values.
#[derive(Debug, Clone, Copy)]
pub struct Passed<'a> {
    /// The image, position after position, and [`MOST_LANES`] values more.
    pub image: &'a [f32],
    /// Where the window of each pooled value begins.
    pub places: &'a [u32],
    /// The gradient by each pooled value, 0 where ReLU let nothing through.
    pub above: &'a [f32],
}

/// What the way back adds to.
#[derive(Debug)]
pub struct Gradients<'a> {
    /// The gradient of the weights.
    pub weights: &'a mut [f32],
    /// The gradient of the biases.
    pub biases: &'a mut [f32],
    /// The weights, and the gradient of the image.
    pub image: Option<(&'a [f32], &'a mut [f32])>,
}

/// A window that a filter answered to, and the gradient by that answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hit {
    place: u32,
    slope: f32,
}

struct Backward<'a, 'b> {
    shape: Convolution,
    passed: &'a Passed<'b>,
    gradients: Gradients<'b>,
    hits: &'a mut Vec<Hit>,
}

impl WithSimd for Backward<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shape, passed, mut gradients, hits } = self;
        let window = shape.window();
        // The last two are for an even number, and for what is looked at and not kept.
        hits.resize(shape.outputs() / shape.filters + 2, Hit::default());
        for filter in 0..shape.filters {
            let (count, sum) = collect_hits(shape.filters, filter, passed, hits);
            gradients.biases[filter] += sum;
            let hits = &hits[..count];
            let part = filter * window..(filter + 1) * window;
            let windows = Windows { line: window / WINDOW, row: shape.side * shape.channels, hits };
            windows.add_to_filter(simd, passed.image, &mut gradients.weights[part.clone()]);
            if let Some((weights, image)) = &mut gradients.image {
                windows.add_to_image(simd, &weights[part], image);
            }
        }
    }
}

/// Puts the windows that a filter answered to in front of `hits`; returns how many they
/// are, with one of no gradient where they would be odd, and the sum of their gradients.
#[inline(never)]
fn collect_hits(
    filters: usize,
    filter: usize,
    passed: &Passed<'_>,
    hits: &mut [Hit],
) -> (usize, f32) {
    let (mut count, mut sum) = (0, 0.0);
    let places = passed.places.chunks_exact(filters);
    for (places, slopes) in places.zip(passed.above.chunks_exact(filters)) {
        let (place, slope) = (places[filter], slopes[filter]);
        hits[count] = Hit { place, slope };
        // No branch: nobody could predict it.
        count += usize::from(slope != 0.0);
        sum += slope;
    }
    hits[count] = Hit::default();
    (count.next_multiple_of(2), sum)
}

/// The windows of some hits.
#[derive(Clone, Copy)]
struct Windows<'a> {
    /// Values of a row of a window.
    line: usize,
    /// Values of a row of the image.
    row: usize,
    /// An even number.
    hits: &'a [Hit],
}

impl Windows<'_> {
    /// Adds the windows of an image to the gradient of their filter.
    #[inline(always)]
    fn add_to_filter<S: Simd>(self, simd: S, image: &[f32], filter: &mut [f32]) {
        let mut first = 0;
        while first < self.line {
            let left = (self.line - first).div_ceil(S::F32_LANES);
            if S::F32_LANES == MOST_LANES && left >= 5 {
                first += self.lines_to_filter::<S, 5, 1>(simd, first, image, filter);
            } else if left >= 2 {
                first += self.lines_to_filter::<S, 2, 1>(simd, first, image, filter);
            } else {
                first += self.lines_to_filter::<S, 1, 2>(simd, first, image, filter);
            }
        }
    }

    /// So many vectors of each row of the windows, and so many hits abreast: few vectors
    /// would have to wait for each other's sums.
    #[inline(always)]
    fn lines_to_filter<S: Simd, const VECTORS: usize, const ABREAST: usize>(
        self,
        simd: S,
        first: usize,
        image: &[f32],
        filter: &mut [f32],
    ) -> usize {
        let values = VECTORS * S::F32_LANES;
        let mut sums = [[[simd.splat_f32s(0.0); VECTORS]; WINDOW]; ABREAST];
        for hits in self.hits.chunks_exact(ABREAST) {
            for abreast in 0..ABREAST {
                let slope = simd.splat_f32s(hits[abreast].slope);
                let image = &image[hits[abreast].place as usize + first..];
                let image = &image[..(WINDOW - 1) * self.row + values];
                for down in 0..WINDOW {
                    let line = S::as_simd_f32s(&image[down * self.row..][..values]).0;
                    for at in 0..VECTORS {
                        let sum = &mut sums[abreast][down][at];
                        *sum = simd.mul_add_f32s(slope, line[at], *sum);
                    }
                }
            }
        }
        // What is indexed by a variable lies in memory; so the sums themselves don't.
        let mut totals = sums[0];
        for other in sums.into_iter().skip(1) {
            for down in 0..WINDOW {
                for at in 0..VECTORS {
                    totals[down][at] = simd.add_f32s(totals[down][at], other[down][at]);
                }
            }
        }
        for (line, totals) in filter.chunks_exact_mut(self.line).zip(&totals) {
            for (target, total) in line[first..].chunks_mut(S::F32_LANES).zip(totals) {
                let sum = simd.add_f32s(simd.partial_load_f32s(target), *total);
                simd.partial_store_f32s(target, sum);
            }
        }
        values
    }

    /// Adds a filter to the gradient of the windows that it answered to.
    #[inline(always)]
    fn add_to_image<S: Simd>(self, simd: S, filter: &[f32], image: &mut [f32]) {
        let mut first = 0;
        while first < self.line {
            let left = (self.line - first) / S::F32_LANES;
            if S::F32_LANES == MOST_LANES && left >= 5 {
                first += self.filter_to_lines::<S, 5>(simd, first, filter, image);
            } else if left >= 2 {
                first += self.filter_to_lines::<S, 2>(simd, first, filter, image);
            } else {
                first += self.filter_to_lines::<S, 1>(simd, first, filter, image);
            }
        }
    }

    /// So many vectors of each row of the windows.
    #[inline(always)]
    fn filter_to_lines<S: Simd, const VECTORS: usize>(
        self,
        simd: S,
        first: usize,
        filter: &[f32],
        image: &mut [f32],
    ) -> usize {
        let values = VECTORS * S::F32_LANES;
        let mut weights = [[simd.splat_f32s(0.0); VECTORS]; WINDOW];
        for (weights, line) in weights.iter_mut().zip(filter.chunks_exact(self.line)) {
            weights.copy_from_slice(S::as_simd_f32s(&line[first..][..values]).0);
        }
        for hit in self.hits {
            let slope = simd.splat_f32s(hit.slope);
            let image =
                &mut image[hit.place as usize + first..][..(WINDOW - 1) * self.row + values];
            for (down, weights) in weights.iter().enumerate() {
                let line = S::as_mut_simd_f32s(&mut image[down * self.row..][..values]).0;
                for at in 0..VECTORS {
                    line[at] = simd.mul_add_f32s(slope, weights[at], line[at]);
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests;
