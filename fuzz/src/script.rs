//! Scripts: the bytes of a fuzzer as a list of decisions, so that what they make is sound but for what they make wrong.

/// A script that goes on with zeros for ever.
pub(crate) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn short(&mut self) -> usize {
        u16::from_le_bytes(self.array()).into()
    }

    pub(crate) fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// The next `length` bytes, or what is left.
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A place in something of `length`, which is not 0.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.short() % length
    }

    /// Changes bytes of `whole`, as often as the script says.
    pub(crate) fn edit(&mut self, whole: &mut [u8]) {
        for _ in 0..self.byte() % 8 {
            if !whole.is_empty() {
                let at = self.place(whole.len());
                whole[at] ^= self.byte();
            }
        }
    }

    /// How far something is to be from what would be right: mostly it is not.
    pub(crate) fn slip(&mut self) -> i32 {
        match self.byte() {
            0xff => -1,
            0xfe => 1,
            0xfd => i32::from_le_bytes(self.array()),
            _ => 0,
        }
    }
}
