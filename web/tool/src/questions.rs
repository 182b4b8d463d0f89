//! The questions of the lesson, from docs/lesson/questions.md: a heading is the anchor of the
//! section that they follow, a paragraph is a question, a list its answers with the right one
//! marked `[x]`, and a quotation the explanation.
//!
//! A line `measured: FIGURE, fewest` (or `most`) before the answers makes a prediction of them: the
//! right one is the fastest in that figure with the fewest (or most) bodies, as measured on the
//! reader's device. Answers are names of curves or parts of kernels, such as `p=64`.

use anyhow::{Result, ensure};

use super::scenes::escape;

/// All questions, in the order of the file.
pub struct Questions(Vec<Question>);

#[derive(Default)]
struct Question {
    section: String,
    words: String,
    answers: Vec<(String, bool)>,
    explanation: String,
    /// The figure that decides, and whether with the most bodies.
    measured: Option<(String, bool)>,
}

/// Reads the file's text.
pub fn parse(text: &str) -> Result<Questions> {
    let (mut questions, mut section, mut question) =
        (Vec::new(), String::new(), Question::default());
    for line in text.lines().map(str::trim) {
        let done = !question.explanation.is_empty();
        let is_next = line.starts_with('#') || (done && !line.is_empty() && !line.starts_with('>'));
        if is_next && !question.words.is_empty() {
            questions.push(std::mem::take(&mut question));
        }
        let join = |into: &mut String, words: &str| {
            if !into.is_empty() {
                into.push(' ');
            }
            into.push_str(words);
        };
        if let Some(name) = line.strip_prefix("## ") {
            section = name.to_owned();
        } else if let Some(by) = line.strip_prefix("measured: ") {
            let (figure, bodies) = by.split_once(", ").unwrap_or((by, ""));
            ensure!(
                ["fewest", "most"].contains(&bodies),
                "'{line}' does not end in 'fewest' or 'most'"
            );
            question.measured = Some((figure.to_owned(), bodies == "most"));
        } else if let Some(words) = line.strip_prefix("- ") {
            let right = words.strip_prefix("[x] ");
            question.answers.push((right.unwrap_or(words).to_owned(), right.is_some()));
        } else if let Some(words) = line.strip_prefix("> ") {
            join(&mut question.explanation, words);
        } else if !line.is_empty() && !section.is_empty() {
            question.section.clone_from(&section);
            join(&mut question.words, line);
        }
    }
    if !question.words.is_empty() {
        questions.push(question);
    }
    for Question { words, answers, explanation, measured, .. } in &questions {
        let right = answers.iter().filter(|(_, right)| *right).count();
        ensure!(
            answers.len() >= 2 && right == usize::from(measured.is_none()),
            "'{words}' has {} answers, {right} of them right",
            answers.len()
        );
        ensure!(!explanation.is_empty(), "'{words}' has no explanation");
    }
    Ok(Questions(questions))
}

impl Questions {
    /// The questions of a section, as forms.
    pub fn html(&self, section: &str) -> String {
        let own = self.0.iter().enumerate().filter(|(_, question)| question.section == section);
        own.map(|(k, question)| question.html(k)).collect()
    }

    /// Checks that the text contains every question.
    pub fn check_used(&self, text: &str) -> Result<()> {
        for (k, Question { section, words, .. }) in self.0.iter().enumerate() {
            ensure!(
                text.contains(&format!("id=\"question-{k}\"")),
                "no section '{section}' for '{words}'"
            );
        }
        Ok(())
    }
}

impl Question {
    fn html(&self, k: usize) -> String {
        let measured = self.measured.as_ref().map_or(String::new(), |(figure, is_most)| {
            let bodies = if *is_most { "most" } else { "fewest" };
            format!(" data-figure=\"{}\" data-bodies=\"{bodies}\"", escape(figure))
        });
        let mut html = format!(
            "<form class=\"question\" id=\"question-{k}\"{measured}><fieldset><legend>{}</legend>\n",
            escape(&self.words)
        );
        for (i, (words, right)) in self.answers.iter().enumerate() {
            let right = if *right { " data-right" } else { "" };
            html += &format!(
                "<label><input type=\"radio\" name=\"q{k}\" value=\"{i}\"{right}> {}</label>\n",
                escape(words)
            );
        }
        let check = if self.measured.is_some() { "Predict" } else { "Check" };
        html += &format!("</fieldset><button>{check}</button> <output></output>\n");
        html + &format!(
            "<details><summary>Answer</summary><p>{}</p></details></form>\n",
            escape(&self.explanation)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_and_incomplete_ones_refused() {
        let text = "# Questions\n\nIntroduction.\n\n## a\n\nWhat\nis < it?\n\n- one\n- [x] two\n\n> Because.\n> Really.\n\nSecond?\n\n\
                    - [x] yes\n- no\n\n> So.\n\n## b\n\nThird?\n\n- [x] 1\n- 2\n\n> Three.\n";
        let questions = parse(text).unwrap();
        let html = questions.html("a");
        assert_eq!(html.matches("<form").count(), 2, "{html}");
        assert!(html.contains("What is &lt; it?") && html.contains("Because. Really."), "{html}");
        assert_eq!(html.matches("data-right").count(), 2);
        assert_eq!(questions.html("b").matches("<form").count(), 1);
        assert!(questions.check_used(&html).unwrap_err().to_string().contains("'b'"));
        let predicted = "## a\n\nWhich?\n\nmeasured: ladder, most\n\n- naive\n- tiled\n\n> Why.\n";
        let html = parse(predicted).unwrap().html("a");
        assert!(html.contains("data-figure=\"ladder\" data-bodies=\"most\""), "{html}");
        assert!(!html.contains("data-right") && html.contains("<legend>Which?<"), "{html}");
        for wrong in [
            "## a\n\nX?\n\nmeasured: p\n\n- one\n- two\n\n> y\n",
            "## a\n\nX?\n\nmeasured: p, most\n\n- one\n- [x] two\n\n> y\n",
            "## a\n\nX?\n\n- one\n\n> y\n",
            "## a\n\nX?\n\n- [x] one\n- two\n",
            "## a\n\nX?\n\n- one\n- two\n\n> y\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
