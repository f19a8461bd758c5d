//! The kernels of every processor against the definition.

use fedcompetitors_graphs::random::Stream;
use pulp::Scalar;

use super::*;

/// An image, filters, and what comes of them with whatever processor is at hand.
struct Example {
    shape: Convolution,
    layout: Layout,
    image: Vec<f32>,
    weights: Vec<f32>,
    biases: Vec<f32>,
    above: Vec<f32>,
}

impl Example {
    fn new(side: usize, channels: usize, layout: Layout) -> Self {
        let shape = Convolution::new(side, channels, 32);
        let mut stream = Stream::new(side as u64, "convolution", 0);
        let mut numbers =
            |count| (0..count).map(|_| stream.unit() as f32 - 0.5).collect::<Vec<_>>();
        Self {
            image: numbers(shape.inputs()),
            weights: numbers(shape.weights()),
            biases: numbers(32),
            above: numbers(shape.outputs()),
            shape,
            layout,
        }
    }

    fn forward<S: Simd>(&self, simd: S) -> (Vec<f32>, Vec<u32>) {
        let mut packed = vec![0.0; self.shape.weights()];
        let mut pooled = vec![0.0; self.shape.outputs()];
        let mut places = vec![0; self.shape.outputs()];
        simd.vectorize(Forward {
            shape: self.shape,
            layout: self.layout,
            images: &self.image,
            weights: &self.weights,
            biases: &self.biases,
            packed: &mut packed,
            pooled: &mut pooled,
            places: &mut places,
        });
        (pooled, places)
    }

    /// The gradients of the weights, the biases and the image.
    fn backward<S: Simd>(&self, simd: S, places: &[u32]) -> [Vec<f32>; 3] {
        let mut image = self.image.clone();
        image.extend([0.0; MOST_LANES]);
        let mut weights = vec![0.0; self.shape.weights()];
        let mut biases = vec![0.0; 32];
        let mut below = vec![0.0; self.shape.inputs()];
        let wanted = self.layout == Layout::Positions;
        simd.vectorize(Backward {
            shape: self.shape,
            passed: &Passed { image: &image, places, above: &self.above },
            gradients: Gradients {
                weights: &mut weights,
                biases: &mut biases,
                image: wanted.then_some((&self.weights[..], &mut below[..])),
            },
            hits: &mut Vec::new(),
        });
        [weights, biases, below]
    }

    /// The value of a window, by the definition.
    fn value(&self, filter: usize, row: usize, column: usize) -> f64 {
        let Convolution { side, channels, .. } = self.shape;
        let mut sum = f64::from(self.biases[filter]);
        for tap in 0..self.shape.window() {
            let (line, across, channel) =
                (tap / (5 * channels), tap / channels % 5, tap % channels);
            let position = (row + line) * side + column + across;
            let at = match self.layout {
                Layout::Planes => channel * side * side + position,
                Layout::Positions => position * channels + channel,
            };
            let weight = self.weights[filter * self.shape.window() + tap];
            sum += f64::from(self.image[at]) * f64::from(weight);
        }
        sum
    }

    fn check<S: Simd>(&self, simd: S) {
        let (pooled, places) = self.forward(simd);
        for (at, (pooled, place)) in pooled.iter().zip(&places).enumerate() {
            let (position, filter) = (at / 32, at % 32);
            let wide = self.shape.pooled_side();
            let (row, column) = (2 * (position / wide), 2 * (position % wide));
            let values = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(down, right)| {
                let corner = (row + down) * self.shape.side + column + right;
                (self.value(filter, row + down, column + right), corner)
            });
            let most = values.iter().map(|(value, _)| *value).fold(0.0, f64::max);
            assert!((f64::from(*pooled) - most).abs() < 1e-4, "{pooled}, not {most}");
            let place = *place as usize / self.shape.channels;
            let there = values.iter().find(|(_, corner)| *corner == place);
            let there = there.expect("one of the four windows").0;
            assert!(*pooled == 0.0 || (there - most).abs() < 1e-4, "the place of the most");
        }
        for (found, expected) in
            self.backward(simd, &places).iter().zip(self.backward(Scalar::new(), &places))
        {
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-4, "{found}, one by one {expected}");
            }
        }
    }
}

#[test]
fn every_processor_convolves_by_the_definition() {
    for (side, channels, layout) in [
        (6, 1, Layout::Planes),
        (19, 2, Layout::Planes),
        (28, 3, Layout::Planes),
        (30, 5, Layout::Planes),
        (6, 16, Layout::Positions),
        (15, 16, Layout::Positions),
        (28, 16, Layout::Positions),
    ] {
        let example = Example::new(side, channels, layout);
        example.check(Scalar::new());
        #[cfg(target_arch = "x86_64")]
        {
            pulp::x86::V3::try_new().into_iter().for_each(|simd| example.check(simd));
            pulp::x86::V4::try_new().into_iter().for_each(|simd| example.check(simd));
        }
    }
}
