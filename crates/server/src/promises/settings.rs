//! Settings that clients store persist after the server has stopped.

use super::{World, insert};
use crate::config::Config;
use crate::fields::Fields;
use alluvium::{Map, Value, doc};

fn after_every_end(world: &World) -> [World; 2] {
    [world.after_a_cut(), world.after_a_kill()]
}

#[test]
fn default_concerns_are_kept() {
    let world = World::new();
    let set = |world: &World, field: &'static str, concern: Map| {
        let body = Map::from([("setDefaultRWConcern", Value::Int32(1)), (field, Value::Map(concern))]);
        world.connect().ok("admin", body);
    };
    set(&world, "defaultWriteConcern", doc! {"w": 1, "j": true});
    set(&world, "defaultReadConcern", doc! {"level": "majority"});
    let shown = |world: &World| {
        let mut reply = world.connect().ok("admin", doc! {"getDefaultRWConcern": 1});
        reply.entries.retain(|(name, _)| {
            !["localUpdateWallClockTime", "$clusterTime", "operationTime"].contains(&name.as_str().unwrap_or_default())
        });
        reply
    };
    let before = shown(&world);
    assert_eq!(before.text("defaultReadConcernSource"), Some("global"));
    for later in after_every_end(&world) {
        assert_eq!(shown(&later), before);
        // Writes and reads use the stored defaults.
        later.connect().ok("zoo", insert(1));
        assert_eq!(later.after_a_cut().count("zoo.pets"), 1);
        // As in MongoDB, the default write concern cannot be removed, and the default read concern can.
        set(&later, "defaultReadConcern", doc! {});
        let last = shown(&later.after_a_cut());
        assert_eq!(last.text("defaultReadConcernSource"), Some("implicit"), "{last}");
        assert_eq!(last.text("defaultWriteConcernSource"), Some("global"), "{last}");
    }
}

#[test]
fn a_server_of_its_own_has_no_default_concerns() {
    let world = World::new();
    world.connect().ok("admin", doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "majority"}});
    let alone = World::on(world.cut(), Config { replica_set: None, ..Config::default() });
    alone.connect().fails(51_300, "admin", doc! {"getDefaultRWConcern": 1});
    alone.connect().ok("zoo", insert(1));
    assert_eq!(alone.after_a_cut().count("zoo.pets"), 0);
}

#[test]
fn the_feature_compatibility_version_is_kept() {
    let version = |world: &World| {
        let reply = world.connect().ok("admin", doc! {"getParameter": 1, "featureCompatibilityVersion": 1});
        let version = reply.document("featureCompatibilityVersion").and_then(|version| version.text("version"));
        version.map(str::to_owned)
    };
    let world = World::new();
    assert_eq!(version(&world).as_deref(), Some("8.2"));
    // MongoDB's manual, "setFeatureCompatibilityVersion": the document exists before the first change of the version.
    let (connection, document) = (world.connect(), doc! {"_id": "featureCompatibilityVersion", "version": "8.2"});
    let filter = || doc! {"_id": "featureCompatibilityVersion"};
    for find in [
        doc! {"find": "system.version", "filter": (filter())},
        doc! {"aggregate": "system.version", "pipeline": [{"$match": (filter())}], "cursor": {}},
    ] {
        assert_eq!(super::batch(&connection.ok("admin", find)), std::slice::from_ref(&document));
    }
    assert_eq!(connection.ok("admin", doc! {"count": "system.version"}).integer("n"), Some(1));
    let list = super::batch(&connection.ok("admin", doc! {"listCollections": 1, "nameOnly": true}));
    assert_eq!(list, [doc! {"name": "system.version", "type": "collection"}]);
    world.connect().ok("admin", doc! {"setFeatureCompatibilityVersion": "8.0", "confirm": true});
    for later in after_every_end(&world) {
        assert_eq!(version(&later).as_deref(), Some("8.0"));
        // As in MongoDB, the version is stored in this collection, where clients read it, too.
        let found = later.connect().ok("admin", doc! {"find": "system.version"});
        let stored = super::batch(&found);
        assert_eq!(stored, [doc! {"_id": "featureCompatibilityVersion", "version": "8.0"}]);
        later.connect().ok("admin", doc! {"setFeatureCompatibilityVersion": "8.2", "confirm": true, "dryRun": true});
        assert_eq!(version(&later.after_a_cut()).as_deref(), Some("8.0"));
    }
}

#[test]
fn settings_that_cannot_be_read_are_not_used() {
    let world = World::new();
    let put = |name: &str, id: &str, document: Map| {
        world.shared.db.collection(name).put(id, &document).expect("a document");
    };
    put(
        "config.settings",
        "ReadWriteConcernDefaults",
        doc! {"defaultReadConcern": {"level": 5}, "defaultWriteConcern": {"w": 1}},
    );
    put("admin.system.version", "featureCompatibilityVersion", doc! {"version": "99"});
    let later = world.after_a_kill();
    let concerns = later.connect().ok("admin", doc! {"getDefaultRWConcern": 1});
    assert_eq!(concerns.text("defaultWriteConcernSource"), Some("implicit"));
}
