//! `script/web`: see its help.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use gravitile_web::{Profile, Server, make, make_lesson};

const HELP: &str = "\
Makes the page of gravitile: a folder that any static host can serve.

usage: script/web [--out FOLDER] [--url URL] [--lesson] [--dev] [--names] [--serve [PORT]]

  --out FOLDER    where to put it (target/web/page if left out)
  --url URL       the address that the folder will have, such as https://example.org/gravitile/: programs in which
                  somebody pastes a link to a scene find its picture only by the whole address
  --lesson        only the lesson, lesson.html
  --dev           compile quickly, for work on the page; the page is large and slow
  --names         keep the names of functions, for profilers: the page is larger
  --serve [PORT]  serve it on this machine until Ctrl-C (port 8320 if left out)
";

struct Arguments {
    out: PathBuf,
    url: Option<String>,
    profile: Profile,
    names: bool,
    lesson: bool,
    serve: Option<u16>,
}

fn parse_arguments() -> Result<Option<Arguments>> {
    let root = repository_root();
    let mut arguments = Arguments {
        out: root.join("target/web/page"),
        url: None,
        profile: Profile::Release,
        names: false,
        lesson: false,
        serve: None,
    };
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => arguments.out = words.next().context("--out wants a folder")?.into(),
            "--url" => arguments.url = Some(words.next().context("--url wants an address")?),
            "--dev" => (arguments.profile, arguments.names) = (Profile::Dev, true),
            "--lesson" => arguments.lesson = true,
            "--names" => arguments.names = true,
            "--serve" => {
                let port = words.next_if(|word| !word.starts_with('-'));
                let port = port.map_or(Ok(8320), |port| {
                    port.parse().with_context(|| format!("'{port}' is no port"))
                });
                arguments.serve = Some(port?);
            }
            "-h" | "--help" => return Ok(None),
            other => bail!("'{other}' is unknown\n\n{HELP}"),
        }
    }
    Ok(Some(arguments))
}

fn repository_root() -> PathBuf {
    let tool = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tool.join("../..").canonicalize().unwrap_or(tool)
}

fn run() -> Result<()> {
    let Some(Arguments { out, url, profile, names, lesson, serve }) = parse_arguments()? else {
        print!("{HELP}");
        return Ok(());
    };
    let root = repository_root();
    let lesson = if lesson {
        make_lesson(&root, &out, profile, names)?
    } else {
        let (page, lesson) = make(&root, &out, profile, names, url.as_deref())?;
        println!("{}: {page}", out.display());
        lesson
    };
    println!("{}/lesson.html: {lesson}", out.display());
    if let Some(port) = serve {
        let server = Server::open(&out, port)?;
        println!("http://{}/ (Ctrl-C ends)", server.address());
        server.run();
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("script/web: {error:#}");
            ExitCode::FAILURE
        }
    }
}
