//! Every file in `sql/` that is no migration holds one statement that the newest format understands.

use rusqlite::Connection;

#[test]
fn each_file_is_one_statement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(sanare_store::Sqlite::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let statements = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
    let mut seen = 0;
    for entry in std::fs::read_dir(statements).unwrap() {
        let file = entry.unwrap().path();
        if file.is_dir() {
            continue;
        }
        // `prepare` of a text with a second statement is an error.
        connection
            .prepare(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}
