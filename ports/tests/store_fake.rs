//! The store in memory keeps what every store keeps.

use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::contract::collector::CollectorFixture;
use isobox_ports::contract::compactor::CompactorFixture;
use isobox_ports::contract::listings::ListingsFixture;
use isobox_ports::contract::measurer::MeasurerFixture;
use isobox_ports::contract::open_attempts::OpenAttemptsFixture;
use isobox_ports::contract::store::StoreFixture;
use isobox_ports::contract::turns::TurnsFixture;
use isobox_ports::contract::views::ViewsFixture;
use isobox_ports::contract::{
    attempts, collector, compactor, listings, measurer, object_store, open_attempts, record_log, turns, views,
};
use isobox_ports::fake::InMemoryStore;
use isobox_ports::{
    Attempts, Collector, Compactor, Listings, Measurer, ObjectStore, OpenAttempts, RecordLog, Turns, Views,
};
use std::collections::BTreeMap;

#[derive(Default)]
struct Fixture(InMemoryStore);

impl StoreFixture for Fixture {
    fn attempts(&self) -> &dyn Attempts {
        &self.0
    }

    fn records(&self) -> &dyn RecordLog {
        &self.0
    }

    fn objects(&self) -> &dyn ObjectStore {
        &self.0
    }

    fn damage(&self, id: &ContentId) {
        self.0.damage(id);
    }
}

impl CollectorFixture for Fixture {
    fn collector(&self) -> &dyn Collector {
        &self.0
    }
}

impl ListingsFixture for Fixture {
    fn listings(&self) -> &dyn Listings {
        &self.0
    }
}

impl CompactorFixture for Fixture {
    fn compactor(&self) -> &dyn Compactor {
        &self.0
    }
}

impl MeasurerFixture for Fixture {
    fn measurer(&self) -> &dyn Measurer {
        &self.0
    }
}

impl OpenAttemptsFixture for Fixture {
    fn open_attempts(&self) -> &dyn OpenAttempts {
        &self.0
    }
}

impl TurnsFixture for Fixture {
    fn turns(&self) -> &dyn Turns {
        &self.0
    }
}

impl ViewsFixture for Fixture {
    fn views(&self) -> &dyn Views {
        &self.0
    }

    fn objects(&self) -> &dyn ObjectStore {
        &self.0
    }

    fn store(&self, bytes: &[u8]) -> ContentRef {
        self.0.insert(bytes)
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.views()
    }
}

fn main() {
    let suites = [
        attempts::cases("InMemoryStore", Fixture::default),
        listings::cases("InMemoryStore", Fixture::default),
        measurer::cases("InMemoryStore", Fixture::default),
        object_store::cases("InMemoryStore", Fixture::default),
        open_attempts::cases("InMemoryStore", Fixture::default),
        turns::cases("InMemoryStore", Fixture::default),
        record_log::cases("InMemoryStore", Fixture::default),
        collector::cases("InMemoryStore", Fixture::default),
        compactor::cases("InMemoryStore", Fixture::default),
        views::cases("InMemoryStore", Fixture::default),
    ];
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), suites.into_iter().flatten().collect()).exit();
}
