//! Personalised mixing of models in NumPy's memory, without copies.

use std::sync::atomic::AtomicBool;

use fedcompetitors_learn as learn;
use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1,
    PyUntypedArrayMethods,
};
use pyo3::{prelude::*, types::PyList};

use crate::{errors::Failure, waiting::interruptible};

/// Products from which on Ctrl-C is looked for: about a tenth of a second. A thread for less
/// would take longer than the work.
const LONG: usize = 1 << 28;

/// For each row of the weights the weighted sum of the models.
#[pyfunction]
#[pyo3(signature = (weights, models, out=None))]
pub fn mix<'py>(
    py: Python<'py>,
    weights: PyReadonlyArray2<'py, f32>,
    models: Vec<Bound<'py, PyAny>>,
    out: Option<Vec<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyList>> {
    let (receivers, columns) = weights.as_array().dim();
    if columns != models.len() {
        return Err(Failure::new(
            "WrongShape",
            format!(
                "the weights are {receivers} × {columns}, but there are {} models",
                models.len()
            ),
            "one row for each receiver, one column for each model",
        )
        .into());
    }
    let Some(first) = models.first() else {
        let hint = "give at least one model";
        return Err(Failure::new("WrongShape", "there are no models", hint).into());
    };
    let length = one_of(first, "model 0")?.len();
    let read = models.iter().enumerate().map(|(at, model)| {
        let what = format!("model {at}");
        let model = one_of(model, &what)?;
        same_length(&what, model.len(), length)?;
        model.try_readonly().map_err(|_| overlap(&what))
    });
    let read: Vec<PyReadonlyArray1<'py, f32>> = read.collect::<Result<_, Failure>>()?;
    let outputs = match out {
        None => (0..receivers).map(|_| PyArray1::zeros(py, length, false)).collect(),
        Some(out) if out.len() == receivers => {
            let outputs = out.iter().enumerate().map(|(at, output)| {
                let what = format!("output {at}");
                let output = one_of(output, &what)?;
                same_length(&what, output.len(), length)?;
                Ok(output.clone())
            });
            outputs.collect::<Result<Vec<_>, Failure>>()?
        }
        Some(out) => {
            return Err(Failure::new(
                "WrongShape",
                format!("there are {} outputs, but the weights are for {receivers}", out.len()),
                "one output for each row of the weights",
            )
            .into());
        }
    };
    let written = outputs.iter().enumerate();
    let written = written
        .map(|(at, output)| output.try_readwrite().map_err(|_| overlap(&format!("output {at}"))));
    let mut written: Vec<PyReadwriteArray1<'py, f32>> = written.collect::<Result<_, Failure>>()?;

    let weights: Vec<f32> = weights.as_array().iter().copied().collect();
    let no_slice = |_| not_contiguous("an array");
    let models: Vec<&[f32]> = read
        .iter()
        .map(|model| model.as_slice().map_err(no_slice))
        .collect::<Result<_, Failure>>()?;
    let mut slices: Vec<&mut [f32]> = written
        .iter_mut()
        .map(|output| output.as_slice_mut().map_err(no_slice))
        .collect::<Result<_, Failure>>()?;
    if weights.len().saturating_mul(length) < LONG {
        py.detach(|| learn::mix(&weights, &models, &mut slices, &AtomicBool::new(false)));
    } else {
        interruptible(py, |stop| learn::mix(&weights, &models, &mut slices, stop))?;
    }
    drop(slices);
    drop(written);
    PyList::new(py, outputs)
}

/// A one-dimensional array of 32-bit numbers that lie one after the other.
fn one_of<'a, 'py>(
    array: &'a Bound<'py, PyAny>,
    what: &str,
) -> Result<&'a Bound<'py, PyArray1<f32>>, Failure> {
    let array = array.cast::<PyArray1<f32>>().map_err(|_| {
        Failure::new(
            "WrongType",
            format!("{what} is not a one-dimensional NumPy array of float32"),
            "use `array.astype(numpy.float32).ravel()`; nothing is converted here, as that would copy it",
        )
    })?;
    if !array.is_c_contiguous() {
        return Err(not_contiguous(what));
    }
    Ok(array)
}

fn not_contiguous(what: &str) -> Failure {
    Failure::new(
        "NotContiguous",
        format!("{what} is not contiguous in memory"),
        "use `numpy.ascontiguousarray(array)`",
    )
}

fn same_length(what: &str, found: usize, expected: usize) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(
        "WrongShape",
        format!("{what} has {found} parameters, but model 0 has {expected}"),
        "all models and outputs have the same number of parameters",
    ))
}

fn overlap(what: &str) -> Failure {
    Failure::new(
        "Overlap",
        format!("{what} cannot be written, or shares its memory with a model or another output"),
        "every output needs memory of its own that may be written",
    )
}
