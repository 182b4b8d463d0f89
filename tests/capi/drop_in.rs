//! Drop-in replacement: names and calling habits of Sapporo2's class, Yebisu, Phantom-GRAPE and
//! Starlab.

use std::collections::BTreeSet;

use super::*;

/// Whether `tool` is installed; if not, reports `what` as skipped.
fn has_tool(tool: &str, what: &str) -> bool {
    let found = Command::new(tool).arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        common::skip::skipped(what, &format!("there is no {tool}"));
    }
    found
}

/// Names that `nm` lists with `arguments`.
fn names(arguments: &[&str], file: &Path) -> BTreeSet<String> {
    let listed = text(&run(Command::new("nm").args(arguments).arg(file)).stdout);
    let last = listed.lines().filter_map(|line| line.split_whitespace().last());
    // Symbol versions follow an @.
    last.filter_map(|name| name.split('@').next().map(str::to_owned)).collect()
}

/// Names that the library exports.
fn exported() -> BTreeSet<String> {
    names(&["-D", "--defined-only"], &prefix().join("lib/libgravitile.so"))
}

#[test]
fn sapporo2_programs_compile_and_get_right_forces() {
    if !has_tool("c++", "class sapporo") {
        return;
    }
    for standard in ["-std=c++98", "-std=c++17"] {
        let program = compile_with("sapporo", standard, SHARED, &[standard]);
        for order in ["0", "1", "2"] {
            run_checked(&program, &[order, "1e-12"], CPU);
        }
    }
}

#[test]
fn yebisu_structures_are_filled() {
    if has_tool("c++", "Yebisu's structures") {
        run_checked(&compile("yebisu", "-std=c++98", SHARED), &["1e-12"], CPU);
    }
}

#[test]
fn grape5_has_boards_per_thread_and_softening_per_sink() {
    let program = compile("boards", "-std=c99", SHARED);
    run_checked(&program, &["1e-12"], DOUBLE);
    run_checked(&program, &["1e-5"], CPU);
}

#[test]
fn source_and_sink_softenings_add() {
    let program = compile("symmetric", "-std=c99", SHARED);
    run_checked(&program, &["1e-12"], DOUBLE);
    run_checked(&program, &["1e-5"], CPU);
}

#[cfg(target_os = "linux")]
#[test]
fn every_exported_name_is_called_with_right_results() {
    let program = compile("names", "-std=c99", SHARED);
    let folder = tempfile::tempdir().unwrap();
    let output = run(command(&program, &[], DOUBLE).current_dir(folder.path()));
    let err = text(&output.stderr);
    check_complaints(&err).unwrap_or_else(|problem| panic!("{problem}\n{err}"));
    // Files that Phantom-GRAPE's calls write.
    let table = std::fs::read_to_string(folder.path().join("dump.dat.00017")).unwrap();
    let numbers = table.split_whitespace().map(|word| word.parse::<f64>().unwrap());
    assert_eq!((table.lines().count(), numbers.count()), (32, 7 * 32));
    let lines = std::fs::read_to_string(folder.path().join("dump.dat")).unwrap();
    assert_eq!(lines, "42\n-5e-1\n42\n-5e-1\n");

    let (exported, called) = (exported(), names(&["-D", "--undefined-only"], &program));
    let missing: Vec<&String> = exported.difference(&called).collect();
    assert!(exported.len() > 190, "only {} names", exported.len());
    assert!(missing.is_empty(), "tests/capi/names.c does not call {missing:?}");
}

/// Passes zeros and NULL for all arguments. With 16 pointers and 8 doubles, the calling conventions
/// of x86-64 and AArch64 give every function its arguments.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[test]
fn calls_with_zeros_and_null_do_not_crash() {
    let folder = tempfile::tempdir().unwrap();
    let names = exported();
    let declared: String = names.iter().map(|name| format!("int {name}(CALL);\n")).collect();
    let called: String = names
        .iter()
        .map(|name| format!("    code = {name}(NOTHING);\n    printf(\"{name} %d\\n\", code);\n"))
        .collect();
    let [whole, zeros] = [("void *, ", "double, "), ("0, ", "0., ")].map(|(pointer, number)| {
        let all = pointer.repeat(16) + &number.repeat(8);
        all.trim_end_matches(", ").to_owned()
    });
    let source = folder.path().join("nothing.c");
    let program = format!(
        "#define CALL {whole}\n#define NOTHING {zeros}\nint printf(const char *, ...);\n{declared}\
         int main(void) {{\n    int code;\n{called}    return 0;\n}}\n"
    );
    std::fs::write(&source, program).unwrap();
    let lib = prefix().join("lib");
    run(Command::new("cc")
        .args(["-w", "-fno-builtin", "-O0", "-o"])
        .args([folder.path().join("nothing"), source])
        .arg(format!("-L{}", lib.display()))
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .args(SHARED));
    let nothing = folder.path().join("nothing");
    let output = run(command(&nothing, &[], CPU).current_dir(folder.path()));
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out.lines().count(), names.len(), "{out}\n{err}");
    for line in err.lines() {
        assert!(line.starts_with("gravitile: ") && !line.contains("internal error"), "{line}");
    }
}

/// Clients with their standards and arguments: all uses of the library in C and C++.
const CLIENTS: &[(&str, &str, &[&str])] = &[
    ("forces", "-std=c99", &["1e-12"]),
    ("calls", "-std=c99", &[]),
    ("sixth", "-std=c99", &["1e-12"]),
    ("grape5", "-std=c99", &["1e-5", "-1"]),
    ("boards", "-std=c99", &["1e-5"]),
    ("symmetric", "-std=c99", &["1e-5"]),
    ("habits", "-std=gnu99", &[]),
    ("threads", "-std=c99", &[]),
    ("setters", "-std=c99", &["1e-12", "few"]),
    ("hermite", "-std=c99", &["1e-7"]),
    ("names", "-std=c99", &[]),
    ("sapporo", "-std=c++98", &["0", "1e-12"]),
    ("sapporo", "-std=c++98", &["1", "1e-12"]),
    ("sapporo", "-std=c++98", &["2", "1e-12"]),
    ("yebisu", "-std=c++98", &["1e-12"]),
];

/// No reads of uninitialised memory, no writes outside the client's arrays, no leaks.
#[test]
#[ignore = "minutes: script/test --long"]
fn clients_are_clean_under_valgrind() {
    if !has_tool("valgrind", "clients of the C library under valgrind") {
        return;
    }
    for (name, standard, arguments) in CLIENTS {
        let program = compile(name, standard, SHARED);
        // A forked child has lost the memory that belonged to its parent's threads.
        let leaks = if *name == "habits" { "--leak-check=no" } else { "--leak-check=full" };
        let kinds = ["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"];
        let mut checked = vec!["-q", "--error-exitcode=99", leaks, kinds[0], kinds[1]];
        checked.push(program.to_str().unwrap());
        checked.extend(*arguments);
        let variables = if *name == "names" { DOUBLE } else { CPU };
        run_checked(Path::new("valgrind"), &checked, variables);
    }
}

/// The clients have no undefined behaviour, and the library writes within their arrays.
#[test]
#[ignore = "minutes: script/test --long"]
fn clients_are_clean_under_sanitizers() {
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let folder = tempfile::tempdir().unwrap();
    let (source, probe) = (folder.path().join("probe.c"), folder.path().join("probe"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let made = Command::new("cc").args(sanitizers).arg(source).arg("-o").arg(&probe).output();
    if !made.is_ok_and(|output| output.status.success())
        || !Command::new(&probe).output().is_ok_and(|output| output.status.success())
    {
        common::skip::skipped("clients of the C library with sanitizers", "cc has none here");
        return;
    }
    // Leaks are checked with valgrind.
    for (name, standard, arguments) in CLIENTS {
        let mut variables = vec![("ASAN_OPTIONS", "detect_leaks=0")];
        variables.extend(if *name == "names" { DOUBLE } else { CPU });
        run_checked(&compile_with(name, standard, SHARED, &sanitizers), arguments, &variables);
    }
}
