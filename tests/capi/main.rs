//! The C library as C programs use it: built, installed, linked, run.
//!
//! Programs in `tests/capi` announce on stderr each complaint that they provoke (`expect: WORDS`).
//! The tests check that the library's next line contains these words, and that it prints nothing
//! else.
#![cfg(unix)]

mod adapter;
#[path = "../common/mod.rs"]
mod common;

mod drop_in;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use gravitile::gpu::{DeviceClass, adapters};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs a command, which must succeed.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The installation prefix of the library, which is installed once for all tests.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        assert!(
            Command::new("cc")
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success()),
            "these tests need a C compiler named cc, and there is none"
        );
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
        let _ = std::fs::remove_dir_all(&prefix);
        // Cargo builds the library in the folder of the tests that need it.
        let built = std::env::current_exe().unwrap();
        run(Command::new(root().join("script/install-capi"))
            .arg(&prefix)
            .arg("--from")
            .arg(built.parent().unwrap()));
        prefix
    })
}

/// Compiles `tests/capi/NAME.c`, or .cpp, and links it with `libraries`. Each program is built
/// once: an executable cannot be overwritten while it runs.
fn compile(name: &str, standard: &str, libraries: &[&str]) -> PathBuf {
    compile_with(name, standard, libraries, &[])
}

/// The same with more compiler arguments, which become part of the program's file name.
fn compile_with(name: &str, standard: &str, libraries: &[&str], more: &[&str]) -> PathBuf {
    static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let prefix = prefix();
    let distinguishing = [libraries, more].concat().concat();
    let suffix: String = distinguishing.chars().filter(|c| c.is_alphanumeric()).collect();
    let program = prefix.join(format!("{name}-{suffix}"));
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if made.contains(&program) {
        return program;
    }
    let plus = root().join(format!("tests/capi/{name}.cpp"));
    let (compiler, source) = if plus.is_file() {
        ("c++", plus)
    } else {
        ("cc", root().join(format!("tests/capi/{name}.c")))
    };
    run(Command::new(compiler)
        .args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        // Not every program uses all of cloud.h.
        .args(["-Wno-unused-function", "-o"])
        .arg(&program)
        .arg(source)
        .args(more)
        .arg(format!("-I{}", prefix.join("include/gravitile").display()))
        .arg(format!("-L{}", prefix.join("lib").display()))
        .arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))
        .args(libraries)
        .args(["-lm", "-lpthread"]));
    made.push(program.clone());
    program
}

const SHARED: &[&str] = &["-lgravitile"];

/// A program in a temporary folder, without settings in the environment other than `variables`.
fn command(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap());
    let mut command = Command::new(program);
    command.current_dir(folder.path()).args(arguments);
    // As in a batch job: libraries used on the way to the drivers complain when this is unset,
    // unless they are avoided.
    command.env_remove("XDG_RUNTIME_DIR");
    for name in
        ["ENGINE", "METHOD", "ALPHA", "THETA", "PRECISION", "ADAPTER", "PIPELINES", "G5_POTENTIAL"]
    {
        command.env_remove(format!("GRAVITILE_{name}"));
    }
    command.envs(variables.iter().copied());
    command
}

/// Checks that complaints and announcements match in order; returns the number of complaints.
fn check_complaints(stderr: &str) -> Result<usize, String> {
    let mut expected: Option<&str> = None;
    let mut complaints = 0;
    for line in stderr.lines() {
        if let Some(words) = line.strip_prefix("expect: ") {
            if let Some(before) = expected.replace(words) {
                return Err(format!("nothing was said of '{before}'"));
            }
        } else if line.starts_with("gravitile: ") {
            complaints += 1;
            match expected.take() {
                Some(words) if line.contains(words) => {}
                Some(words) => return Err(format!("'{line}' says nothing of '{words}'")),
                None => return Err(format!("nobody expected '{line}'")),
            }
        } else {
            return Err(format!("who says '{line}'?"));
        }
    }
    match expected {
        Some(words) => Err(format!("nothing was said of '{words}'")),
        None => Ok(complaints),
    }
}

/// Runs a program that checks its own results, and checks the library's complaints.
fn run_checked(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let begun = std::time::Instant::now();
    let output = run(&mut command(program, arguments, variables));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let complaints = check_complaints(&err).unwrap_or_else(|problem| panic!("{problem}\n{err}"));
    println!("{out}{complaints} complaints, all expected, {:.2} s", begun.elapsed().as_secs_f64());
    out
}

const CPU: &[(&str, &str)] = &[("GRAVITILE_ENGINE", "cpu")];

#[test]
fn forces_and_neighbours_match_plain_c() {
    let program = compile("forces", "-std=c99", SHARED);
    run_checked(&program, &["1e-12"], CPU);
    run_checked(&program, &["1e-12"], &[("GRAVITILE_ENGINE", "reference")]);
}

#[test]
fn misuse_returns_code_and_one_line() {
    let program = compile("calls", "-std=c99", SHARED);
    run_checked(&program, &[], CPU);
    // For a client that ignores return codes the number of lines is limited.
    let lines = text(&run(&mut command(&program, &["noise"], CPU)).stderr);
    assert_eq!(lines.lines().count(), 201, "{lines}");
    assert!(lines.lines().all(|line| line.contains("cluster 77 is not open")));
}

#[test]
fn sixth_order_forces_match_plain_c() {
    run_checked(&compile("sixth", "-std=c99", SHARED), &["1e-12"], CPU);
}

/// The CPU in f64, for calls that it computes in f32 by default.
const DOUBLE: &[(&str, &str)] = &[("GRAVITILE_ENGINE", "cpu"), ("GRAVITILE_PRECISION", "double")];

#[test]
fn grape5_potential_has_self_term_and_either_sign() {
    let program = compile("grape5", "-std=c99", SHARED);
    run_checked(&program, &["1e-12", "-1"], DOUBLE);
    run_checked(&program, &["1e-5", "-1"], CPU);
    let single = [("GRAVITILE_ENGINE", "cpu"), ("GRAVITILE_PRECISION", "single")];
    run_checked(&program, &["1e-5", "-1"], &single);
    let rough = command(&program, &["1e-10", "-1"], &single).output().unwrap();
    assert!(!rough.status.success(), "not computed in f32: {}", text(&rough.stdout));
    let negative = [DOUBLE[0], DOUBLE[1], ("GRAVITILE_G5_POTENTIAL", "negative")];
    run_checked(&program, &["1e-12", "1"], &negative);
}

#[test]
fn unusual_call_patterns_work_or_report_an_error() {
    run_checked(&compile("habits", "-std=gnu99", SHARED), &[], CPU);
}

/// Cells stand for distant particles: one sink in 300 may be off by a few thousandths, and errors
/// must exceed rounding, which shows that a tree was used.
#[test]
fn grape5_forces_by_tree() {
    let program = compile("grape5", "-std=c99", SHARED);
    let tree = |more: &[(&'static str, &'static str)]| -> Vec<(&str, &str)> {
        [&[("GRAVITILE_METHOD", "tree")], more].concat()
    };
    run_checked(&program, &["1e-2", "-1"], &tree(CPU));
    run_checked(&program, &["1e-5", "-1"], &tree(&[CPU[0], ("GRAVITILE_ALPHA", "1e-9")]));
    let rough = command(&program, &["1e-5", "-1"], &tree(CPU)).output().unwrap();
    assert!(!rough.status.success(), "no tree computed: {}", text(&rough.stdout));
    // The tree has no derivatives: the calls of the sixth order and of GRAPE-6 report that.
    let output =
        command(&compile("example", "-std=c99", SHARED), &[], &tree(CPU)).output().unwrap();
    let err = text(&output.stderr);
    assert!(!output.status.success() && err.contains("direct or reference"), "{err}");
}

#[test]
fn hermite_client_conserves_energy() {
    run_checked(&compile("hermite", "-std=c99", SHARED), &["1e-7"], CPU);
}

#[test]
fn concurrent_threads_get_right_forces() {
    run_checked(&compile("threads", "-std=c99", SHARED), &[], CPU);
}

#[test]
fn old_program_links_with_old_library_names() {
    for libraries in [&["-lg6"], &["-lsapporo"]] {
        run_checked(&compile("oldclient", "-std=c99", libraries), &[], CPU);
    }
}

#[test]
fn static_library_links_and_runs() {
    let prefix = prefix();
    let archive = prefix.join("lib/libsapporo.a");
    let pc = std::fs::read_to_string(prefix.join("lib/pkgconfig/gravitile.pc")).unwrap();
    let private = pc.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    let mut libraries = vec![archive.to_str().unwrap()];
    libraries.extend(private.split_whitespace());
    run_checked(&compile("hermite", "-std=c99", &libraries), &["1e-7"], CPU);
    // CMake puts files before objects, so the archive is a library with its own name.
    let pc = std::fs::read_to_string(prefix.join("lib/pkgconfig/gravitile-static.pc")).unwrap();
    let given = pc.lines().find_map(|line| line.strip_prefix("Libs: ")).unwrap();
    let given = given.replace("${libdir}", prefix.join("lib").to_str().unwrap());
    assert!(given.split_whitespace().all(|word| word.starts_with('-')), "{given}");
    // A fully static program, where a static C library exists. glibc then warns of what it cannot
    // load.
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let libraries: Vec<&str> =
            ["-static"].into_iter().chain(given.split_whitespace()).collect();
        run_checked(&compile("forces", "-std=c99", &libraries), &["1e-12"], CPU);
    }
    // The program's own `initialize` takes precedence over the library's.
    run_checked(&compile("oldclient", "-std=c99", &libraries), &[], CPU);
}

#[test]
fn bad_settings_are_refused_in_one_line() {
    let program = compile("example", "-std=c99", SHARED);
    let refused = |variables: &[(&str, &str)], words: &[&str]| {
        let output = command(&program, &[], variables).output().unwrap();
        let err = text(&output.stderr);
        assert_eq!((output.status.code(), err.lines().count()), (Some(1), 1), "{err}");
        for word in words {
            assert!(err.contains(word), "{err} lacks {word}");
        }
    };
    refused(&[("GRAVITILE_ENGINE", "cuda")], &["GRAVITILE_ENGINE", "auto, gpu, cpu, reference"]);
    refused(&[("GRAVITILE_PRECISION", "half")], &["single, double-single, double"]);
    let single = [("GRAVITILE_ENGINE", "cpu"), ("GRAVITILE_PRECISION", "single")];
    refused(&single, &["precision is single", "double"]);
    let adapter = [("GRAVITILE_ENGINE", "gpu"), ("GRAVITILE_ADAPTER", "no such card")];
    refused(&adapter, &["no such card", "found:"]);

    let folder = tempfile::tempdir().unwrap();
    let in_folder = |file: &str| {
        std::fs::write(folder.path().join("gravitile.toml"), file).unwrap();
        // Sapporo2's configuration file is ignored.
        std::fs::write(folder.path().join("sapporo2.config"), "2\n0\n1\n").unwrap();
        command(&program, &[], &[]).current_dir(folder.path()).output().unwrap()
    };
    assert!(in_folder("engine = 'reference'\n").status.success());
    let output = in_folder("engine = 'referenz'\nprecision = 3\n");
    let err = text(&output.stderr);
    assert!(!output.status.success() && err.lines().count() == 1, "{err}");
    assert!(err.contains("gravitile.toml") && err.contains("expected a string"), "{err}");
}

#[test]
fn default_engine_avoids_software_adapters() {
    let output = run(&mut command(&compile("example", "-std=c99", SHARED), &[], &[]));
    // Total mass 1, distance 1: a = m of the other, potentials and jerks alike.
    let wanted = "1: ax 0.25 jy 0.25 pot -0.25 near 2\n2: ax -0.75 jy -0.75 pot -0.75 near 1\n";
    assert_eq!(text(&output.stdout), wanted);
    // Libraries of the drivers print nothing either, whatever a batch job's environment lacks.
    for folder in [None, Some(""), Some("run/user"), Some("/no/such/folder")] {
        let mut example = command(&compile("example", "-std=c99", SHARED), &[], &[]);
        example.env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY");
        folder.map(|folder| example.env("XDG_RUNTIME_DIR", folder));
        assert_eq!(text(&run(&mut example).stderr), "", "XDG_RUNTIME_DIR {folder:?}");
    }

    let program = compile("status", "-std=c89", SHARED);
    let status = |variables: &[(&str, &str)]| {
        let err = text(&run(&mut command(&program, &[], variables)).stderr);
        let line = err.lines().find(|line| line.contains("g6_print_chip_status"));
        line.unwrap_or_else(|| panic!("{err}")).to_owned()
    };
    let best = pollster::block_on(adapters()).into_iter().next().unwrap();
    let automatic = status(&[]);
    println!("{automatic}");
    if best.class == DeviceClass::Software {
        assert!(
            automatic.contains("in f64 on") && automatic.contains("1 j-particles"),
            "{automatic}"
        );
    } else {
        assert!(automatic.contains(&best.name), "{automatic}");
    }
    let gpu = status(&[("GRAVITILE_ENGINE", "gpu"), ("GRAVITILE_ADAPTER", "0")]);
    assert!(gpu.contains(&best.name) && gpu.contains("double-single"), "{gpu}");
}

#[test]
fn manual_shows_the_compiled_example() {
    let manual = std::fs::read_to_string(root().join("docs/direct.md")).unwrap();
    let example = std::fs::read_to_string(root().join("tests/capi/example.c")).unwrap();
    assert!(manual.contains(&format!("```c\n{example}```")), "docs/direct.md has another example");
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("```c\n{example}```")), "README.md has another example");
}

#[test]
fn headers_are_c89_and_cpp() {
    let include = prefix().join("include/gravitile");
    for header in std::fs::read_dir(&include).unwrap() {
        let header = header.unwrap().path();
        // The Fortran module is in the same folder.
        if header.extension().is_none_or(|extension| extension != "h") {
            continue;
        }
        for arguments in [&["-x", "c", "-std=c89"], &["-x", "c", "-std=c11"]] {
            run(Command::new("cc")
                .args(arguments)
                .args(["-Wall", "-Wextra", "-Wstrict-prototypes", "-pedantic-errors", "-Werror"])
                .args(["-fsyntax-only", "-include"])
                .arg(&header)
                .arg("/dev/null"));
        }
        // A C++ compiler is optional.
        if Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success())
        {
            run(Command::new("c++")
                .args(["-x", "c++", "-Wall", "-Wextra", "-pedantic-errors", "-Werror"])
                .args(["-fsyntax-only", "-include"])
                .arg(&header)
                .arg("/dev/null"));
        }
    }
}

/// Names of the functions that a header declares with result `int`.
fn declared(header: &str) -> Vec<String> {
    let lines = header.lines().filter_map(|line| line.strip_prefix("int "));
    lines.filter_map(|line| line.split('(').next().map(str::to_owned)).collect()
}

/// Whether a program that uses all `names` links with the library.
fn links(names: &[String]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("names.c");
    let declarations: String = names.iter().map(|name| format!("int {name}(void);\n")).collect();
    let table = names.join(", ");
    let main = "int main(int n, char **of) { (void)of; return all[n % 2] == 0; }";
    let text = format!("{declarations}static int (*all[])(void) = {{ {table} }};\n{main}\n");
    std::fs::write(&source, text).unwrap();
    let lib = prefix().join("lib");
    let output = Command::new("cc")
        .args(["-w", "-fno-builtin", "-O0", "-o"])
        .args([folder.path().join("names"), source])
        .arg(format!("-L{}", lib.display()))
        .args(SHARED)
        .output();
    output.unwrap().status.success()
}

#[test]
fn every_documented_name_links() {
    let read = |name: &str| std::fs::read_to_string(root().join("include").join(name)).unwrap();
    let mut names = declared(&read("gravitile.h"));
    for name in names.clone() {
        let name = name.trim_end_matches('_');
        let forms = [name.to_owned(), format!("{name}_")];
        assert!(forms.iter().all(|form| names.contains(form)), "{name} lacks a form");
    }
    for name in declared(&read("sapporo6thlib.h")) {
        names.extend([format!("{name}_"), name]);
    }
    // Belleman et al. (2008), appendix B: names prefixed with GPU.
    let kirin = "g6_close g6_open g6_npipes g6_set_ti g6_initialize_jp_buffer g6_flush_jp_buffer g6_reset \
                 g6_reset_fofpga g6_set_neighbour_list_sort_mode g6_set_j_particle g6calc_firsthalf \
                 g6calc_lasthalf g6_set_tunit g6_set_xunit g6_set_j_particle_multisend_mxfast_ \
                 g6_flush_jp_buffer_and_multisend g6_print_chip_status g6_reinitialize g6_open_ g6_close_ \
                 g6_npipes_ g6_set_ti_ g6_reset_ g6_reset_fofpga_ g6_set_tunit_ g6_set_xunit_ \
                 g6_set_overflow_flag_test_mode g6_initialize_jp_buffer_ g6_flush_jp_buffer_ \
                 g6_set_j_particle_ g6calc_firsthalf_ g6calc_lasthalf_ g6_get_neighbour_list_ \
                 g6_read_neighbour_list_";
    names.extend(kirin.split_whitespace().map(|name| format!("GPU_{name}")));
    let with_vec = ["g6calc_firsthalf_", "g6calc_lasthalf_", "g6calc_lasthalf2_"];
    names.extend(with_vec.map(|name| format!("GPU2_{name}")));
    names.sort();
    names.dedup();
    assert!(names.len() > 140, "{}", names.len());
    assert!(links(&names));
    assert!(!links(&["g6_open".to_owned(), "g6_no_such_call".to_owned()]));
}

#[test]
fn complaint_checker_detects_mismatches() {
    let complaint = "gravitile: g6_open: a fault";
    assert_eq!(check_complaints(&format!("expect: fault\n{complaint}\n")), Ok(1));
    for wrong in [
        "expect: fault\n".to_owned(),
        format!("{complaint}\n"),
        format!("expect: other\n{complaint}\n"),
        format!("expect: fault\n{complaint}\n{complaint}\n"),
        format!("expect: fault\nexpect: fault\n{complaint}\n"),
        "thread panicked\n".to_owned(),
    ] {
        assert!(check_complaints(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn header_version_and_fortran_module_agree() {
    let header = std::fs::read_to_string(root().join("include/gravitile.h")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let [major, minor, patch] =
        [0, 1, 2].map(|k| version.split(['.', '-']).nth(k).unwrap().parse::<u32>().unwrap());
    assert!(header.contains(&format!("#define GRAVITILE_VERSION \"{version}\"")), "{version}");
    let number = major * 10_000 + minor * 100 + patch;
    assert!(header.contains(&format!("#define GRAVITILE_VERSION_NUMBER {number}\n")), "{number}");
    let module = std::fs::read_to_string(root().join("include/gravitile.f90")).unwrap();
    for name in declared(&header).iter().filter(|name| !name.ends_with('_')) {
        assert!(module.contains(&format!("function {name}(")), "no interface of {name}");
    }
    if !Command::new("gfortran").arg("--version").output().is_ok_and(|found| found.status.success())
    {
        return common::skip::skipped("the Fortran module", "there is no gfortran");
    }
    let (prefix, folder) = (prefix(), tempfile::tempdir().unwrap());
    let program = folder.path().join("module");
    run(Command::new("gfortran")
        .arg("-J")
        .arg(folder.path())
        .args(["-std=f2008", "-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(prefix.join("include/gravitile/gravitile.f90"))
        .arg(root().join("tests/capi/module.f90"))
        .arg(format!("-L{}", prefix.join("lib").display()))
        .arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))
        .args(SHARED));
    run(&mut command(&program, &[], CPU));
}
