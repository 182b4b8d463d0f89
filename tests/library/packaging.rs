//! What packages and releases are made from: one address, one version, files that exist; and
//! results that are handed in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::skip;

/// Files that name the repository's address; `script/set-address` writes them.
const WITH_ADDRESS: [&str; 2] = ["CITATION.cff", "Cargo.toml"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The rest of the first line that begins so, without quotes.
fn value<'a>(text: &'a str, begin: &str) -> &'a str {
    let rest = text.lines().find_map(|line| line.strip_prefix(begin));
    rest.unwrap_or_else(|| panic!("no line begins with {begin}")).trim_matches('"')
}

/// All files of the repository, by their paths in it, but not what is built.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), ".git" | "target" | "__pycache__" | "node_modules") {
                files(&path, found);
            }
        } else if name != ".git" {
            found.push(path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"));
        }
    }
}

fn run(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (status.success(), text)
}

#[test]
fn only_two_files_name_the_address_of_the_repository() {
    let address = value(&read("Cargo.toml"), "repository = ").to_owned();
    assert!(address.starts_with("https://") && !address.ends_with('/'), "{address}");
    let host_and_path = address.strip_prefix("https://").unwrap();
    let mut found = Vec::new();
    files(&root(), &mut found);
    assert!(found.len() > 500, "{}", found.len());
    found.retain(|name| {
        let text = std::fs::read(root().join(name)).unwrap();
        text.windows(host_and_path.len()).any(|part| part == host_and_path.as_bytes())
    });
    found.sort();
    assert_eq!(found, WITH_ADDRESS);
}

#[test]
#[cfg(unix)]
fn script_sets_the_address_in_all_of_them_and_refuses_what_is_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("script")).unwrap();
    for name in ["script/set-address", "Cargo.toml", "CITATION.cff"] {
        std::fs::copy(root().join(name), folder.path().join(name)).unwrap();
    }
    let script = folder.path().join("script/set-address");
    let set = |address: &str| run(Command::new(&script).arg(address));
    let (is_set, said) = set("https://example.org/someone/gravitile/");
    assert!(is_set, "{said}");
    let after = WITH_ADDRESS.map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    for (text, name) in after.iter().zip(WITH_ADDRESS) {
        assert_eq!(text.matches("https://example.org/someone/gravitile").count(), 2, "{name}");
        let old = value(&read("Cargo.toml"), "repository = ").to_owned();
        assert!(!text.contains(&old), "{name}");
        assert_eq!(text.lines().count(), read(name).lines().count(), "{name}");
    }
    for bad in ["http://example.org/x", "https://example.org/a b", "https://example.org/\"", ""] {
        let (is_set, said) = set(bad);
        assert!(!is_set && said.contains("no address"), "{bad}: {said}");
    }
    let last = WITH_ADDRESS.map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(last, after);
}

#[test]
fn versions_agree() {
    let manifest = read("Cargo.toml");
    let version = value(&manifest, "version = ");
    assert_eq!(value(&read("CITATION.cff"), "version: "), version);
    let dependency = format!("gravitile = {{ path = \".\", version = \"{version}\" }}");
    assert!(manifest.contains(&dependency), "{dependency}");
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version} ")), "CHANGELOG.md");
    let rust = value(&manifest, "rust-version = ");
    for name in ["README.md", "script/common.sh"] {
        assert!(read(name).contains(&format!("{rust} or newer")), "{name} has another than {rust}");
    }
    for name in
        [".github/workflows/ci.yml", ".github/workflows/release.yml", "packaging/Containerfile"]
    {
        assert!(read(name).contains(&format!("rust:{rust}-")), "{name} has another than {rust}");
    }
}

/// Registries take pictures by relative links from the repository.
#[test]
fn pictures_of_the_readme_are_files_by_relative_links() {
    let readme = read("README.md");
    let links = readme.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let pictures: Vec<&str> =
        links.filter(|link| [".webp", ".png", ".svg"].iter().any(|e| link.ends_with(e))).collect();
    assert!(pictures.len() >= 4, "{pictures:?}");
    for picture in pictures {
        assert!(root().join(picture).is_file(), "{picture}");
    }
}

#[test]
fn scripts_that_workflows_run_exist() {
    let mut count = 0;
    for name in ["ci", "pages", "release", "wheels"] {
        let text = read(&format!(".github/workflows/{name}.yml"));
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("- run: ")) {
            let script = line.split(' ').next().unwrap();
            assert!(root().join(script).is_file(), "{name}.yml runs {script}");
            count += 1;
        }
    }
    assert!(count >= 8, "{count}");
}

#[test]
#[cfg(unix)]
fn containers_name_the_driver_of_nvidia_only_if_nothing_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let start = || {
        let mut command = Command::new(root().join("packaging/container-start"));
        let shown = command
            .args(["-c", "echo drivers=$VK_ADD_DRIVER_FILES"])
            .env("GRAVITILE_PROGRAM", "sh")
            .env("GRAVITILE_CONTAINER_ROOT", folder.path());
        for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"] {
            shown.env_remove(name);
        }
        run(shown).1.trim().to_owned()
    };
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::fs::write(at(name), text).unwrap();
    };
    write("usr/share/vulkan/icd.d/lvp_icd.json", "libvulkan_lvp.so");
    write(".singularity.d/libs/libGLX_nvidia.so.0", "");
    let named = "drivers=/usr/local/share/gravitile/nvidia_icd.json";
    assert_eq!(start(), named);
    write("etc/vulkan/icd.d/nvidia_icd.json", &read("packaging/nvidia_icd.json"));
    assert_eq!(start(), "drivers=");
}

/// Answers requests for these files until the process ends; returns its address.
#[cfg(unix)]
fn serve(files: Vec<(String, Vec<u8>)>) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let path = head[0].split(' ').nth(1).unwrap();
            let found = files.iter().find(|(name, _)| format!("/{name}") == path);
            let (code, bytes) =
                found.map_or(("404 Not Found", &[][..]), |file| ("200 OK", &file.1));
            let head = format!(
                "HTTP/1.1 {code}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                bytes.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(bytes));
        }
    });
    address
}

/// With a program that only writes down how it was started.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn demo_starts_a_downloaded_program_only_if_its_checksum_is_right() {
    if !["curl", "wget"].iter().any(|tool| Path::new("/usr/bin").join(tool).exists()) {
        skip::skipped("script/demo --download", "there is neither curl nor wget");
        return;
    }
    let version = value(&read("Cargo.toml"), "version = ").to_owned();
    let folder = tempfile::tempdir().unwrap();
    let name = format!("gravitile-{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    let program = format!(
        "#!/bin/sh\necho \"$@\" >>{}/started\necho gravitile {version}\n",
        folder.path().display()
    );
    let packed = folder.path().join("packed");
    std::fs::create_dir_all(packed.join(&name)).unwrap();
    std::fs::write(packed.join(&name).join("gravitile"), program).unwrap();
    let shell = |command: &str| {
        let (is_done, said) = run(Command::new("sh").current_dir(&packed).args(["-c", command]));
        assert!(is_done, "{command}: {said}");
    };
    shell(&format!("chmod +x {name}/gravitile && tar -czf {name}.tar.gz {name}"));
    shell(&format!("sha256sum {name}.tar.gz >SHA256SUMS"));
    let file = |name: &str| (name.to_owned(), std::fs::read(packed.join(name)).unwrap());
    let (archive, sums) = (file(&format!("{name}.tar.gz")), file("SHA256SUMS"));
    let mut changed = archive.clone();
    changed.1[40] ^= 1;
    let demo = |files| {
        let film = folder.path().join("film.webp");
        let mut demo = Command::new(root().join("script/demo"));
        demo.arg("--download").arg(serve(files)).arg(&film);
        // Without cargo: nothing may be compiled instead.
        demo.env("CARGO_TARGET_DIR", folder.path().join("target")).env("PATH", "/usr/bin:/bin");
        run(&mut demo)
    };
    let started = || std::fs::read_to_string(folder.path().join("started")).unwrap_or_default();
    let (is_done, said) = demo(vec![changed, sums.clone()]);
    assert!(!is_done && said.contains("the checksum of") && started().is_empty(), "{said}");
    assert!(!folder.path().join("target/download").exists());
    let others = (sums.0.clone(), b"0000  another.tar.gz\n".to_vec());
    let (is_done, said) = demo(vec![archive.clone(), others]);
    assert!(!is_done && said.contains("the checksum of") && started().is_empty(), "{said}");
    let (is_done, said) = demo(vec![archive, sums]);
    assert!(is_done, "{said}");
    let started = started();
    let lines: Vec<&str> = started.lines().collect();
    assert_eq!(lines[0], "--version");
    assert!(lines[1].contains("film.png") && lines[2].contains("film.webp"), "{started}");
}

/// A result as the page and the program hand it in.
fn result() -> String {
    let run = "\"date\":\"2026-11-22\",\"begun\":\"19:08:29\"";
    let all = read("benches/results/nvidia-h200.jsonl");
    let lines = all.lines().filter(|line| line.contains(run)).filter(|line| {
        line.contains("\"figure\":\"score\"") || line.contains("\"kind\":\"machine\"")
    });
    let lines: Vec<String> = lines.map(|line| format!("{line}\n")).collect();
    assert!(lines.len() >= 4, "{}", lines.len());
    lines.concat()
}

#[test]
fn results_that_cannot_be_are_refused() {
    if Command::new("python3").arg("--version").output().is_err() {
        skip::skipped("results that are handed in", "there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my-gpu.jsonl");
    let check = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(Command::new("python3").arg(root().join("script/check-result")).arg(&path))
    };
    let good = result();
    let (is_taken, said) = check(&good);
    assert!(is_taken, "{said}");
    let without = |part: &str| {
        let lines = good.lines().filter(|line| !line.contains(part));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let cases = [
        // Seconds of 262,144 bodies a thousandth of what they were.
        (good.replace("0.0322", "0.0000322"), "more than any adapter makes"),
        (good.replace("3.3", "0.0003").replace("3.4", "0.0003"), "less than any adapter needs"),
        (good.replace("\"version\":\"0.1.0\"", "\"version\":\"0.0.9\""), "version '0.0.9'"),
        (good.replace("\"format\":2", "\"format\":1"), "format 1"),
        (good.replace("NVIDIA H200", "llvmpipe (LLVM 19)"), "is a software adapter"),
        (good.replace("NVIDIA 580", "Mesa lavapipe 580"), "is a software adapter"),
        (without("\"sinks\":262144"), "lacks 262144 bodies"),
        (without("\"kind\":\"machine\""), "does not describe the machine"),
        (without("\"figure\":\"score\""), "holds no score"),
        (good.replace("\"rms_error\":9.7", "\"rms_error\":9999.7"), "rms error"),
        (good.replace("\"work\":1048576.0", "\"work\":9048576.0"), "do not belong to 1024"),
        (good.replace("2026-11-22", "2926-11-22"), "in the future"),
        (good.replace(",3.374934e-6", ""), "6 samples"),
        (good.replace(",3.374934e-6", ",-1.0"), "not all seconds"),
        (good.replace(",3.374934e-6", ",NaN"), "not all seconds"),
        (format!("{good}{{\"format\":2"), "not a record"),
        (format!("{good}{}", "[".repeat(100_000)), "not a record"),
        (format!("{good}{}", good.replace("NVIDIA H200", "NVIDIA H100")), "scores of 2 adapters"),
        (String::new(), "holds no score"),
    ];
    for (text, words) in cases {
        let (is_taken, said) = check(&text);
        assert!(!is_taken && said.contains(words), "{words}: {said}");
        assert!(!said.contains("Traceback"), "{said}");
    }
    // 1,048,576 multiply-adds in 3.4 us are 0.3e12 a second.
    let steps = good.lines().find(|line| line.contains("\"sinks\":1024")).unwrap();
    let ceiling = steps.replace("\"figure\":\"score\"", "\"figure\":\"ceilings\"");
    let ceiling = ceiling.replace("\"kind\":\"steps\"", "\"kind\":\"ceiling\",\"ceiling\":\"fma\"");
    let (is_taken, said) = check(&format!("{good}{ceiling}\n"));
    assert!(!is_taken && said.contains("the file's ceiling"), "{said}");
}
