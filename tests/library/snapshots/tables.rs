//! Column names and separators as written by other programs.

use glam::DVec3;
use gravitile::snapshot::Snapshot;
use gravitile::units::Units;

fn read(text: &str) -> Snapshot {
    Snapshot::from_bytes(text.as_bytes(), "a").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn assert_refused(text: &str, words: &[&str]) {
    let error = Snapshot::from_bytes(text.as_bytes(), "a").unwrap_err().to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{error}\n{text}");
}

/// Positions 1 2 3, velocities 4 5 6, mass 7, in this order.
const ROW: &str = "1 2 3 4 5 6 7";

fn assert_row(text: &str) {
    let snapshot = read(text);
    let bodies = &snapshot.bodies;
    assert_eq!(bodies.position[0], DVec3::new(1.0, 2.0, 3.0), "{text}");
    assert_eq!(bodies.velocity[0], DVec3::new(4.0, 5.0, 6.0), "{text}");
    assert_eq!(bodies.mass[0], 7.0, "{text}");
    assert!(snapshot.notes.is_empty(), "{:?}", snapshot.notes);
}

#[test]
fn column_names_in_comments_are_used() {
    for comment in [
        "# x y z vx vy vz m",
        "#x y z vx vy vz mass",
        "# x, y, z, vx, vy, vz, m",
        "# Columns: x, y, z, vx, vy, vz, m",
        "# the columns are x y z vx vy vz m",
        "# made by hand\n#\n# x y z vx vy vz m\n# in N-body units",
        "# Pos_X Pos_Y Pos_Z vel_x vel_y vel_z Mass",
        "# x | y | z | vx | vy | vz | m",
        "# 1:x 2:y 3:z 4:vx 5:vy 6:vz 7:m",
        "# \"x\" \"y\" \"z\" \"vx\" \"vy\" \"vz\" \"m\"",
    ] {
        assert_row(&format!("{comment}\n{ROW}\n"));
        assert_row(&format!("{comment}\n{}\n", ROW.replace(' ', ",")));
    }
    let note = &read(&format!("# by hand\n{ROW}\n")).notes[0];
    assert!(note.contains("no names") && note.contains("m x y z vx vy vz"), "{note}");
    // A header that does not match the columns is an error.
    assert_refused(&format!("# x y z vx vy vz m\n8 {ROW}\n"), &["line 1", "7 columns", "has 8"]);
    assert_refused(&format!("\n# x y z vx vy vz Mvir\n{ROW}\n"), &["line 2", "m is missing"]);
    for comment in ["# x y z u v w m", "# rx ry rz vx vy vz m"] {
        assert_refused(&format!("{comment}\n{ROW}\n"), &["line 1", "seems to name the columns"]);
    }
    let note = &read(&format!("# a b c d e f g\n{ROW}\n")).notes[0];
    assert!(note.contains("whatever line 1 says (# a b c d e f g)"), "{note}");
    // Text without all six names is a plain comment.
    assert_eq!(read(&format!("# x y z are positions\n{ROW}\n")).bodies.mass, [1.0]);
}

#[test]
fn column_names_and_units_of_other_codes_are_known() {
    for names in [
        "PosX PosY PosZ VelX VelY VelZ Masses",
        "pos_x pos_y pos_z vel_x vel_y vel_z particle_mass",
        "particle_position_x particle_position_y particle_position_z particle_velocity_x \
         particle_velocity_y particle_velocity_z particle_mass",
        "Coordinates_x Coordinates_y Coordinates_z v_x v_y v_z M",
    ] {
        assert_row(&format!("{names}\n{ROW}\n"));
    }
    let with_id = read(&format!("iord x y z vx vy vz m\n8 {ROW}\n"));
    assert_eq!((with_id.bodies.id[0], with_id.extra.len()), (8, 0));
    // Plain names take precedence; a second match becomes an extra column.
    let both = read(&format!("pos_x x y z vx vy vz m\n8 {ROW}\n"));
    assert_eq!((both.bodies.position[0].x, both.extra["pos_x"].value(0)), (1.0, 8.0));
    assert_refused(&format!("PosX pos_x y z vx vy vz m\n8 {ROW}\n"), &["second time", "pos_x"]);
    let units = "x [pc] y [pc] z [pc] vx [km/s] vy [km/s] vz [km/s] m [Msun]";
    for text in [
        format!("{units}\n{ROW}\n"),
        format!("# {units}\n{ROW}\n"),
        format!("# x_pc y_pc z_pc vx_kms vy_kms vz_kms m_Msun\n{ROW}\n"),
        format!("{}\n{}\n", units.replace("] ", "],"), ROW.replace(' ', ",")),
        // The two header lines of AMUSE.
        format!(
            "#x,y,z,vx,vy,vz,mass\n#parsec,parsec,parsec,kms,kms,kms,MSun\n{}\n",
            ROW.replace(' ', ",")
        ),
    ] {
        assert_row(&text);
        let Units { length, mass, gravitational_constant, .. } = read(&text).units;
        assert!(["pc", "parsec"].contains(&length.as_str()) && mass.ends_with("un"), "{text}");
        assert!((gravitational_constant / 4.30091e-3 - 1.0).abs() < 1e-4, "{text}");
    }
    assert_refused(
        &format!("{}\n{ROW}\n", units.replace("y [pc]", "y [kpc]")),
        &["'y'", "kpc", "'pc'"],
    );
}

#[test]
fn commas_are_decimal_with_semicolon_separators() {
    let names = "x;y;z;vx;vy;vz;m;note";
    for row in ["1;2;3;4;5;6;7;", "1,0; 2,0;3,0;4;5,0;6;7,0;0,5", "\"1,0\";2;3;4;5;6;0,7e1;"] {
        assert_row(&format!("{names}\n{row}\n"));
    }
    assert_row(&format!("# x;y;z;vx;vy;vz;m\n{}\n", ROW.replace(' ', ";")));
    assert_row("# x;y;z;vx;vy;vz;m\n1,0;2;3;4;5;6;7,0\n");
    assert_refused(&format!("{names}\n1,2,3;2;3;4;5;6;7;\n"), &["line 2, column 1 (x)", "1,2,3"]);
}

#[test]
fn table_units_determine_g() {
    let with = |comments: &str| format!("{comments}\n# x y z vx vy vz m\n{ROW}\n");
    let known = "#: unit.length = pc\n#: unit.mass = Msun\n";
    let g = |comments: String| read(&with(&comments)).units.gravitational_constant;
    assert!((g(format!("{known}#: unit.time = Myr")) / 4.4985e-3 - 1.0).abs() < 1e-4);
    assert!((g(format!("{known}#: unit.velocity = km/s")) / 4.30091e-3 - 1.0).abs() < 1e-4);
    assert_refused(
        &with(&format!("{known}#: unit.time = Myr\n#: gravitational_constant = 1")),
        &["stated as 1", "0.004499"],
    );
    assert_refused(
        &with(&format!("{known}#: unit.time = Myr\n#: unit.velocity = km/s")),
        &["unit.velocity", "km/s", "0.9777"],
    );
    assert_refused(
        &with("#: unit.lenght = pc"),
        &["line 1", "no key 'unit.lenght'", "unit.length"],
    );
    for comment in ["# unit.length = pc", "#: unit.length: pc"] {
        assert_refused(&with(comment), &["line 1", "'#: unit.length = pc' was expected"]);
    }
    let skipped = read(&with("#: tiem = 3\n#: author = me"));
    assert_eq!(skipped.notes, ["a: unknown keys in its comments are ignored: tiem, author"]);
    let assumed = read(&with("#: unit.length = cubits"));
    assert_eq!(assumed.units.gravitational_constant, 1.0);
    assert!(assumed.notes[0].contains("G = 1 is assumed"), "{:?}", assumed.notes);
}

#[test]
fn many_columns_are_read_in_linear_time() {
    // A quadratic comparison of names would take minutes.
    let names: Vec<String> = (0..100_000).map(|k| format!("c{k}")).collect();
    let row = "7,1,2,3,4,5,6".to_owned() + &",1".repeat(names.len());
    let text = format!("m,x,y,z,vx,vy,vz,{}\n{row}\n", names.join(","));
    assert_eq!(read(&text).extra.len(), names.len());
}
