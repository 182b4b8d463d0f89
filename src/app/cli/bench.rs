//! `gravitile bench`: what kernels cost on this adapter, and why.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::options::Measured;
use super::{Ended, interrupt, print, progress};
use crate::app::lookup;
use crate::error::Error;
use crate::files;
use crate::forces::{EngineKind, Method};
use crate::gpu::{AdapterRequest, Gpu};
use crate::inspect::Inspector;
use crate::measure::figures::{self, Figure};
use crate::measure::{Kind, Observer, Record, Session, Sizes, cpu_device, report};
use crate::measure::{read_json_lines, to_csv, to_json_lines};
use crate::settings::MethodRequest;

/// Measure kernels on this adapter: rates, ceilings, and the figures of the papers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile bench                                  the standard table, about a minute
  gravitile bench --figure all --out results/      all figures, as JSON lines, CSV, SVG and HTML
  gravitile bench --figure p --adapter nvidia
  gravitile bench --engine cpu                     the CPU alone; gpu: the adapter alone
  gravitile bench --figure instructions --gpu gfx1100
  gravitile bench --figure blocks --out runs/      energy errors and times of Hermite runs, many minutes
  gravitile bench --figure rule                    what auto takes against the best of all shapes, minutes
  gravitile bench --from results.jsonl --figure q --out plots/   draw again, measure nothing
  gravitile bench --compare a.jsonl b.jsonl --out comparison/
  gravitile bench --compare benches/results/*.jsonl --markdown")]
pub struct Args {
    /// Figure: table, n, unroll, p, q (GPU Gems 3), sinks, crossover, precision, order (Sapporo2), blocks
    /// (runs on individual steps), ceilings, roofline, instructions, rule, tree-error, tree-theta, tree-n,
    /// tree-parts (Octgrav), all (without blocks and rule, which take many minutes)
    #[arg(long, value_name = "NAME", default_value = "table")]
    figure: String,
    /// Folder for results.jsonl, results.csv, report.html and the plots; created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Small sizes and few samples: everything within seconds, for a first look
    #[arg(long)]
    quick: bool,
    /// The AMD GPU for which the figure instructions compiles by Mesa's RADV; it need not be present
    #[arg(long, value_name = "NAME", default_value = "navi21")]
    gpu: String,
    /// Measure the CPU engine alone: as --engine cpu
    #[arg(long, conflicts_with_all = ["adapter", "baseline"])]
    no_gpu: bool,
    /// Measure nothing: put result files side by side
    #[arg(long, value_name = "FILE.jsonl", num_args = 1.., conflicts_with_all = ["figure", "quick", "no_gpu", "adapter", "baseline"])]
    compare: Vec<PathBuf>,
    /// Measure nothing: draw the figures of a result file into the folder of --out
    #[arg(long, value_name = "FILE.jsonl", requires = "out", conflicts_with_all = ["compare", "quick", "no_gpu", "adapter", "baseline"])]
    from: Option<PathBuf>,
    /// With --compare: print the table in Markdown
    #[arg(long, requires = "compare")]
    markdown: bool,
    #[command(flatten)]
    by: MethodRequest,
    #[command(flatten)]
    adapter: AdapterRequest,
}

/// Rates are those of pairs.
const MEASURED: Measured = Measured {
    engines: &[EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu],
    methods: &[Method::Direct],
    what: "what the figures show is the direct method, pair by pair",
};

pub fn main(args: &Args) -> Result<Ended> {
    let engine = match MEASURED.engine(&args.by)? {
        _ if args.no_gpu => EngineKind::Cpu,
        engine => engine,
    };
    let folder = args.out.as_deref().map(Folder::make).transpose()?;
    if !args.compare.is_empty() {
        return compare(args, folder.as_ref());
    }
    let wanted = figures::named(&args.figure)?;
    if let (Some(path), Some(folder)) = (&args.from, &folder) {
        let records = read_json_lines(path)?;
        return redraw(&records, &wanted, folder);
    }
    // First of all: it sets variables of the environment, and graphics drivers start threads.
    let asked = wanted.iter().any(|figure| figure.name == "instructions");
    // SAFETY: the only other thread waits for Ctrl-C and reads no variables.
    let absent = asked.then(|| unsafe { Inspector::absent(&args.gpu) });
    if let Some(Err(error @ Error::Unknown { .. })) = absent {
        return Err(error.into());
    }
    let gpu = adapter(engine, &args.adapter)?;
    interrupt::end_in_good_order();
    let sizes = Sizes::for_adapter(gpu.as_deref(), args.quick);
    print::text(&heading(gpu.as_deref(), &sizes))?;
    let mut watcher = Watcher { bar: progress::bar(1000, "") };
    let style = ProgressStyle::with_template("{prefix:>10} [{bar:30}] {percent:>3} % {msg}");
    let style = style.expect("the template should be valid").progress_chars("=> ");
    let bar = watcher.bar.clone();
    bar.set_style(style);
    let mut session = Session::new(gpu, sizes, &mut watcher);
    session.known = lookup::known();
    session.cpu = engine != EngineKind::Gpu;
    if let Some(absent) = absent {
        session.absent = absent.map_err(|error| error.to_string());
    }
    for figure in &wanted {
        let begun = web_time::Instant::now();
        bar.set_prefix(figure.name);
        match (figure.measure)(&mut session) {
            // Half a figure is kept too.
            Err(Error::Stopped) => (),
            measured => measured?,
        }
        let line = finished(figure, &session.records, begun.elapsed().as_secs_f64());
        bar.suspend(|| print::text(&line))?;
        // After each figure: a crash or a power cut later leaves what there is.
        if let Some(folder) = &folder {
            folder.write(&session.records)?;
        }
        if session.is_stopped() || interrupt::wanted() {
            break;
        }
    }
    let stopped = session.is_stopped() || interrupt::wanted();
    let records = std::mem::take(&mut session.records);
    bar.finish_and_clear();
    print::text(&summary(&records, &wanted))?;
    if let Some(folder) = &folder {
        print::text(&format!("wrote {}\n", folder.path.join("report.html").display()))?;
    }
    Ok(if stopped { Ended::Interrupted } else { Ended::Done })
}

/// The adapter, where one is wanted and there.
fn adapter(engine: EngineKind, wanted: &AdapterRequest) -> Result<Option<Arc<Gpu>>, Error> {
    if engine == EngineKind::Cpu {
        return Ok(None);
    }
    match Gpu::open_blocking(wanted) {
        Ok(gpu) => Ok(Some(gpu)),
        // One that is asked for must be there; without any, the CPU's figures are made.
        Err(error) if engine == EngineKind::Gpu || wanted.is_certain() => Err(error),
        Err(error) => {
            log::warn!("the CPU engine alone is measured: {error}");
            Ok(None)
        }
    }
}

fn heading(gpu: Option<&Gpu>, sizes: &Sizes) -> String {
    let cpu = cpu_device();
    let mut text = match gpu {
        Some(gpu) => {
            let adapter = &gpu.adapter;
            format!("adapter {} ({}, {})\n", adapter.name, adapter.backend, adapter.driver)
        }
        None => "no adapter: the CPU engine alone\n".to_owned(),
    };
    text += &format!("cpu     {}, {}\nsizes   {}\n", cpu.name, cpu.driver, sizes.name);
    text
}

/// A line for a finished figure.
fn finished(figure: &Figure, records: &[Record], secs: f64) -> String {
    let own = records.iter().filter(|record| record.figure == figure.name);
    let (skipped, measured): (Vec<_>, Vec<_>) = own.partition(|r| r.kind == Kind::Skipped);
    let (skipped, measured) = (skipped.len(), measured.len());
    let mut text = format!("{:<10} {measured} measured", figure.name);
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    text + &format!(", {secs:.1} s\n")
}

/// What the terminal shows at the end: the numbers of a single figure, of `all` the table's.
fn summary(records: &[Record], wanted: &[Figure]) -> String {
    let shown = &wanted[0];
    let own = || records.iter().filter(|record| record.figure == shown.name);
    let mut text = String::new();
    let ceilings = report::ceilings_table(records.iter());
    if ceilings.len() > 1 {
        text += &format!("\n{}", print::table(&ceilings));
    }
    let rates = report::rates_table(own());
    if rates.len() > 1 {
        text += &format!("\n{}", print::table(&rates));
    }
    let compiled = report::compiled_table(own());
    if compiled.len() > 1 {
        text += &format!("\n{}", print::table(&compiled));
    }
    for more in [report::derivatives_table(own()), report::runs_table(own())] {
        if more.len() > 1 {
            text += &format!("\n{}", print::table(&more));
        }
    }
    let mut said: Vec<String> = Vec::new();
    for record in own() {
        let Some(remark) = &record.remark else { continue };
        let line = if record.kind == Kind::Skipped {
            let what = if record.sinks == 0 {
                record.series.clone()
            } else {
                format!("{}, {} x {}", record.kernel_in_words(), record.sinks, record.sources)
            };
            format!("skipped {what}: {remark}\n")
        } else {
            format!("note: {remark}\n")
        };
        // One remark on a whole round of candidates is said once.
        if !said.contains(&line) {
            said.push(line);
        }
    }
    text + &said.concat()
}

fn compare(args: &Args, folder: Option<&Folder>) -> Result<Ended> {
    let mut files = Vec::new();
    for path in &args.compare {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, read_json_lines(path)?));
    }
    let compared = report::compare(&files);
    if compared.table.len() < 2 {
        let words = "none of these files holds a rate of all on all";
        return Err(Error::Outside(words.to_owned()).into());
    }
    if args.markdown {
        print::text(&compared.markdown())?;
    } else {
        print::text(&print::table(&compared.table))?;
        print::text("in 10^9 interactions per second, all on all, the best kernel measured\n")?;
    }
    if let Some(folder) = folder {
        files::replace(folder.path.join("compare.html"), compared.page().as_bytes())?;
        files::replace(folder.path.join("compare.svg"), compared.plot.svg().as_bytes())?;
        if !args.markdown {
            print::text(&format!("wrote {}\n", folder.path.join("compare.html").display()))?;
        }
    }
    Ok(Ended::Done)
}

/// The figures of records that were measured before, perhaps elsewhere.
fn redraw(records: &[Record], wanted: &[Figure], folder: &Folder) -> Result<Ended> {
    let drawn = folder.draw(records, wanted)?;
    if drawn.is_empty() {
        let words = "the result file holds no record of that figure";
        return Err(Error::Outside(words.to_owned()).into());
    }
    for name in drawn {
        print::text(&format!("wrote {}\n", folder.path.join(name).display()))?;
    }
    Ok(Ended::Done)
}

/// Where results go.
struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Made before anything is measured: a folder that cannot be written is said at once.
    fn make(path: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(path).map_err(|error| Error::io("make the folder", path, error))?;
        tempfile::tempfile_in(path).map_err(|error| Error::io("write into", path, error))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Writes all results so far.
    fn write(&self, records: &[Record]) -> Result<(), Error> {
        files::replace(self.path.join("results.jsonl"), to_json_lines(records).as_bytes())?;
        files::replace(self.path.join("results.csv"), to_csv(records).as_bytes())?;
        self.draw(records, figures::FIGURES)?;
        files::replace(self.path.join("report.html"), report::page(records).as_bytes())
    }

    /// Draws those of `figures` that have records; the names of the files.
    fn draw(&self, records: &[Record], figures: &[Figure]) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for figure in figures {
            if !records.iter().any(|record| record.figure == figure.name) {
                continue;
            }
            for (i, plot) in (figure.plots)(records).iter().enumerate() {
                let number = if i == 0 { String::new() } else { format!("-{}", i + 1) };
                let name = format!("{}{number}.svg", figure.name);
                files::replace(self.path.join(&name), plot.svg().as_bytes())?;
                names.push(name);
            }
        }
        Ok(names)
    }
}

/// Shows progress on a bar and listens to Ctrl-C.
struct Watcher {
    bar: ProgressBar,
}

impl Observer for Watcher {
    fn progress(&mut self, part: f64, doing: &str) {
        self.bar.set_position((part * 1000.0) as u64);
        self.bar.set_message(doing.to_owned());
    }

    fn go_on(&mut self) -> bool {
        !interrupt::wanted()
    }
}
