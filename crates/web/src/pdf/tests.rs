use super::*;

/// A PDF of one page that says "Hello from a PDF".
fn small() -> Vec<u8> {
    let stream = "BT /F1 24 Tf 72 700 Td (Hello from a PDF) Tj ET";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{stream}\nendstream", stream.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let table = out.len();
    out.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for place in places {
        out.push_str(&format!("{place:010} 00000 n \n"));
    }
    out.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    out.into_bytes()
}

fn program(script: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reader");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

#[test]
fn the_words_of_a_pdf_are_found() {
    assert_eq!(extracted(small()).unwrap().trim(), "Hello from a PDF");
}

#[test]
fn a_damaged_pdf_is_an_error() {
    let mut bytes = small();
    bytes.truncate(200);
    assert!(extracted(bytes).is_err());
    assert!(extracted(b"%PDF-1.7\nnothing".to_vec()).is_err());
}

#[tokio::test]
async fn what_the_reader_says_is_the_text_and_what_it_complains_of_is_the_error() {
    let (_kept, path) = program("cat >/dev/null; printf 'noise\\ntalaria-pdf 1\\nthe text'");
    assert_eq!(read(Some(&path), small()).await.unwrap(), "the text");
    let (_kept, path) = program("cat >/dev/null; echo 'it is damaged' >&2; exit 1");
    let error = read(Some(&path), small()).await.unwrap_err().to_string();
    assert_eq!(error, "the PDF could not be read: it is damaged");
    let (_kept, path) = program("kill -9 $$");
    assert!(read(Some(&path), small()).await.is_err());
    let (_kept, path) = program("echo 'running 0 tests'");
    assert!(
        read(Some(&path), small()).await.is_err(),
        "another program is no reader"
    );
    assert!(read(None, small()).await.is_err());
}

#[tokio::test]
async fn a_reader_that_never_ends_is_stopped() {
    let (_kept, path) = program("exec sleep 1000");
    let error = within(Duration::ZERO, answer_of(&path, Vec::new()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("did not end within 0 s"), "{error}");
}
