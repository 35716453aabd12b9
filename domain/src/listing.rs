//! Which Tasks a listing shows, and in which order.

mod filter;
mod first;
mod order;
mod pattern;
mod when;

pub use filter::{Filter, Glance, PromotionWanted};
pub use first::{First, TooMany};
pub use order::{Direction, Limit, Order, SortKey};
pub use pattern::{CommandPattern, PathPattern, PathPatternError, TaskPrefix, TaskPrefixError};
pub use when::{ParseWhenError, When};
