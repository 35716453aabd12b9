//! What a policy asks of every Promotion: what has to hold, and what keeps a result out.

use crate::report::{Finding, RiskCategory, RiskLevel};

/// Something that has to hold: an entry of `promotion.require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotionRequirement {
    /// The command of the Task ended with exit code 0.
    Success,
    /// Nothing is brought across but what was accepted in a review.
    Review,
    /// A fresh verification succeeded.
    Verification,
}

impl PromotionRequirement {
    /// Everything that can be required.
    pub const ALL: [Self; 3] = [Self::Success, Self::Review, Self::Verification];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Review => "review",
            Self::Verification => "verification",
        }
    }

    /// What is wrong where it does not hold.
    pub const fn complaint(self) -> &'static str {
        match self {
            Self::Success => "the command of the task did not succeed",
            Self::Review => "accept in `isobox review` what is to go in, and add --reviewed",
            Self::Verification => "what the policy verifies with is not run first: add --verify",
        }
    }
}

/// What keeps a changed path out: an entry of `promotion.block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedRisk {
    /// A finding of this level, or of a higher one.
    Level(RiskLevel),
    /// A finding of this category, whatever its level.
    Category(RiskCategory),
}

impl BlockedRisk {
    /// Everything that can be blocked, in the order in which it is shown.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        RiskLevel::ALL.into_iter().map(Self::Level).chain(RiskCategory::ALL.into_iter().map(Self::Category))
    }

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level(level) => level.name(),
            Self::Category(category) => category.name(),
        }
    }

    /// Whether it keeps out what `finding` is about.
    pub fn blocks(self, finding: &Finding) -> bool {
        match self {
            Self::Level(level) => finding.level >= level,
            Self::Category(category) => finding.category == category,
        }
    }
}

/// What a policy asks of every Promotion. Each entry is there once, in one order, however it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromotionGate {
    require: Vec<PromotionRequirement>,
    block: Vec<BlockedRisk>,
}

impl PromotionGate {
    /// One that asks for these.
    pub fn new(require: &[PromotionRequirement], block: &[BlockedRisk]) -> Self {
        Self {
            require: PromotionRequirement::ALL.into_iter().filter(|known| require.contains(known)).collect(),
            block: BlockedRisk::all().filter(|known| block.contains(known)).collect(),
        }
    }

    /// What has to hold.
    pub fn require(&self) -> &[PromotionRequirement] {
        &self.require
    }

    /// What keeps a changed path out.
    pub fn block(&self) -> &[BlockedRisk] {
        &self.block
    }

    /// Whether it asks for nothing.
    pub const fn is_open(&self) -> bool {
        self.require.is_empty() && self.block.is_empty()
    }

    /// Asks for what these are as well; whether that is more.
    pub fn add_requirements(&mut self, more: &[PromotionRequirement]) -> bool {
        let is_more = more.iter().any(|one| !self.require.contains(one));
        *self = Self::new(&[self.require.as_slice(), more].concat(), &self.block);
        is_more
    }

    /// Keeps out what these do as well; whether that is more.
    pub fn add_blocks(&mut self, more: &[BlockedRisk]) -> bool {
        let is_more = more.iter().any(|one| !self.block.contains(one));
        *self = Self::new(&self.require, &[self.block.as_slice(), more].concat());
        is_more
    }
}

/// What a Promotion was made in spite of. At least one of both lists has an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// Why, in the words of whoever promoted.
    pub reason: String,
    /// What was required and did not hold.
    pub require: Vec<PromotionRequirement>,
    /// What kept at least one of the paths out.
    pub block: Vec<BlockedRisk>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(category: RiskCategory, level: RiskLevel) -> Finding {
        Finding { category, level, line: None, note: None, dependencies: None }
    }

    #[test]
    fn a_level_blocks_what_is_higher_too_and_a_category_itself_alone() {
        let blocked = |risk: BlockedRisk, level| risk.blocks(&finding(RiskCategory::Script, level));
        let medium = BlockedRisk::Level(RiskLevel::Medium);
        assert_eq!(RiskLevel::ALL.map(|level| blocked(medium, level)), [true, true, false]);
        assert_eq!(RiskLevel::ALL.map(|level| blocked(BlockedRisk::Category(RiskCategory::Script), level)), [true; 3]);
        assert_eq!(RiskLevel::ALL.map(|level| blocked(BlockedRisk::Category(RiskCategory::Hook), level)), [false; 3]);
    }

    #[test]
    fn no_two_risks_have_one_name() {
        let mut names: Vec<_> = BlockedRisk::all().map(BlockedRisk::name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn what_is_asked_for_is_there_once_and_in_one_order() {
        use PromotionRequirement::{Review, Success};
        let script = BlockedRisk::Category(RiskCategory::Script);
        let high = BlockedRisk::Level(RiskLevel::High);
        let mut gate = PromotionGate::new(&[Review, Success, Review], &[script]);
        assert_eq!(gate.require(), [Success, Review]);
        assert!(!gate.add_requirements(&[Success]) && gate.add_blocks(&[high, script]));
        assert_eq!(gate.block(), [high, script]);
    }
}
