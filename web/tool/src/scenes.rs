//! A page for each scene with Open Graph tags (ogp.me), so that link previews show its title and
//! picture.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Writes `NAME.html`, and `NAME.png` if there is a picture, for each built-in scene into `out`.
/// The pages are `index` with another scene, title and description; `url` is the folder's address.
pub fn write(root: &Path, out: &Path, index: &str, url: Option<&str>) -> Result<()> {
    let url = url.map_or(String::new(), |url| format!("{}/", url.trim_end_matches('/')));
    for entry in fs::read_dir(root.join("assets/scenes")).context("reading assets/scenes")? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let (title, about) =
            title_and_summary(&text).with_context(|| format!("{}", path.display()))?;
        let picture = root.join(format!("src/app/assets/welcome/{name}.png"));
        let mut tags = vec![
            ("og:type", "website".to_owned()),
            ("og:title", title.clone()),
            ("og:description", about.clone()),
        ];
        if !url.is_empty() {
            tags.push(("og:url", format!("{url}{name}.html")));
        }
        if picture.exists() {
            fs::copy(&picture, out.join(format!("{name}.png")))?;
            tags.push(("og:image", format!("{url}{name}.png")));
        }
        fs::write(out.join(format!("{name}.html")), page(index, &name, &title, &about, &tags)?)?;
    }
    Ok(())
}

/// Title and first sentence of a scene file.
fn title_and_summary(text: &str) -> Option<(String, String)> {
    let title = text.split_once("title = \"")?.1.split_once('"')?.0;
    let about = text.split_once("about = \"\"\"")?.1.split_once("\"\"\"")?.0;
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
    Some((title.to_owned(), first.trim_end_matches('.').to_owned()))
}

/// Text as the content of an element or of an attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

fn page(
    index: &str,
    name: &str,
    title: &str,
    about: &str,
    tags: &[(&str, String)],
) -> Result<String> {
    let (before, rest) = index.split_once("<title>").context("web/index.html has no title")?;
    let rest = rest.split_once('\n').context("web/index.html ends after its title")?.1;
    let rest = rest.split_once('\n').context("web/index.html ends after its description")?.1;
    let before = before.replace("<html ", &format!("<html data-scene=\"{name}\" "));
    ensure!(before.contains("data-scene"), "web/index.html has no attributes of html");
    let mut page = format!("{before}<title>{} · gravitile</title>\n", escape(title));
    page += &format!("<meta name=\"description\" content=\"{}\">\n", escape(about));
    for (property, content) in tags {
        page += &format!("<meta property=\"{property}\" content=\"{}\">\n", escape(content));
    }
    Ok(page + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_a_page_with_its_title_and_picture() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = tempfile::tempdir().unwrap();
        let index = fs::read_to_string(root.join("web/index.html")).unwrap();
        write(&root, out.path(), &index, Some("https://example.org/g")).unwrap();
        let page = fs::read_to_string(out.path().join("figure-eight.html")).unwrap();
        for part in [
            "<html data-scene=\"figure-eight\" lang=\"en\">",
            "content=\"https://example.org/g/figure-eight.png\"",
            "content=\"https://example.org/g/figure-eight.html\"",
            "<link rel=\"icon\"",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        let counts = ["<title>", "\"description\""].map(|part| page.matches(part).count());
        assert_eq!(counts, [1, 1], "{page}");
        assert!(out.path().join("figure-eight.png").exists());
        for scene in fs::read_dir(root.join("assets/scenes")).unwrap() {
            let name = scene.unwrap().path().with_extension("html");
            assert!(out.path().join(name.file_name().unwrap()).exists(), "{}", name.display());
        }
    }
}
