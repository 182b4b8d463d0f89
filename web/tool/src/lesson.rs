//! The lesson: `lesson.html`, whose text is docs/tiling.md and docs/tree.md. A figure there stays
//! the recorded picture, and becomes a live one where a definition for it exists.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::questions::{Questions, parse as parse_questions};
use super::scenes::escape;

/// The chapters in `docs/`, with what the anchors of each begin with.
const CHAPTERS: [(&str, &str); 2] = [("tiling", ""), ("tree", "tree-")];

/// What the pages themselves have of other documents: a link in `docs/`, and the address that takes
/// its place.
const PLACES: [(&str, &str); 3] = [
    ("lesson.md#in-a-browser", "lesson.html"),
    ("lesson.md#kernels-to-mend", "lesson.html#editor"),
    ("lab.md", "teacher.html"),
];

/// Pictures of `docs/figures` with a live figure: the path's beginning, and the figure that is
/// measured.
const LIVE: [(&str, &str); 3] =
    [("figures/h200/unroll", "unroll"), ("figures/h200/p", "p"), ("figures/h200/q", "q")];

/// Figures of the records that the page draws itself, by their file in `benches/results/`.
const RECORDED: [(&str, &[&str]); 2] = [
    ("nvidia-h200.jsonl", &["n", "unroll", "p", "q", "ceilings", "roofline"]),
    ("nvidia-h100.jsonl", &["ladder", "shapes"]),
];

/// The kernels of the editor, in `docs/lesson/`.
const KERNELS: [&str; 5] = ["plain", "mend-barrier", "mend-tail", "mend-banks", "mend-order"];

/// Writes `lesson.html`, `teacher.html` and the pictures and records that it shows into `out`;
/// returns the names of the files that the page loads at once.
pub fn write(root: &Path, out: &Path) -> Result<Vec<String>> {
    let docs = root.join("docs");
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("{}", path.display()));
    let questions = parse_questions(&read(&docs.join("lesson/questions.md"))?)?;
    let address = address(&read(&root.join("Cargo.toml"))?)?;
    let (mut text, mut contents, mut pictures) = (String::new(), String::new(), Vec::new());
    for (name, prefix) in CHAPTERS {
        let source = read(&docs.join(name).with_extension("md"))?;
        let chapter = Chapter { name, prefix, home: "", address: &address, questions: &questions };
        let made = chapter.html(&source, &mut pictures)?;
        text += &made.text;
        contents += &made.contents;
    }
    questions.check_used(&text)?;
    for picture in &pictures {
        fs::copy(docs.join(picture), out.join(flat(picture)))
            .with_context(|| format!("copying {picture}"))?;
    }
    let mut kernels = String::new();
    for name in KERNELS {
        let source = read(&docs.join("lesson").join(name).with_extension("wgsl"))?;
        kernels += &format!("<template id=\"kernel-{name}\">{}</template>\n", escape(&source));
    }
    let page = read(&root.join("web/lesson.html"))?;
    let page = fill(&page, "contents", &contents)?;
    let page = fill(&page, "text", &text)?;
    let page = fill(&page, "kernels", &kernels)?;
    fs::write(out.join("lesson.html"), page)?;
    let none = parse_questions("")?;
    let lab = Chapter {
        name: "lab",
        prefix: "",
        home: "lesson.html",
        address: &address,
        questions: &none,
    };
    let lab = lab.html(&read(&docs.join("lab.md"))?, &mut Vec::new())?.text;
    let teacher = fill(&read(&root.join("web/teacher.html"))?, "text", &lab)?;
    fs::write(out.join("teacher.html"), teacher)?;
    let mut records = String::new();
    for (file, figures) in RECORDED {
        let lines = read(&root.join("benches/results").join(file))?;
        let is_shown = |line: &&str| {
            figures.iter().any(|figure| line.contains(&format!("\"figure\":\"{figure}\"")))
        };
        records.extend(lines.lines().filter(is_shown).flat_map(|line| [line, "\n"]));
    }
    fs::write(out.join("lesson-records.json"), records)?;
    let mut files =
        ["lesson.html", "teacher.html", "lesson-records.json"].map(str::to_owned).to_vec();
    files.extend(pictures.iter().map(|picture| flat(picture)));
    Ok(files)
}

/// Replaces the place of that name in the page.
fn fill(page: &str, name: &str, by: &str) -> Result<String> {
    let place = format!("<!-- {name} -->");
    ensure!(page.matches(&place).count() == 1, "web/lesson.html has no place for the {name}");
    Ok(page.replace(&place, by))
}

fn address(manifest: &str) -> Result<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("repository = \""));
    Ok(line
        .and_then(|rest| rest.split('"').next())
        .context("Cargo.toml names no repository")?
        .to_owned())
}

/// The name of a picture in the page's folder, which has no folders in it.
fn flat(picture: &str) -> String {
    picture.trim_start_matches("figures/").replace('/', "-")
}

/// A heading's anchor, as hosts of Markdown make it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

struct Chapter<'a> {
    name: &'a str,
    prefix: &'a str,
    /// The page that has the chapters, empty for itself.
    home: &'a str,
    address: &'a str,
    questions: &'a Questions,
}

#[derive(Default)]
struct Made {
    text: String,
    contents: String,
}

impl Chapter<'_> {
    /// The chapter as HTML, each section with its anchor and followed by its questions.
    fn html(&self, source: &str, pictures: &mut Vec<String>) -> Result<Made> {
        let source = without_quotes(source);
        let parser = Parser::new_ext(&source, Options::ENABLE_TABLES);
        let (mut events, mut made) = (Vec::new(), Made::default());
        let mut heading: Option<(HeadingLevel, String)> = None;
        let mut picture: Option<(String, String)> = None;
        let mut section: Option<String> = None;
        let mut used: HashMap<String, usize> = HashMap::new();
        let own = |html: String| Event::Html(CowStr::from(html));
        for event in parser {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    if level <= HeadingLevel::H2
                        && let Some(before) = section.take()
                    {
                        events.push(own(self.questions.html(&before)));
                    }
                    heading = Some((level, String::new()));
                }
                Event::End(TagEnd::Heading(_)) => {
                    let (level, title) =
                        heading.take().context("a heading ends that did not begin")?;
                    let base = match level {
                        HeadingLevel::H1 => self.name.to_owned(),
                        _ => format!("{}{}", self.prefix, anchor(&title)),
                    };
                    let count = used.entry(base.clone()).or_default();
                    let id = if *count == 0 { base } else { format!("{base}-{count}") };
                    *count += 1;
                    // Titles of chapters are sections of the page, whose own title is above.
                    let depth = level as usize + 1;
                    events.push(own(format!(
                        "<h{depth} id=\"{id}\">{}</h{depth}>\n",
                        escape(&title)
                    )));
                    if level <= HeadingLevel::H2 {
                        let class =
                            if level == HeadingLevel::H1 { " class=\"chapter\"" } else { "" };
                        made.contents +=
                            &format!("<li{class}><a href=\"#{id}\">{}</a></li>\n", escape(&title));
                        section = Some(id);
                    }
                }
                Event::Start(Tag::Image { dest_url, .. }) => {
                    picture = Some((dest_url.to_string(), String::new()));
                }
                Event::End(TagEnd::Image) => {
                    let (path, words) =
                        picture.take().context("a picture ends that did not begin")?;
                    events.push(own(figure(&path, &words)));
                    pictures.push(path);
                }
                Event::Text(words) | Event::Code(words)
                    if heading.is_some() || picture.is_some() =>
                {
                    let into =
                        heading.as_mut().map(|h| &mut h.1).or(picture.as_mut().map(|p| &mut p.1));
                    into.into_iter().for_each(|into| into.push_str(&words));
                }
                Event::SoftBreak | Event::HardBreak if picture.is_some() => {
                    picture.iter_mut().for_each(|(_, words)| words.push(' '));
                }
                Event::InlineHtml(_) if picture.is_some() => {}
                Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                    let dest_url = CowStr::from(self.link(&dest_url));
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
                Event::Start(Tag::Table(columns)) => {
                    events.push(own(
                        "<div class=\"wide\" role=\"region\" aria-label=\"Table\" tabindex=\"0\">"
                            .to_owned(),
                    ));
                    events.push(Event::Start(Tag::Table(columns)));
                }
                Event::End(TagEnd::Table) => {
                    events.extend([Event::End(TagEnd::Table), own("</div>\n".to_owned())])
                }
                Event::Html(html) => {
                    events.push(own(live_place(&html).unwrap_or_else(|| html.to_string())))
                }
                other => events.push(other),
            }
        }
        if let Some(last) = section {
            events.push(own(self.questions.html(&last)));
        }
        html::push_html(&mut made.text, events.into_iter());
        // Code scrolls sideways, by the keyboard too. A figure is no part of a paragraph.
        made.text = made.text.replace("<pre>", "<pre tabindex=\"0\">");
        made.text = made
            .text
            .replace("<p><figure", "<figure")
            .replace("</figure>\n</p>", "</figure>")
            .replace("</figure></p>", "</figure>");
        Ok(made)
    }

    /// The address of a link from the lesson.
    fn link(&self, to: &str) -> String {
        if let Some((_, place)) = PLACES.iter().find(|(known, _)| *known == to) {
            return (*place).to_owned();
        }
        let home = self.home;
        let (path, fragment) = to.split_once('#').map_or((to, ""), |(path, anchor)| (path, anchor));
        let chapter = CHAPTERS.iter().find(|(name, _)| path == format!("{name}.md"));
        match (path, chapter) {
            ("", _) => format!("#{}{fragment}", self.prefix),
            (_, Some((name, _))) if fragment.is_empty() => format!("{home}#{name}"),
            (_, Some((_, prefix))) => format!("{home}#{prefix}{fragment}"),
            _ if path.contains("://") => to.to_owned(),
            _ => {
                let path = path.strip_prefix("../").map_or(format!("docs/{path}"), str::to_owned);
                let fragment =
                    if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
                format!("{}/blob/HEAD/{path}{fragment}", self.address)
            }
        }
    }
}

/// The text without the marks of quoted numbers (`script/quote`).
fn without_quotes(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) =
        ["<!-- quote:", "<!-- /quote"].iter().filter_map(|mark| rest.find(mark)).min()
    {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once("-->").map_or("", |(_, after)| after);
        // The mark of a table has a line of its own, which would end the table's paragraph.
        if text.ends_with('\n') {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }
    text + rest
}

/// A recorded figure: the picture, its words below, and the place of the live one.
fn figure(path: &str, words: &str) -> String {
    // A definition may have several pictures: p.svg, p-2.svg.
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let live = LIVE.iter().find(|(picture, _)| stem == *picture);
    let live = live.map_or(String::new(), |(_, name)| format!(" data-recorded=\"{name}\""));
    format!(
        "<figure{live}><img src=\"{}\" alt=\"{}\" loading=\"lazy\"><figcaption>{}</figcaption></figure>",
        flat(path),
        escape(words),
        escape(words)
    )
}

/// The place of what only the page has, from a comment such as `<!-- live: ladder -->`.
fn live_place(html: &str) -> Option<String> {
    let name = html.trim().strip_prefix("<!-- live: ")?.strip_suffix(" -->")?;
    Some(format!("<div class=\"live\" data-live=\"{}\"></div>\n", escape(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(source: &str) -> (String, Vec<String>) {
        let questions =
            parse_questions("## tiles-p\n\nWhat?\n\n- no\n- [x] yes\n\n> Because.\n").unwrap();
        let chapter = Chapter {
            name: "tiling",
            prefix: "",
            home: "",
            address: "https://example.org/g",
            questions: &questions,
        };
        let mut pictures = Vec::new();
        let text = chapter.html(source, &mut pictures).unwrap().text;
        (text, pictures)
    }

    #[test]
    fn headings_figures_links_and_quoted_tables_become_html() {
        let (text, pictures) = made(
            "# Tiles\n\n## Tiles: p\n\nThe rate is\n<!-- quote: rate x -->162<!-- /quote --> [there](tree.md#the-idea), \
             [and](lesson.md), [here](#tiles-p).\n\n![Rate against p < q,\nN = 1,024](figures/h200/p.svg)\n\
             ![Second](figures/h200/p-2.svg)\n\n<!-- quote: rows -->\n| N | q |\n|--:|--:|\n| 1 | 2 |\n<!-- /quote -->\n\n\
             <!-- live: ladder -->\n\n## Next\n",
        );
        for part in [
            "<h3 id=\"tiles-p\">Tiles: p</h3>",
            "The rate is\n162 <a href=\"#tree-the-idea\">there</a>",
            "<a href=\"https://example.org/g/blob/HEAD/docs/lesson.md\">and</a>",
            "<a href=\"#tiles-p\">here</a>",
            "<figure data-recorded=\"p\"><img src=\"h200-p.svg\" alt=\"Rate against p &lt; q, N = 1,024\"",
            "<figure data-recorded=\"p\"><img src=\"h200-p-2.svg\"",
            "<td style=\"text-align: right\">1</td>",
            "<div class=\"live\" data-live=\"ladder\"></div>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("quote") && !text.contains("<p><figure"), "{text}");
        assert_eq!(pictures, ["figures/h200/p.svg", "figures/h200/p-2.svg"]);
        // The question of a section follows it and comes before the next.
        let [question, next] = ["What?", "id=\"next\""].map(|part| text.find(part).unwrap());
        assert!(question < next);
    }

    #[test]
    fn lesson_has_every_table_picture_and_anchor_of_the_chapters() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = tempfile::tempdir().unwrap();
        write(&root, out.path()).unwrap();
        let page = fs::read_to_string(out.path().join("lesson.html")).unwrap();
        let docs = CHAPTERS.map(|(name, _)| {
            fs::read_to_string(root.join("docs").join(name).with_extension("md")).unwrap()
        });
        let count = |part: &str| docs.iter().map(|text| text.matches(part).count()).sum::<usize>();
        assert_eq!(page.matches("<img ").count(), count("!["));
        assert_eq!(
            page.matches("<table>").count(),
            docs.iter().map(|text| rules(text)).sum::<usize>()
        );
        // Code between fences, and formulas that are indented.
        assert_eq!(page.matches("<pre ").count(), count("\n```") / 2 + count("\n\n    "));
        assert!(!page.contains("http://") && !page.contains("<!-- quote"));
        for part in page.split("href=\"#").skip(1) {
            let anchor = part.split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{anchor}\"")), "no #{anchor}");
        }
        for part in page.split("<img src=\"").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(out.path().join(name).exists(), "{name}");
            let words = part.split("alt=\"").nth(1).unwrap().split('"').next().unwrap();
            assert!(words.len() > 10, "{name}: {words}");
        }
        let records = fs::read_to_string(out.path().join("lesson-records.json")).unwrap();
        assert!(records.lines().count() > 80 && !records.contains("\"figure\":\"blocks\""));
    }

    #[test]
    fn teachers_page_has_90_minutes_and_its_links_lead_into_the_lesson() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = tempfile::tempdir().unwrap();
        write(&root, out.path()).unwrap();
        let [lesson, teacher] = ["lesson.html", "teacher.html"]
            .map(|name| fs::read_to_string(out.path().join(name)).unwrap());
        let minutes = teacher.split("<tr><td style=\"text-align: right\">").skip(1);
        let minutes: u32 =
            minutes.map(|row| row.split('<').next().unwrap().parse::<u32>().unwrap()).sum();
        assert_eq!(minutes, 90);
        let links: Vec<&str> = teacher.split("href=\"lesson.html#").skip(1).collect();
        assert!(links.len() > 6, "{}", links.len());
        for link in links {
            let anchor = link.split('"').next().unwrap();
            assert!(lesson.contains(&format!("id=\"{anchor}\"")), "no #{anchor}");
        }
        // Nothing runs on it.
        assert!(!teacher.contains("<script") && !teacher.contains("<form"));
        assert!(lesson.contains("href=\"teacher.html\""));
    }

    /// Tables in Markdown: lines of bars and dashes.
    fn rules(text: &str) -> usize {
        text.lines().filter(|line| line.starts_with("|--") || line.starts_with("|:-")).count()
    }
}
