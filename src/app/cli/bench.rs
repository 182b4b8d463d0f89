//! `gravitile bench`: how fast kernels run on this adapter, and why.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use indicatif::ProgressStyle;

use super::options::{MeasurableEngines, OwnKernel, check_output};
use super::{Ended, child, inspect, interrupt, print};
use crate::lookup;
use gravitile::error::Error;
use gravitile::forces::{EngineKind, Method};
use gravitile::gpu::{self, AdapterRequest, DeviceCount, Gpu};
use gravitile::inspect::Inspector;
use gravitile::measure::figures::{self, Figure};
use gravitile::measure::{
    BenchSession, BenchSizes, Machine, Record, RecordKind, Run, Score, cpu_device, grouped, latest,
    read_json_lines, report, to_csv, to_json_lines,
};
use gravitile::record::RunFolder;
use gravitile::settings::{KernelRequest, MethodRequest};
use gravitile::{files, messages};

/// Measure kernels on this adapter: rates, ceilings, and the figures of the papers
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile bench                                  the standard table, about a minute
  gravitile bench --figure all --out results/      all figures, as JSON lines, CSV, SVG and HTML
  gravitile bench --figure p --adapter nvidia
  gravitile bench --engine cpu                     the CPU only; --engine gpu: the adapter only
  gravitile bench --figure instructions --gpu gfx1100
  gravitile bench --figure blocks --out runs/      errors and times of Hermite runs, many minutes
  gravitile bench --figure rule                    auto's shape against the best one, many minutes
  gravitile bench --from results.jsonl --figure q --out plots/   redraw without measuring
  gravitile bench --p 256 --r 4 --untiled          adds a kernel shape of your choice to the table
  gravitile bench --figure score --all-adapters    one number to quote for each adapter here
  gravitile bench --from results/results.jsonl --submit my-gpu.jsonl --without power,place
  gravitile bench --compare a.jsonl b.jsonl --out comparison/
  gravitile bench --compare benches/results/*.jsonl --markdown")]
pub struct Args {
    /// Figure to measure: table, n, unroll, p, q (GPU Gems 3), ladder, shapes (of the lesson: each
    /// kernel, p times q), sinks, fill, crossover, precision, order (Sapporo2), transfer, blocks
    /// (kirin: sending bodies, runs on individual steps), ceilings, roofline, instructions, rule,
    /// tree-error, tree-theta, tree-n, tree-parts, tree-rates (Octgrav), tree-bonsai (steps against
    /// errors), devices, devices-tree (several adapters that share the bodies, chosen by --adapter
    /// 0,1), score, or all (except blocks and rule, which take many minutes) [default: table; with
    /// --from, every figure in the file]
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    /// Folder for results.jsonl, results.csv, report.html and the plots; created if it does not
    /// exist. New records are added to results.jsonl; the plots show the last run of each figure
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure on every adapter of this machine, one after the other; --out gets a folder for each
    #[arg(long, conflicts_with_all = ["adapter", "no_gpu"])]
    all_adapters: bool,
    /// Add a remark about the machine to its record: overclocked, lid closed, other users
    #[arg(long, value_name = "TEXT")]
    remark: Option<String>,
    /// Use small sizes and few samples: takes seconds, for a first look
    #[arg(long)]
    quick: bool,
    /// AMD GPU that the figure instructions compiles for, with Mesa's RADV; it need not be present
    #[arg(long, value_name = "NAME", default_value = "navi21")]
    gpu: String,
    /// Compile in this process: drivers crash for some GPUs that are not present
    #[arg(long, hide = true)]
    alone: bool,
    /// Measure only the CPU engine, like --engine cpu
    #[arg(long, conflicts_with_all = ["adapter", "baseline"])]
    no_gpu: bool,
    /// Compare result files side by side instead of measuring
    #[arg(long, value_name = "FILE.jsonl", num_args = 1.., conflicts_with_all = ["figure", "quick", "no_gpu", "adapter", "baseline"])]
    compare: Vec<PathBuf>,
    /// Print the scores of result files as a Markdown table, best first, instead of measuring
    #[arg(long, value_name = "FILE.jsonl", num_args = 1.., conflicts_with_all = ["figure", "quick", "no_gpu", "adapter", "baseline", "compare", "from"])]
    scores: Vec<PathBuf>,
    /// With --from: show what the records say about the machine, and write them to a file to
    /// submit. Nothing is sent
    #[arg(long, value_name = "FILE.jsonl", requires = "from")]
    submit: Option<PathBuf>,
    /// With --submit: leave out these facts about the machine
    #[arg(long, value_name = "NAME,...", requires = "submit", value_delimiter = ',')]
    without: Vec<String>,
    /// Draw the figures of a result file into the folder of --out instead of measuring
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["compare", "quick", "no_gpu", "adapter", "baseline"])]
    from: Option<PathBuf>,
    /// With --compare: print the table as Markdown
    #[arg(long, requires = "compare")]
    markdown: bool,
    #[command(flatten)]
    by: MethodRequest,
    #[command(flatten)]
    adapter: AdapterRequest,
    /// Measured in addition to the default, in the figures table and n.
    #[command(flatten)]
    kernel: KernelRequest,
    #[command(flatten)]
    own: OwnKernel,
}

/// Rates are pairs per second.
const MEASURED: MeasurableEngines = MeasurableEngines {
    engines: &[EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu],
    methods: &[Method::Direct],
    what: "the figures measure the direct method, pair by pair",
};

pub fn main(args: &Args) -> Result<Ended> {
    let engine = match MEASURED.engine(&args.by)? {
        _ if args.no_gpu => EngineKind::Cpu,
        engine => engine,
    };
    if let (Some(path), Some(to)) = (&args.from, &args.submit) {
        return submit(&read_json_lines(path)?, to, &args.without);
    }
    if !args.scores.is_empty() {
        return scores(&args.scores);
    }
    if args.from.is_some() && args.out.is_none() {
        return Err(Error::value("--out", "not given", "a folder with --from, or --submit").into());
    }
    if args.all_adapters {
        return on_each_adapter(args);
    }
    if !args.compare.is_empty() {
        return compare(args, args.out.as_deref().map(Folder::make).transpose()?.as_ref());
    }
    if let (Some(path), Some(out)) = (&args.from, &args.out) {
        let records = read_json_lines(path)?;
        let chosen = args.figure.as_deref().map(figures::named).transpose()?;
        return redraw(
            &records,
            chosen.as_deref().unwrap_or(figures::FIGURES),
            &Folder::make(out)?,
        );
    }
    let (mut by, mut kernel) = (args.by.clone(), args.kernel);
    args.own.apply(&mut by, &mut kernel)?;
    let folder = args.out.as_deref().map(Folder::with_earlier).transpose()?;
    let chosen = figures::named(args.figure.as_deref().unwrap_or("table"))?;
    let fixed = if kernel.own {
        Some(("--force-kernel", "given".to_owned()))
    } else {
        kernel.first_fixed()
    };
    if let Some((name, value)) = fixed
        && chosen.iter().all(|figure| !["table", "n"].contains(&figure.name))
    {
        return Err(Error::value(name, value, "given only with the figures table and n").into());
    }
    let has_instructions = chosen.iter().any(|figure| figure.name == "instructions");
    let fails = if has_instructions && !args.alone { try_absent(&args.gpu)? } else { None };
    // Comes first because it sets environment variables, and graphics drivers start threads.
    let absent = has_instructions.then(|| match fails {
        Some(problem) => Err(Error::Outside(problem)),
        // SAFETY: the only other thread waits for Ctrl-C and reads no variables.
        None => unsafe { Inspector::absent(&args.gpu) },
    });
    if let Some(Err(error @ Error::Unknown { .. })) = absent {
        return Err(error.into());
    }
    let gpu = adapter(engine, &args.adapter)?;
    // Only if needed: opening an adapter takes seconds on some machines.
    let shares = chosen.iter().any(|figure| figure.name.starts_with("devices"));
    let others = match gpu.as_ref().filter(|_| shares) {
        Some(gpu) => pollster::block_on(gpu.open_others(&args.adapter, DeviceCount::Auto))?,
        None => Vec::new(),
    };
    interrupt::save_on_signal();
    let sizes = BenchSizes::for_adapter(gpu.as_deref(), args.quick);
    print::text(&heading(gpu.as_deref(), &sizes))?;
    let bar = print::bar(1000, "");
    let style = ProgressStyle::with_template("{prefix:>10} [{bar:30}] {percent:>3} % {msg}");
    let style = style.expect("the template should be valid").progress_chars("=> ");
    bar.set_style(style);
    let mut going = |part: f64, doing: &str| {
        bar.set_position((part * 1000.0) as u64);
        bar.set_message(doing.to_owned());
        !interrupt::requested()
    };
    let mut session = BenchSession::new(gpu, sizes, &mut going);
    session.run = Run::begin(crate::COMMIT);
    session.known = lookup::known();
    session.added = kernel;
    session.remark = args.remark.as_deref().map(messages::piece).map(|text| text.to_string());
    session.look_at_machine();
    session.others = others;
    if let Some(folder) = &folder {
        session.keep = Some(Box::new(|records| folder.write(records)));
    }
    session.cpu = engine != EngineKind::Gpu;
    if let Some(absent) = absent {
        session.absent = absent.map_err(|error| error.to_string());
    }
    for figure in &chosen {
        let begun = web_time::Instant::now();
        bar.set_prefix(figure.name);
        match figure.measure(&mut session) {
            // Records measured before an interruption are kept.
            Err(Error::Stopped) => (),
            measured => measured?,
        }
        session.look_at_machine();
        let secs = begun.elapsed().as_secs_f64();
        let line = finished(figure, &session.records, secs, session.gpu.is_some());
        bar.suspend(|| print::text(&line))?;
        // After each figure, so that a later crash or power cut does not lose the results so far.
        if let Some(folder) = &folder {
            folder.write(&session.records)?;
        }
        if session.is_stopped() || interrupt::requested() {
            break;
        }
    }
    let stopped = session.is_stopped() || interrupt::requested();
    let records = std::mem::take(&mut session.records);
    bar.finish_and_clear();
    print::text(&summary(&records, &chosen))?;
    for score in Score::all(&records) {
        print::text(&format!("{}\n", score.line()))?;
    }
    if let Some(folder) = &folder {
        print::text(&format!("wrote {}\n", folder.path.join("report.html").display()))?;
    }
    Ok(if stopped { Ended::Interrupted } else { Ended::Done })
}

/// Compiles all shapes of the figure in a separate process. Returns a description of the crash if
/// its driver crashed.
fn try_absent(family: &str) -> Result<Option<String>> {
    let words = ["bench", "--figure", "instructions", "--no-gpu", "--alone", "--gpu", family];
    // Any other error recurs, and is reported, when the shapes are compiled in this process.
    let outcome = child::run(&words.map(OsString::from), None);
    Ok(outcome
        .ok()
        .and_then(Result::err)
        .map(|died| inspect::no_compiler(family, &died).to_string()))
}

/// The adapter, if one is requested and present.
fn adapter(engine: EngineKind, request: &AdapterRequest) -> Result<Option<Arc<Gpu>>, Error> {
    if engine == EngineKind::Cpu {
        return Ok(None);
    }
    match pollster::block_on(Gpu::open_first(request)) {
        Ok(gpu) => Ok(Some(gpu)),
        // A requested adapter must be present. Without a request and without any adapter, only the
        // CPU is measured.
        Err(error) if engine == EngineKind::Gpu || request.is_certain() => Err(error),
        Err(error) => {
            log::warn!("measuring only the CPU engine: {error}");
            Ok(None)
        }
    }
}

fn compare(args: &Args, folder: Option<&Folder>) -> Result<Ended> {
    let mut files = Vec::new();
    for path in &args.compare {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, read_json_lines(path)?));
    }
    let compared = report::compare(&files);
    if compared.table.len() < 2 {
        let words = "none of these files holds a rate of all bodies on all";
        return Err(Error::Outside(words.to_owned()).into());
    }
    if args.markdown {
        print::text(&compared.markdown())?;
    } else {
        print::text(&print::table(&compared.table))?;
        let words = "in 10^9 interactions per second, all on all, the best kernel of each run; ± quartiles, or runs";
        print::text(&format!("{words}\n"))?;
        for remark in &compared.remarks {
            print::text(&format!("* {remark}\n"))?;
        }
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

/// Draws the figures of earlier records, perhaps from another machine, and their report.
fn redraw(records: &[Record], chosen: &[Figure], folder: &Folder) -> Result<Ended> {
    let drawn = folder.draw(records, chosen)?;
    if drawn.is_empty() {
        let words = "the result file holds no record of this figure";
        return Err(Error::Outside(words.to_owned()).into());
    }
    folder.report(records)?;
    for name in drawn.iter().map(String::as_str).chain(["report.html"]) {
        print::text(&format!("wrote {}\n", folder.path.join(name).display()))?;
    }
    Ok(Ended::Done)
}

/// Prints the scores in result files.
fn scores(files: &[PathBuf]) -> Result<Ended> {
    let mut all = Vec::new();
    for path in files {
        all.extend(Score::all(&read_json_lines(path)?));
    }
    if all.is_empty() {
        let words = "none of these files holds a score (gravitile bench --figure score)";
        return Err(Error::Outside(words.to_owned()).into());
    }
    print::text(&Score::table(&all))?;
    Ok(Ended::Done)
}

/// Measures on one adapter after the other, each in a separate process.
fn on_each_adapter(args: &Args) -> Result<Ended> {
    let adapters = pollster::block_on(gpu::adapters());
    if adapters.is_empty() {
        return Err(Error::NoAdapter { requested: "any".to_owned(), found: String::new() }.into());
    }
    let mut ended = Ended::Done;
    for (number, adapter) in adapters.iter().enumerate() {
        print::text(&format!(
            "{}adapter {number}: {}\n",
            if number > 0 { "\n" } else { "" },
            adapter.name
        ))?;
        let mut one = args.clone();
        one.all_adapters = false;
        one.by.engine = "gpu".to_owned();
        one.adapter = AdapterRequest::known(adapter.identity());
        one.out =
            args.out.as_ref().map(|out| out.join(format!("{number}-{}", slug(&adapter.name))));
        match main(&one) {
            Ok(Ended::Done) => (),
            Ok(other) => return Ok(other),
            // The other adapters are still measured.
            Err(error) => {
                print::note(&format!("{}: {error:#}", adapter.name));
                ended = Ended::Failed;
            }
        }
    }
    Ok(ended)
}

/// A name turned into a folder name.
fn slug(name: &str) -> String {
    let characters =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let whole: String = characters.collect();
    whole.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

// `--submit`: shows what the records say about the machine, and writes them without the facts that
// the user leaves out.

/// Shows what the records say about the machine, and writes them without the facts named in
/// `without`.
fn submit(records: &[Record], to: &Path, without: &[String]) -> Result<Ended> {
    let mut records = records.to_vec();
    for name in without {
        if !Machine::names().any(|known| known == name) {
            return Err(Error::unknown("fact", name, Machine::names()).into());
        }
    }
    let mut rows = vec![["fact", "value", ""].map(str::to_owned).to_vec()];
    for record in &mut records {
        let Some(machine) = &mut record.machine else { continue };
        for (name, value) in machine.facts() {
            let is_out = without.iter().any(|out| out == name);
            let word = if is_out { "left out" } else { "" };
            let row = [name, &value, word].map(str::to_owned).to_vec();
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        for name in without {
            machine.leave_out(name);
        }
    }
    let mut devices: Vec<String> = Vec::new();
    for record in &records {
        let device = &record.device;
        let line = format!("{} ({}, {})", device.name, device.backend, device.driver);
        if record.kind != RecordKind::Machine && !devices.contains(&line) {
            devices.push(line);
        }
    }
    print::text(&print::table(&rows))?;
    print::text(&format!(
        "in each record: device and driver ({}), gravitile's version and commit, date and time\n",
        devices.join("; ")
    ))?;
    files::replace(to, to_json_lines(&records).as_bytes())?;
    for score in Score::all(&records) {
        print::text(&format!("{}\n", score.line()))?;
    }
    print::text(&format!(
        "wrote {}; benches/results/README.md says where to send it\n",
        to.display()
    ))?;
    Ok(Ended::Done)
}

// What a session prints: a heading, a line for each figure, the numbers at the end.

/// What is measured, and at which sizes.
fn heading(gpu: Option<&Gpu>, sizes: &BenchSizes) -> String {
    let cpu = cpu_device();
    let mut text = match gpu {
        Some(gpu) => {
            let adapter = &gpu.adapter;
            format!("adapter {} ({}, {})\n", adapter.name, adapter.backend, adapter.driver)
        }
        None => "no adapter: CPU engine only\n".to_owned(),
    };
    text += &format!("cpu     {}, {}\nsizes   {}\n", cpu.name, cpu.driver, sizes.name);
    text
}

/// A line for a finished figure.
fn finished(figure: &Figure, records: &[Record], secs: f64, has_adapter: bool) -> String {
    let own = records.iter().filter(|record| record.figure == figure.name);
    let (skipped, measured): (Vec<_>, Vec<_>) = own.partition(|r| r.kind == RecordKind::Skipped);
    let (skipped, measured) = (skipped.len(), measured.len());
    if skipped + measured == 0 && !has_adapter {
        return format!("{:<10} nothing measured: needs a graphics adapter\n", figure.name);
    }
    let mut text = format!("{:<10} {measured} measured", figure.name);
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    text + &format!(", {secs:.1} s\n")
}

/// What is printed at the end: the numbers of a single figure; for `all`, those of the table.
fn summary(records: &[Record], figures: &[Figure]) -> String {
    let shown = &figures[0];
    let own = records.iter().filter(|record| record.figure == shown.name);
    let mut text = String::new();
    let with_ceilings = |r: &&Record| r.figure == shown.name || r.kind == RecordKind::Ceiling;
    for table in report::tables(&records.iter().filter(with_ceilings).collect::<Vec<_>>()) {
        text += &format!("\n{}", print::table(&table));
    }
    for line in shown.conclusions(records) {
        text += &format!("{line}\n");
    }
    // A remark on many candidates is printed once, with the candidates it applies to.
    let remark = |record: &Record| {
        let what = if record.sinks == 0 || record.devices.is_some() {
            record.series.clone()
        } else {
            format!("{}, {} x {}", record.kernel_in_words(), record.sinks, record.sources)
        };
        Some(((record.kind == RecordKind::Skipped, record.remark.clone()?), what))
    };
    for ((skipped, remark), rows) in grouped(own.filter_map(remark)) {
        let kind = if skipped { "skipped" } else { "note on" };
        let more = rows.len().saturating_sub(2);
        let rows = rows[..rows.len().min(2)].join("; ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text += &format!("{kind} {rows}{more}: {remark}\n");
    }
    text
}

// Where results go: records, a table, a report and plots.

const RECORDS: &str = "results.jsonl";

/// A folder, and the records of earlier measurements in it.
pub struct Folder {
    pub path: PathBuf,
    earlier: Vec<Record>,
}

impl Folder {
    /// Creates the folder before anything is measured, so that an unwritable one fails at once.
    ///
    /// # Errors
    /// The folder of a run; one that cannot be written.
    pub fn make(path: &Path) -> Result<Self, Error> {
        check_output(path, true)?;
        if RunFolder::is_run(path) {
            return Err(Error::file(path, "is the folder of a run; choose another for results"));
        }
        std::fs::create_dir_all(path).map_err(|error| Error::io("make the folder", path, error))?;
        tempfile::tempfile_in(path).map_err(|error| Error::io("write into", path, error))?;
        Ok(Self { path: path.to_owned(), earlier: Vec::new() })
    }

    /// Like [`Folder::make`], but keeps the records already in the folder; new ones are added to
    /// them.
    ///
    /// # Errors
    /// Existing records that cannot be read, before anything is measured.
    pub fn with_earlier(path: &Path) -> Result<Self, Error> {
        let mut folder = Self::make(path)?;
        let records = path.join(RECORDS);
        if records.exists() {
            folder.earlier = read_json_lines(&records)?;
        }
        Ok(folder)
    }

    /// Writes all results so far.
    pub fn write(&self, records: &[Record]) -> Result<(), Error> {
        let all = [&self.earlier, records].concat();
        files::replace(self.path.join(RECORDS), to_json_lines(&all).as_bytes())?;
        files::replace(self.path.join("results.csv"), to_csv(&all).as_bytes())?;
        self.draw(&all, figures::FIGURES)?;
        self.report(&all)
    }

    /// Writes the report: the last run of each figure.
    pub fn report(&self, records: &[Record]) -> Result<(), Error> {
        let page = report::page(&latest(records));
        files::replace(self.path.join("report.html"), page.as_bytes())
    }

    /// Draws those of `figures` that have records, each from its last run, and returns the names of
    /// the files. Removes old plots of these figures that no longer have records.
    pub fn draw(&self, records: &[Record], figures: &[Figure]) -> Result<Vec<String>, Error> {
        let records = &latest(records);
        let mut names = Vec::new();
        for figure in figures {
            let has_records = records.iter().any(|record| record.figure == figure.name);
            let plots = if has_records { figure.plots(records) } else { Vec::new() };
            for (i, plot) in plots.iter().enumerate() {
                let name = name_of(figure, i);
                files::replace(self.path.join(&name), plot.svg().as_bytes())?;
                names.push(name);
            }
            if has_records {
                self.remove(figure, plots.len());
            }
        }
        Ok(names)
    }

    /// Removes the plots of a figure from this number up.
    fn remove(&self, figure: &Figure, from: usize) {
        for i in from.. {
            let path = self.path.join(name_of(figure, i));
            if !path.exists() || std::fs::remove_file(path).is_err() {
                break;
            }
        }
    }
}

fn name_of(figure: &Figure, i: usize) -> String {
    let number = if i == 0 { String::new() } else { format!("-{}", i + 1) };
    format!("{}{number}.svg", figure.name)
}
