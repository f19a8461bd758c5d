//! Small images with classes, dealt out to participants who each know only some classes.

use std::sync::Arc;

use fedcompetitors_graphs::random::Stream;

use crate::{
    Accuracy, Cnn, LearnError, Loss, Model, NativeLearner, Samples, Targets, learner::Augment,
    shuffle,
};

/// Square images, each channel after channel and row after row, with a class each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    side: usize,
    channels: usize,
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Images {
    /// Images of `side` × `side` pixels.
    ///
    /// # Errors
    /// If there are not as many pixels as that takes, or no images.
    pub fn new(
        side: usize,
        channels: usize,
        pixels: Vec<u8>,
        labels: Vec<u8>,
    ) -> Result<Self, LearnError> {
        let (rows, columns) = (labels.len(), channels * side * side);
        if rows == 0 || columns == 0 {
            return Err(LearnError::NoSamples);
        }
        if pixels.len() != rows * columns {
            return Err(LearnError::Shape { found: pixels.len(), rows, columns });
        }
        Ok(Self { side, channels, pixels, labels })
    }

    /// How many pixels a side has, and how many channels there are.
    pub fn shape(&self) -> (usize, usize) {
        (self.side, self.channels)
    }

    /// The class of each.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// This many images of each class, drawn by the seed; all of a class that has no more.
    #[must_use]
    pub fn fewer(&self, each: usize, seed: u64) -> Self {
        let size = self.channels * self.side * self.side;
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for class in 0..=self.labels.iter().copied().max().unwrap_or(0) {
            let of = self.labels.iter().enumerate().filter(|(_, label)| **label == class);
            let mut rows: Vec<usize> = of.map(|(row, _)| row).collect();
            shuffle(&mut rows, &mut Stream::new(seed, "fewer images", u64::from(class)));
            rows.truncate(each);
            labels.extend(rows.iter().map(|_| class));
            pixels.extend(rows.iter().flat_map(|row| &self.pixels[row * size..][..size]));
        }
        Self { pixels, labels, ..*self }
    }

    /// These images, their pixels from −2 to 2: by fixed numbers, so that nobody's statistics
    /// are anybody else's.
    fn samples(&self, rows: &[u32], classes: u32) -> Result<Samples, LearnError> {
        let size = self.channels * self.side * self.side;
        let of = |&row: &u32| &self.pixels[row as usize * size..][..size];
        let scaled = |&pixel: &u8| (f32::from(pixel) / 255.0 - 0.5) / 0.25;
        let features = rows.iter().flat_map(of).map(scaled).collect();
        let labels = rows.iter().map(|&row| u32::from(self.labels[row as usize])).collect();
        Samples::new(features, size, Targets::Classes { labels, count: classes })
    }
}

/// Classes that a participant has.
const CLASSES_EACH: usize = 2;

/// Of its images for training every so manieth is for choices.
const VALIDATION: usize = 10;

/// How classes and their images are dealt out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassSplit {
    /// The classes of each participant.
    pub classes: Vec<Vec<u8>>,
    /// The rows of each one's images: for training, for validation, for the test.
    pub rows: Vec<[Vec<u32>; 3]>,
}

impl ClassSplit {
    /// As many participants as classes, each with two of them; every class is at two
    /// participants, who have half of its training images each and are tested on all of its
    /// test images.
    ///
    /// # Errors
    /// If there are less than two classes, or a class has too few images.
    pub fn draw(
        training: &Images,
        test: &Images,
        classes: u8,
        seed: u64,
    ) -> Result<Self, LearnError> {
        if classes < 2 {
            return Err(LearnError::Unsuitable("two classes for each participant"));
        }
        let classes_of = deal(classes, seed);
        let mut rows = vec![[const { Vec::new() }; 3]; classes_of.len()];
        for class in 0..classes {
            let of = |images: &Images| -> Vec<u32> {
                let labels = images.labels.iter().zip(0..);
                labels.filter(|(label, _)| **label == class).map(|(_, row)| row).collect()
            };
            let (mut training, test) = (of(training), of(test));
            if training.len() < 2 * VALIDATION || test.is_empty() {
                return Err(LearnError::TooFew { samples: training.len().min(test.len()) });
            }
            shuffle(&mut training, &mut Stream::new(seed, "images", u64::from(class)));
            let second = training.split_off(training.len() / 2);
            let holders = (0..classes_of.len()).filter(|&who| classes_of[who].contains(&class));
            for (who, mut half) in holders.zip([training, second]) {
                let own = half.split_off(half.len() / VALIDATION);
                rows[who][0].extend(own);
                rows[who][1].extend(half);
                rows[who][2].extend(&test);
            }
        }
        Ok(Self { classes: classes_of, rows })
    }

    /// A learner for each participant: the network of [`Cnn`] with a head of its own,
    /// trained on images that are shifted and mirrored by the seed.
    ///
    /// # Errors
    /// If the images are too small for the network.
    pub fn learners(
        &self,
        training: &Images,
        test: &Images,
        seed: u64,
    ) -> Result<Vec<NativeLearner>, LearnError> {
        let classes = self.classes.len() as u32;
        let Images { side, channels, .. } = *training;
        let model: Arc<dyn Model> =
            Arc::new(Cnn::new(side, channels, classes as usize).with_own_head());
        self.rows
            .iter()
            .zip(0..)
            .map(|([own, validation, tested], participant)| {
                let parts = [
                    training.samples(own, classes)?,
                    training.samples(validation, classes)?,
                    test.samples(tested, classes)?,
                ];
                let augment = ShiftAndMirror { side, seed, participant };
                let (loss, metric) = (Loss::CrossEntropy, &Accuracy);
                Ok(NativeLearner::from_parts(Arc::clone(&model), loss, metric, parts)?
                    .with_augmentation(Arc::new(augment)))
            })
            .collect()
    }
}

/// Two different classes for everybody, every class twice.
fn deal(classes: u8, seed: u64) -> Vec<Vec<u8>> {
    let mut stream = Stream::new(seed, "classes", 0);
    let mut twice: Vec<u8> = (0..classes).chain(0..classes).collect();
    loop {
        shuffle(&mut twice, &mut stream);
        if twice.chunks_exact(CLASSES_EACH).all(|pair| pair[0] != pair[1]) {
            return twice.chunks_exact(CLASSES_EACH).map(<[u8]>::to_vec).collect();
        }
    }
}

/// Pixels by which an image is shifted at most.
const PADDING: usize = 4;

/// Shifts images by a few pixels and mirrors half of them.
///
/// What becomes of a batch follows from its rows: they come together only once, whoever asks
/// first and however often.
#[derive(Debug)]
struct ShiftAndMirror {
    side: usize,
    seed: u64,
    participant: u64,
}

impl Augment for ShiftAndMirror {
    fn augment(&self, rows: &[u32], features: &mut [f32]) {
        let batch = rows.iter().fold(self.participant, |hash, &row| {
            // Of Knuth's generator: neighbours end up far apart.
            (hash ^ u64::from(row)).wrapping_mul(6_364_136_223_846_793_005).rotate_left(23)
        });
        let mut stream = Stream::new(self.seed, "augmentation", batch);
        let mut plane = vec![0.0; self.side * self.side];
        for image in features.chunks_exact_mut(features.len() / rows.len().max(1)) {
            let mut corner = || stream.below(2 * PADDING as u64 + 1) as usize;
            let (top, left) = (corner(), corner());
            let mirrored = stream.below(2) == 1;
            for channel in image.chunks_exact_mut(plane.len()) {
                plane.copy_from_slice(channel);
                self.cut(&plane, top, left, mirrored, channel);
            }
        }
    }
}

impl ShiftAndMirror {
    /// Cuts an image out of one with a margin of mean pixels, from this corner on.
    fn cut(&self, from: &[f32], top: usize, left: usize, mirrored: bool, to: &mut [f32]) {
        let side = self.side;
        let inside = |at: usize| at.checked_sub(PADDING).filter(|&at| at < side);
        for (row, line) in to.chunks_exact_mut(side).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let column = if mirrored { side - 1 - column } else { column };
                *pixel = match (inside(row + top), inside(column + left)) {
                    (Some(y), Some(x)) => from[y * side + x],
                    _ => 0.0,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_testing::repeat;

    use super::*;

    fn images(each: usize) -> Images {
        let labels: Vec<u8> = (0..10).cycle().take(10 * each).collect();
        let pixels = (0..labels.len() * 3 * 256).map(|at| (at % 251) as u8).collect();
        Images::new(16, 3, pixels, labels).expect("whole images")
    }

    #[test]
    fn every_class_is_at_two_participants_half_each() {
        let (training, test) = (images(60), images(5));
        for seed in 0..u64::from(repeat(20)) {
            let split = ClassSplit::draw(&training, &test, 10, seed).expect("enough");
            let mut training_rows: Vec<u32> = Vec::new();
            for (classes, [own, validation, tested]) in split.classes.iter().zip(&split.rows) {
                assert_ne!(classes[0], classes[1]);
                assert_eq!((own.len(), validation.len(), tested.len()), (54, 6, 10));
                for class in classes {
                    let count = |rows: &[u32], images: &Images| {
                        let of = |&&row: &&u32| images.labels[row as usize] == *class;
                        rows.iter().filter(of).count()
                    };
                    assert_eq!(count(own, &training), 27);
                    assert_eq!(count(validation, &training), 3);
                    assert_eq!(count(tested, &test), 5);
                }
                training_rows.extend(own.iter().chain(validation));
            }
            training_rows.sort_unstable();
            assert_eq!(training_rows, (0..600).collect::<Vec<u32>>(), "each image once");
        }
        let draw = |seed| ClassSplit::draw(&training, &test, 10, seed).expect("enough");
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn fewer_images_are_some_of_all() {
        let all = images(7);
        let some = all.fewer(3, 1);
        assert_eq!((some.shape(), some.labels().len()), (all.shape(), 30));
        let of = |images: &Images| -> Vec<(u8, Vec<u8>)> {
            let pixels = images.pixels.chunks_exact(768).map(<[u8]>::to_vec);
            images.labels.iter().copied().zip(pixels).collect()
        };
        assert!(of(&some).iter().all(|one| of(&all).contains(one)));
        assert_ne!(some, all.fewer(3, 2));
        assert_eq!(all.fewer(9, 1).labels().len(), 70);
    }

    #[test]
    fn too_few_images_are_refused() {
        let error = ClassSplit::draw(&images(10), &images(5), 10, 1).expect_err("too few");
        assert_eq!(error, LearnError::TooFew { samples: 5 });
        assert!(Images::new(16, 3, vec![0; 5], vec![0]).is_err());
    }

    #[test]
    fn images_are_shifted_and_mirrored_by_the_batch() {
        let augment = ShiftAndMirror { side: 16, seed: 7, participant: 3 };
        let image: Vec<f32> = (1..=3 * 256).map(|at| at as f32).collect();
        let augmented = |rows: &[u32]| {
            let mut features = image.repeat(rows.len());
            augment.augment(rows, &mut features);
            features
        };
        assert_eq!(augmented(&[1, 2, 3]), augmented(&[1, 2, 3]));
        assert_ne!(augmented(&[1, 2, 3]), augmented(&[1, 3, 2]));
        let plain: Vec<f32> = (0..256).map(|at| at as f32).collect();
        let mut moved = vec![0.0; 256];
        augment.cut(&plain, 4, 4, false, &mut moved);
        assert_eq!(moved, plain);
        augment.cut(&plain, 2, 7, false, &mut moved);
        assert_eq!((moved[5 * 16 + 4], moved[1]), (plain[3 * 16 + 7], 0.0));
        augment.cut(&plain, 4, 4, true, &mut moved);
        assert_eq!(moved[15..16], plain[..1]);
    }
}
