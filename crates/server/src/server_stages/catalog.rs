//! `$listClusterCatalog`: the collections and views of a database; on `admin`, the collections and views of all
//! databases.

use super::options;
use crate::call::Call;
use crate::collection_list::entries;
use crate::error::CommandResult;
use crate::fields::{Field, Fields, Kind, optional};
use alluvium::{Map, Value};
use std::collections::BTreeSet;

const OPTIONS: &[Field] = &[
    optional("shards", Kind::Bool).not_null(),
    optional("balancingConfiguration", Kind::Bool).not_null(),
    optional("tracked", Kind::Bool).not_null(),
];

pub(super) fn documents(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let options = options("$listClusterCatalog", operand, OPTIONS, (9_621_302, "Location9621302"))?;
    let views = call.shared.db.views().into_iter();
    let of_views = views.filter_map(|(name, _)| Some(name.split_once('.')?.0.to_owned()));
    let of_collections = call.shared.db.collections().into_iter().map(|info| info.database);
    let all: BTreeSet<String> = of_collections.chain(of_views).collect();
    let mut list = Vec::new();
    for db in all.into_iter().filter(|db| call.db == "admin" || *db == call.db) {
        for mut entry in entries(call, &db, false, None)? {
            let name = entry.remove("name").unwrap_or_default();
            let mut described = Map::from([
                ("db", Value::from(db.as_str())),
                ("ns", Value::from(format!("{db}.{}", name.as_str().unwrap_or_default()))),
            ]);
            described.entries.extend(entry.entries);
            described.push("sharded", false);
            if options.flag("shards") {
                described.push("shards", Value::Array(Vec::new()));
            }
            list.push(described);
        }
    }
    Ok(list)
}
