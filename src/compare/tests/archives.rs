//! Packages that lie, by the number of the attack (`docs/attacks.md`): each is refused within bounds.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::chart::Chart;
use crate::package::Refusal;

const META: &[u8] = b"apiVersion: v2\nname: loki\nversion: 1.0.0\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One entry with whatever name; the library would refuse to write most of them.
fn raw(tar: &mut Builder<Vec<u8>>, name: &[u8], kind: EntryType, size: u64, bytes: &[u8]) {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append(&header, bytes).unwrap();
}

fn package(entries: &[(&[u8], EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    raw(&mut tar, b"loki/Chart.yaml", EntryType::Regular, META.len() as u64, META);
    for (name, kind, bytes) in entries {
        raw(&mut tar, name, *kind, bytes.len() as u64, bytes);
    }
    gzip(&tar.into_inner().unwrap())
}

fn refusal(package: &[u8]) -> Refusal {
    Chart::read(package).map(|_| ()).unwrap_err()
}

#[test]
fn a26_what_is_a_chart_is_read() {
    let files: [(&[u8], EntryType, &[u8]); 4] = [
        (b"loki/templates/", EntryType::Directory, b""),
        (b"./loki/templates/a.yaml", EntryType::Regular, b"kind: A\n"),
        (b"loki/values.yaml", EntryType::Regular, b"a: 1\n"),
        (b"loki/charts/minio/Chart.yaml", EntryType::Regular, b"name: minio\nversion: 1.0.0\n"),
    ];
    let chart = Chart::read(&package(&files)).unwrap();
    assert_eq!((chart.name(), chart.version()), ("loki", "1.0.0"));
    assert_eq!(chart.defaults(), serde_json::json!({"a": 1}));
    // A package within a package.
    let inner = package(&[(b"loki/values.yaml", EntryType::Regular, b"b: 2\n")]);
    let chart = Chart::read(&package(&[(b"loki/charts/loki-1.0.0.tgz", EntryType::Regular, &inner)])).unwrap();
    assert_eq!(chart.defaults(), serde_json::json!({"loki": {"b": 2}}));
}

#[test]
fn a26_paths_that_lead_out_are_refused() {
    let names: [&[u8]; 13] = [
        b"loki/../evil",
        b"../evil",
        b"/etc/passwd",
        b"C:/evil",
        b"loki\\evil",
        b"loki//evil",
        b"loki/./evil",
        b"loki/.",
        b".",
        b"Chart.yaml",
        b"other/values.yaml",
        b"loki/a\nb",
        b"loki/a\x1b[0m",
    ];
    for name in names {
        let refused = refusal(&package(&[(name, EntryType::Regular, b"x")]));
        assert!(matches!(refused, Refusal::Path { .. }), "{}: {refused}", name.escape_ascii());
        assert!(!refused.to_string().contains(char::is_control));
    }
}

#[test]
fn a26_links_and_devices_are_refused() {
    use EntryType::{Block, Char, Fifo, Link, Symlink};
    for kind in [Link, Symlink, Char, Block, Fifo, EntryType::new(b'Z')] {
        let refused = refusal(&package(&[(b"loki/values.yaml", kind, b"")]));
        assert!(matches!(refused, Refusal::Odd { .. }), "{kind:?}: {refused}");
    }
}

#[test]
fn a26_a_name_twice_is_refused() {
    let entry: (&[u8], EntryType, &[u8]) = (b"loki/values.yaml", EntryType::Regular, b"a: 1\n");
    let dotted: (&[u8], EntryType, &[u8]) = (b"./loki/values.yaml", EntryType::Regular, b"a: 2\n");
    assert_eq!(refusal(&package(&[entry, entry])), Refusal::Twice("loki/values.yaml".into()));
    assert_eq!(refusal(&package(&[entry, dotted])), Refusal::Twice("./loki/values.yaml".into()));
}

#[test]
fn a26_bombs_are_refused_within_bounds() {
    // 64 MB of nothing in 64 kB, as one file, and as many.
    let zeros = vec![0_u8; 4 << 20];
    let one = vec![0_u8; 6 << 20];
    let refused = refusal(&package(&[(b"loki/values.yaml", EntryType::Regular, &one)]));
    assert!(matches!(&refused, Refusal::TooMuch { what, .. } if what == "`loki/values.yaml`"), "{refused}");
    let names: Vec<String> = (0..16).map(|number| format!("loki/templates/{number}")).collect();
    let many: Vec<(&[u8], EntryType, &[u8])> =
        names.iter().map(|name| (name.as_bytes(), EntryType::Regular, zeros.as_slice())).collect();
    assert!(matches!(refusal(&package(&many)), Refusal::TooMuch { unit: "bytes", .. }));
    // Behind the end of the archive.
    let mut tar = Builder::new(Vec::new());
    raw(&mut tar, b"loki/Chart.yaml", EntryType::Regular, META.len() as u64, META);
    let mut behind = tar.into_inner().unwrap();
    behind.resize(80 << 20, 0);
    assert!(matches!(refusal(&gzip(&behind)), Refusal::TooMuch { unit: "bytes", .. }));
    // A package in a package in a package …
    let mut nested = package(&[]);
    for _ in 0..6 {
        nested = package(&[(b"loki/charts/loki-1.0.0.tgz", EntryType::Regular, &nested)]);
    }
    assert!(matches!(refusal(&nested), Refusal::TooMuch { unit: "levels", .. }));
    // 100,000 entries.
    let names: Vec<String> = (0..100_000).map(|number| format!("loki/templates/{number}")).collect();
    let many: Vec<(&[u8], EntryType, &[u8])> =
        names.iter().map(|name| (name.as_bytes(), EntryType::Regular, &b""[..])).collect();
    assert!(matches!(refusal(&package(&many)), Refusal::TooMuch { unit: "entries", .. }));
    assert!(matches!(refusal(&vec![0; 17 << 20]), Refusal::TooMuch { unit: "bytes", .. }));
}

#[test]
fn a26_two_sizes_of_one_file_are_refused() {
    // A PAX header that says 512 where the entry says 5: who believes the one sees another file than who believes
    // the other.
    let mut tar = Builder::new(Vec::new());
    raw(&mut tar, b"loki/Chart.yaml", EntryType::Regular, META.len() as u64, META);
    let record = b"12 size=512\n";
    raw(&mut tar, b"loki/pax", EntryType::XHeader, record.len() as u64, record);
    raw(&mut tar, b"loki/values.yaml", EntryType::Regular, 5, b"a: 1\n");
    tar.append(&Header::new_ustar(), &b""[..]).ok();
    let refused = refusal(&gzip(&tar.into_inner().unwrap()));
    assert!(matches!(refused, Refusal::Tar(_)), "{refused}");
}

#[test]
fn a26_what_breaks_off_is_refused() {
    let whole = package(&[(b"loki/values.yaml", EntryType::Regular, b"a: 1\n")]);
    for end in [0, 1, 10, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let refused = refusal(&whole[..end]);
        assert!(matches!(refused, Refusal::Gzip(_) | Refusal::Tar(_) | Refusal::Malformed { .. }), "{end}: {refused}");
    }
    for bytes in [&b""[..], b"PK\x03\x04", &gzip(b"no tar at all"), &gzip(&[7_u8; 2048])] {
        refusal(bytes);
    }
    // No chart in it, and one that is none.
    let none = gzip(&Builder::new(Vec::new()).into_inner().unwrap());
    assert!(matches!(refusal(&none), Refusal::Malformed { .. }));
    for values in ["a: [", "- a\n", "a: *b\n"] {
        let refused = refusal(&package(&[(b"loki/values.yaml", EntryType::Regular, values.as_bytes())]));
        assert!(matches!(refused, Refusal::Malformed { .. }), "{values}: {refused}");
    }
}

#[test]
fn a25_aliases_multiply_nothing() {
    let mut values = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for number in 1..20 {
        let before = number - 1;
        values.push_str(&format!("a{number}: &a{number} [*a{before}, *a{before}, *a{before}, *a{before}]\n"));
    }
    let deep = format!("a: {}{}\n", "[".repeat(200), "]".repeat(200));
    for values in [values, deep] {
        let refused = refusal(&package(&[(b"loki/values.yaml", EntryType::Regular, values.as_bytes())]));
        assert!(matches!(refused, Refusal::Malformed { .. }), "{refused}");
    }
}
