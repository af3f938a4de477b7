//! A line of a vector: words, and pairs `key=value`.

/// The pairs of a line. Each is taken once; what is left over at the end is an error, so that a
/// misspelt key does not go unnoticed.
pub struct Args<'a>(Vec<(&'a str, &'a str)>);

/// Whatever is wrong with a line, in words.
pub type Wrong = String;

impl<'a> Args<'a> {
    pub fn parse(words: impl Iterator<Item = &'a str>) -> Result<Args<'a>, Wrong> {
        let pair = |word: &'a str| {
            word.split_once('=').ok_or_else(|| format!("found \"{word}\"; expected key=value"))
        };
        let pairs = words.map(pair).collect::<Result<Vec<_>, _>>()?;
        let twice = |i: &usize| pairs[..*i].iter().any(|(key, _)| *key == pairs[*i].0);
        match (0..pairs.len()).find(twice) {
            Some(i) => Err(format!("\"{}\" stands twice", pairs[i].0)),
            None => Ok(Args(pairs)),
        }
    }

    /// The value of `key`, if it stands there.
    pub fn text(&mut self, key: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(name, _)| *name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Whether `key` stands there.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == key)
    }

    pub fn word(&mut self, key: &str) -> Result<&'a str, Wrong> {
        self.text(key).ok_or_else(|| format!("\"{key}=\" is missing"))
    }

    /// A number, if it stands there.
    pub fn maybe<T: TryFrom<u64>>(&mut self, key: &str) -> Result<Option<T>, Wrong> {
        self.text(key).map(|text| number(key, text)).transpose()
    }

    pub fn number<T: TryFrom<u64>>(&mut self, key: &str) -> Result<T, Wrong> {
        number(key, self.word(key)?)
    }

    /// Numbers with commas between them.
    pub fn numbers<T: TryFrom<u64>>(&mut self, key: &str) -> Result<Option<Vec<T>>, Wrong> {
        let Some(text) = self.text(key) else { return Ok(None) };
        text.split(',').map(|text| number(key, text)).collect::<Result<_, _>>().map(Some)
    }

    /// What has not been taken.
    pub fn rest(&mut self) -> Vec<(&'a str, &'a str)> {
        std::mem::take(&mut self.0)
    }

    pub fn finish(self) -> Result<(), Wrong> {
        match self.0.first() {
            Some((key, _)) => Err(format!("nothing here takes \"{key}=\"")),
            None => Ok(()),
        }
    }
}

/// Decimal, or hexadecimal after `0x`.
pub fn number<T: TryFrom<u64>>(key: &str, text: &str) -> Result<T, Wrong> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let value = value.ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| format!("{key}={text} is no number that fits"))
}

/// What a scheme has answered: pairs for the right side of the line, and the packets that it sent.
#[derive(Default)]
pub struct Decision {
    pub pairs: Vec<String>,
    pub sent: Vec<String>,
}

impl Decision {
    pub fn say(mut self, key: &str, value: impl std::fmt::Display) -> Decision {
        self.pairs.push(format!("{key}={value}"));
        self
    }
}
