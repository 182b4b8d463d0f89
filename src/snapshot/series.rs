//! The snapshots of one source: one, or several in formats whose files hold a time series.

use super::find::refuse_foreign;
use super::{
    Format, Input, ReadOptions, Snapshot, SnapshotChoice, Source, WriteOptions, find, recognise,
};
use crate::error::Result;
use crate::messages;

/// A source whose format is recognised, and whose snapshots are read one by one. Several of them
/// share the bytes of the file, which are read once.
pub struct Series<'a> {
    input: Input<'a>,
    format: &'static Format,
    options: ReadOptions,
    /// The times of all snapshots; `None` if the format holds one.
    times: Option<Vec<f64>>,
}

impl<'a> Series<'a> {
    /// Recognises the format unless the options name it: from the first bytes and then from the
    /// extension, before the rest is read.
    ///
    /// # Errors
    /// As [`super::read_with`].
    pub fn open(source: impl Into<Source<'a>>, options: &ReadOptions) -> Result<Self> {
        let source = source.into();
        // Modifiers (tipsy-be) are for writing; readers detect the layout themselves.
        let find = |format: &String| find(format, &mut WriteOptions::default());
        let format = options.format.as_ref().map(find).transpose()?;
        let mut first = source.first()?;
        let (length, path) = (first.length(), first.path.clone());
        let head = first.head()?;
        let format = match format {
            Some(format) => refuse_foreign(head, &path).map(|()| format)?,
            None => recognise(head, length, &path)?,
        };
        let mut first = Input::new(vec![first], 1);
        let files = format.files.map_or(Ok(1), |files| files(&mut first))?.max(1);
        let first = first.into_first();
        let mut input = source.gather(first, files, options.part)?;
        let times = format.series.map(|times| input.whole(times)).transpose()?;
        Ok(Self { input, format, options: options.clone(), times })
    }

    /// Number of snapshots, at least 1.
    pub fn len(&self) -> usize {
        self.times.as_ref().map_or(1, Vec::len)
    }

    /// False: there is always a snapshot.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Reads the snapshot of this number, from 0, whatever [`ReadOptions::snapshot`] says.
    ///
    /// # Errors
    /// As [`super::read_with`]; [`crate::error::Error::Value`] for a number from [`Series::len`] on.
    pub fn read(&mut self, number: usize) -> Result<Snapshot> {
        let choice = SnapshotChoice::Number(number as u64);
        choice.index(&vec![0.0; self.len()], &self.what())?;
        let options = ReadOptions { snapshot: Some(choice), ..self.options.clone() };
        let mut snapshot = (self.format.read)(&mut self.input, &options)?;
        if options.renumber {
            snapshot.renumber();
        }
        let name = self.name();
        snapshot.notes.iter_mut().for_each(|note| *note = format!("{name}: {note}"));
        Ok(snapshot)
    }

    /// Reads the snapshot that [`ReadOptions::snapshot`] chooses; of several, notes which it is.
    ///
    /// # Errors
    /// As [`super::read_with`].
    pub fn chosen(&mut self) -> Result<Snapshot> {
        let Some(times) = &self.times else {
            let snapshot = self.read(0)?;
            if let Some(choice) = self.options.snapshot {
                choice.index(&[snapshot.time], &self.what())?;
            }
            return Ok(snapshot);
        };
        let choice = self.options.snapshot.unwrap_or(SnapshotChoice::Number(0));
        let (number, count) = (choice.index(times, &self.what())?, times.len());
        let mut snapshot = self.read(number)?;
        if count > 1 {
            let which = match self.options.snapshot {
                Some(_) => format!("number {number} of 0 to {}", count - 1),
                None => "the first".to_owned(),
            };
            let others = match self.options.snapshot {
                Some(_) => "",
                None => "; --snapshot N, t=TIME or last chooses another",
            };
            snapshot.notes.push(format!(
                "{}: of its {count} snapshots {which} is read, t = {}{others}",
                self.name(),
                snapshot.time
            ));
        }
        Ok(snapshot)
    }

    fn what(&self) -> String {
        format!("the snapshot to read of {}", self.name())
    }

    fn name(&self) -> String {
        messages::path(&self.input.name(), messages::PIECE)
    }
}
