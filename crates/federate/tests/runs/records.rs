//! What a run directory remembers, and whom it lets go on.

use super::{Case, FEDERATION};

/// A checkpoint says nothing of its form: only the version that wrote it may read it.
#[test]
fn another_version_does_not_go_on() {
    let case = Case::new(FEDERATION);
    case.tamper("UPDATE run SET value = 'version 0.0.9 with checkpoints 0' WHERE key = 'program'");
    case.resume(FEDERATION).expect("what is complete may be looked at");
    case.tamper("UPDATE run SET value = 'running' WHERE key = 'status'");
    let error = case.resume(FEDERATION).expect_err("it is another version");
    let told = error.to_string();
    assert!(told.contains("was begun by version 0.0.9 with checkpoints 0, and this is"), "{told}");
    assert!(error.hint().contains("the version that began it"));
}
